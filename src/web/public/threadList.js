import { olderThreads } from './api.js'
import { el } from './dom.js'
import { locale, words } from './words.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const clock = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' })
const weekday = new Intl.DateTimeFormat(locale, { weekday: 'short' })
const day = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short' })

/**
 * The list of threads, the latest talk first. `onOpen(id)` is called when one is chosen, `onWaiting(count)` with the number
 * of threads in which something waits for a person.
 */
export function createThreadList({ onOpen, onWaiting }) {
  const list = document.querySelector('#threads')
  const none = document.querySelector('#no-threads')
  const older = document.querySelector('#older-threads')
  const threads = new Map()
  const items = new Map()
  let openId = null
  let askedForOlder = false

  function item(thread) {
    const link = el(
      'a',
      { href: `/console/t/${thread.id}` },
      el('span', { class: 'thread-title' }),
      badge(),
      el('time', {}),
    )
    link.addEventListener('click', (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
      event.preventDefault()
      onOpen(thread.id)
    })
    return el('li', {}, link)
  }

  function show() {
    const latestFirst = [...threads.values()].sort((a, b) => b.lastAt - a.lastAt || (a.id < b.id ? -1 : 1))
    latestFirst.forEach((thread, index) => {
      const element = items.get(thread.id) ?? item(thread)
      items.set(thread.id, element)
      const link = element.firstChild
      link.querySelector('.thread-title').textContent = thread.title
      link.querySelector('.waiting-badge').hidden = thread.waiting.length === 0
      const time = link.querySelector('time')
      time.dateTime = new Date(thread.lastAt).toISOString()
      time.textContent = when(thread.lastAt)
      if (thread.id === openId) link.setAttribute('aria-current', 'page')
      else link.removeAttribute('aria-current')
      // Moving an element that is in place already would take the focus from it.
      if (list.children[index] !== element) list.insertBefore(element, list.children[index] ?? null)
    })
    none.hidden = threads.size > 0
    onWaiting(latestFirst.filter(({ waiting }) => waiting.length > 0).length)
  }

  older.addEventListener('click', async () => {
    const oldest = [...threads.keys()].sort().at(-1)
    const found = await olderThreads(oldest).catch(() => null)
    if (!found) return
    askedForOlder = true
    for (const thread of found) threads.set(thread.id, thread)
    older.hidden = found.length < 100
    show()
  })

  return {
    replace(found) {
      for (const thread of found) threads.set(thread.id, thread)
      if (!askedForOlder) older.hidden = found.length < 100
      show()
    },
    place(thread) {
      threads.set(thread.id, thread)
      show()
    },
    open(id) {
      openId = id
      show()
    },
    title: (id) => threads.get(id)?.title,
  }
}

const badge = () => el('span', { class: 'waiting-badge' }, words.waitingForYou)

/** A time as one says it: today by the clock, this week by the day, else by the date. */
function when(at) {
  const age = Date.now() - at
  if (age < DAY && new Date(at).getDate() === new Date().getDate()) return clock.format(at)
  return age < 6 * DAY ? weekday.format(at) : day.format(at)
}
