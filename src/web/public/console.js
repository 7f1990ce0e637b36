import { createAnnouncer } from './announcer.js'
import { renewSession } from './api.js'
import { createComposer } from './composer.js'
import { createDialogs } from './dialog.js'
import { createDrawer } from './drawer.js'
import { createFeed } from './feed.js'
import { createMessageList } from './messageList.js'
import { createOutgoing } from './outgoing.js'
import { createPress } from './press.js'
import { createThreadList } from './threadList.js'
import { createWhispers } from './whispers.js'
import { words } from './words.js'

const find = (selector) => document.querySelector(selector)

/** The thread of the page's address, or `null` for a thread that is still to begin. */
let threadId = threadOf(location.pathname)

const announcer = createAnnouncer()
const drawer = createDrawer()
const whisper = createWhispers({
  announcer,
  onPress: (messageId, button, back) => press({ threadId, messageId, button, back }),
  onLeave: () => composer.focus(),
})
const dialogs = createDialogs({ whisper })
const press = createPress({ whisper, dialogs })
const messages = createMessageList({ announcer, onPress: press })
const threads = createThreadList({ onOpen: (id) => open(id, 'push'), onWaiting: showWaiting })
const send = createOutgoing({ messages, whisper, onAccepted, onLeave: () => composer.focus() })
const composer = createComposer({
  onSend(text) {
    find('#welcome').hidden = true
    send(threadId, text)
  },
})
const feed = createFeed({
  state: showConnection,
  snapshot(picture) {
    threads.replace(picture.threads)
    messages.replace(picture)
    find('#gone').hidden = threadId === null || picture.thread !== null
    showTitle(picture.thread?.title)
    showStatus(picture.status)
    for (const one of picture.whispers) whisper.rendered(one)
    revealLinked()
  },
  thread(thread) {
    threads.place(thread)
    if (thread.id === threadId) showTitle(thread.title)
  },
  message: (message) => messages.place(message),
  removed: ({ id }) => messages.remove(id),
  status: showStatus,
  whisper: (one) => whisper.rendered(one),
})

function threadOf(path) {
  return /^\/console\/t\/([\w-]+)$/.exec(path)?.[1] ?? null
}

/** Turns the page to a thread, or with `null` to a new one. `how`: `push` a new history entry, or `stay` with the present one. */
function open(id, how) {
  threadId = id
  if (how === 'push') history.pushState(null, '', id === null ? '/console' : `/console/t/${id}`)
  dialogs.close()
  announcer.clear()
  messages.clear()
  whisper.clear()
  threads.open(id)
  composer.turnTo(id)
  showTitle(threads.title(id))
  showStatus(null)
  find('#gone').hidden = true
  find('#welcome').hidden = id !== null
  drawer.close()
  composer.focus()
  feed.follow(id)
}

/** A thread that began here gets its address; where the person has gone elsewhere meanwhile, nothing moves. */
function onAccepted(answer, sentFrom) {
  if (sentFrom !== null || threadId !== null) return
  open(answer.threadId, 'push')
  messages.began(answer.messageId)
}

/** A permalink names a message; it is shown once, and later pictures leave the page where the person has it. */
function revealLinked() {
  const linked = /^#m-([\w-]+)$/.exec(location.hash)?.[1]
  if (!linked) return
  history.replaceState(null, '', location.pathname)
  messages.reveal(linked)
}

let title
function showTitle(text) {
  title = text
  find('#title').textContent = title ?? words.newThread
  document.title = [waiting, title, 'ToyCoder'].filter(Boolean).join(' · ')
}

/** What waits for the person is said where it is seen from other tabs, too. */
let waiting = ''
function showWaiting(count) {
  waiting = count > 0 ? `${words.waitingForYou} (${count})` : ''
  drawer.note(waiting)
  showTitle(title)
}

function showConnection(connected) {
  find('#connection').dataset.state = connected ? 'connected' : 'lost'
  find('#connection-text').textContent = connected ? words.connected : words.reconnecting
}

let statusEnds
function showStatus(status) {
  clearTimeout(statusEnds)
  find('#status').hidden = status === null
  if (status) {
    find('#status-text').textContent = `ToyCoder ${status.text}`
    statusEnds = setTimeout(showStatus, Math.max(0, status.until - Date.now()), null)
  }
  messages.follow()
}

find('#new-thread').addEventListener('click', (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  open(null, 'push')
})
find('#examples').addEventListener('click', ({ target }) => {
  if (target.localName !== 'button') return
  composer.set(target.textContent)
  composer.focus()
})
addEventListener('popstate', () => open(threadOf(location.pathname), 'stay'))

await renewSession()
open(threadId, 'stay')
