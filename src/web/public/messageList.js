import { earlierMessages } from './api.js'
import { isOpenCard, lastWords } from './card.js'
import { createMessageElement, showMessage } from './messageView.js'
import { words } from './words.js'

/** Within this many pixels of the end the page follows what grows there. */
const NEAR = 80
/** A screen reader is told a finished answer up to this length; the rest is there to be read. */
const ANNOUNCED = 1_000

/**
 * The messages of the thread that is open. The order is that of the ids, newest smallest; of two states of a message the
 * one with the larger revision stays. `onPress({ threadId, messageId, button, back })` is called for their buttons.
 */
export function createMessageList({ announcer, onPress }) {
  const list = document.querySelector('#messages')
  const scroller = document.querySelector('#main')
  const earlier = document.querySelector('#earlier')
  const toLatest = document.querySelector('#to-latest')
  /** Ids of the cards that were read out. */
  const announced = new Set()
  const shown = new Map()
  let threadId = null
  /** Id of the message with which the person began the thread that is shown next: what is newer is news to them. */
  let seenTo
  let follows = true

  const atEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR

  function followEnd() {
    if (follows) scroller.scrollTop = scroller.scrollHeight
    toLatest.hidden = follows
  }

  scroller.addEventListener(
    'scroll',
    () => {
      follows = atEnd()
      toLatest.hidden = follows
    },
    { passive: true },
  )
  toLatest.addEventListener('click', () => {
    follows = true
    followEnd()
  })
  new ResizeObserver(followEnd).observe(scroller)

  /** `comes`: it is news, and not part of a picture of what was there. */
  function place(message, comes) {
    const known = shown.get(message.id)
    if (message.submission) list.querySelector(`[data-sending="${message.submission}"]`)?.remove()
    if (known && known.message.rev > message.rev) return
    const element = known?.element ?? insert(message)
    shown.set(message.id, { message, element })
    const at = { threadId, messageId: message.id, back: () => focusOn(element) }
    showMessage(element, message, threadId, (button) => onPress({ ...at, button }))
    if (message.kind === 'card') announceCard(message, known?.message, element, comes)
    const finished = message.kind === 'answer' && !message.live
    if (finished && (known ? known.message.live : comes)) announce(words.answered, element)
  }

  /** Takes a message away; a focus in it goes to the thread. */
  function drop(id) {
    const element = shown.get(id)?.element
    const hadFocus = element?.contains(document.activeElement)
    element?.remove()
    shown.delete(id)
    if (hadFocus) focusOn(element)
  }

  /** The focus goes to a message whose button had it, or to the thread where that message is gone. */
  function focusOn(element) {
    const frame = element.querySelector('.card-frame')
    if (element.isConnected && frame) frame.focus()
    else scroller.focus({ preventScroll: true })
  }

  /** Puts a new message where it belongs, looking from the end, where most of them go. */
  function insert(message) {
    const element = createMessageElement(message)
    let next = null
    for (let other = list.lastElementChild; other; other = other.previousElementSibling) {
      if (!other.dataset.sending && other.id > element.id) break
      next = other
    }
    list.insertBefore(element, next)
    return element
  }

  /** Says `intro` and what a message shows. */
  function announce(intro, element) {
    // biome-ignore lint/performance/useDomNodeTextContent: blocks have to stay apart when they are read out
    announcer.say(`${intro} ${element.querySelector('.prose').innerText.slice(0, ANNOUNCED)}`)
  }

  /** A card is read out whole when it comes or is first seen waiting, and how it was settled when that happens. */
  function announceCard(message, before, element, comes) {
    if (isOpenCard(message)) {
      if (!announced.has(message.id)) announce(words.cardOpen, element)
      announced.add(message.id)
    } else if (before && isOpenCard(before)) {
      announcer.say(`${words.cardSettled} ${lastWords(element)}`)
    } else if (!before && comes) {
      announce(words.cardShown, element)
    }
  }

  // Read out of the way, so that an answer's link does not take the console's place.
  list.addEventListener('click', ({ target }) => {
    const link = target.closest('.prose a[href]')
    if (link) Object.assign(link, { target: '_blank', rel: 'noopener noreferrer' })
  })

  async function showEarlier() {
    const oldest = [...shown.keys()].sort().at(-1)
    const height = scroller.scrollHeight
    const { messages, more } = await earlierMessages(threadId, oldest)
    follows = false
    for (const message of messages) place(message, false)
    earlier.hidden = !more
    scroller.scrollTop += scroller.scrollHeight - height
  }
  earlier.addEventListener('click', showEarlier)

  return {
    /** The thread that is shown next was begun here, with the message `id`. */
    began(id) {
      seenTo = id
    },
    /** Shows a whole thread, keeping the elements of messages that are shown already. */
    replace({ thread, messages, more }) {
      const id = thread?.id ?? null
      // A connection was lost meanwhile, or the thread began here: what came since then was not heard.
      const since = id === threadId ? [...shown.keys()].sort()[0] : seenTo
      if (id !== threadId) {
        this.clear()
        threadId = id
      }
      const oldest = messages[0]?.id ?? ''
      const present = new Set(messages.map((message) => message.id))
      // So much came meanwhile that there may be more between what is shown and this picture.
      const gap = more && ![...shown.keys()].some((known) => present.has(known))
      for (const [known, { message }] of shown) {
        // Older ones that were asked for stay; one that should be in this picture and is not has been removed.
        if (gap || (known <= oldest && !present.has(known))) drop(known)
        // The picture is the truth, also after a restart of the server began to count afresh.
        message.rev = -1
      }
      const hadEarlier = [...shown.keys()].some((known) => known > oldest)
      for (const message of messages) place(message, message.id < since)
      if (!hadEarlier) earlier.hidden = !more
      followEnd()
    },
    place(message) {
      place(message, true)
      followEnd()
    },
    remove: drop,
    /** Puts something that is on its way to the server at the end, until the message with this submission comes. */
    append(element, submission) {
      element.dataset.sending = submission
      list.append(element)
      follows = true
      followEnd()
    },
    follow: followEnd,
    /** Brings a message into view that a link names, however far up it stands. */
    async reveal(id) {
      while (!shown.has(id) && !earlier.hidden && id > [...shown.keys()].sort().at(-1)) await showEarlier()
      const element = shown.get(id)?.element
      if (!element) return
      follows = false
      element.scrollIntoView({ block: 'center' })
      element.classList.add('linked')
      followEnd()
    },
    clear() {
      threadId = null
      seenTo = undefined
      shown.clear()
      list.replaceChildren()
      earlier.hidden = true
      follows = true
      followEnd()
    },
  }
}
