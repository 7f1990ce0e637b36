import { openFeed, renewSession } from './api.js'

/** The server beats every 10 seconds; silence for longer than this is a dead connection that nobody reported. */
const SILENCE_MS = 25_000
/** A page that nobody has looked at for this long lets go: browsers open only a few connections to one server at a time. */
const UNSEEN_MS = 60_000
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 8_000

const EVENTS = ['snapshot', 'thread', 'message', 'removed', 'status', 'whisper']

/**
 * Keeps a live view open whatever happens to the connection. Each (re)connection begins with a snapshot, so the page is
 * right again at once. `on` has a handler for each event and `state(connected)`.
 */
export function createFeed(on) {
  let thread = null
  let source = null
  let pause = FIRST_PAUSE_MS
  let retry
  let watch
  let unseen

  function connect() {
    close()
    const opened = openFeed(thread)
    source = opened
    listenFor(SILENCE_MS)
    opened.addEventListener('beat', () => listenFor(SILENCE_MS))
    opened.addEventListener('error', lost)
    for (const name of EVENTS) {
      opened.addEventListener(name, ({ data }) => {
        if (source !== opened) return
        listenFor(SILENCE_MS)
        pause = FIRST_PAUSE_MS
        if (name === 'snapshot') on.state(true)
        on[name](JSON.parse(data))
      })
    }
  }

  function lost() {
    close()
    on.state(false)
    retry = setTimeout(async () => {
      // A refused session looks like any other failure to an EventSource; a new one costs nothing.
      await renewSession()
      connect()
    }, pause)
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS)
  }

  function listenFor(ms) {
    clearTimeout(watch)
    watch = setTimeout(lost, ms)
  }

  function close() {
    clearTimeout(retry)
    clearTimeout(watch)
    source?.close()
    source = null
  }

  function hurry() {
    if (source !== null) return
    pause = FIRST_PAUSE_MS
    connect()
  }

  addEventListener('online', hurry)
  document.addEventListener('visibilitychange', () => {
    clearTimeout(unseen)
    if (document.visibilityState === 'visible') hurry()
    else unseen = setTimeout(close, UNSEEN_MS)
  })

  return {
    /** Follows another thread (`null`: none) from now on. */
    follow(id) {
      thread = id
      connect()
    },
  }
}
