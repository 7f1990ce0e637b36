import type { StreamEnd, Streaming } from '../platform/platform.ts'
import { messageOf, PlatformError } from '../shared/errors.ts'
import type { MessageRef } from '../shared/thread.ts'
import type { Sending } from './editScheduler.ts'
import type { LiveMessageParts } from './liveMessage.ts'
import type { SetTimer } from './timers.ts'

/**
 * One message that grows by additions. Its calls are made one after another, at the pace of the edit scheduler; its
 * reference is in the outbox before anything is added. Whatever goes wrong breaks it, and the message goes on by edits.
 */
export interface Stream {
  /** There is more to show: `steady` gives what can be shown for good so far, printed. Never throws. */
  grow(steady: () => string): void
  /**
   * Ends it with `text`, the whole of it. True when exactly that stands in the message; false when it does not, or when there
   * is no message. No call is in flight any more then.
   */
  end(text: string, below: Pick<StreamEnd, 'footer' | 'buttons'>): Promise<boolean>
  /** Ends it as it is, if it is there. Never rejects. */
  close(): Promise<void>
  /** Adds nothing any more; resolves when no call is in flight. The stream itself stays open. */
  rest(): Promise<void>
  isShown(): boolean
}

export interface StreamParts extends LiveMessageParts {
  streaming: Streaming
  setTimer: SetTimer
  /** Milliseconds on a clock that never jumps. */
  now(): number
}

/** A call that comes within this time is waited for, in milliseconds. */
const PATIENCE_MS = 1_500

/** `onBroken` is called once, when the message can't go on by additions. */
export function createStream(key: string, parts: StreamParts, onBroken: () => void): Stream {
  const { streaming, thread, edits, outbox, inOrder, setTimer, now } = parts
  const log = parts.log.child({ key })
  let ref: MessageRef | null = null
  let shown = ''
  let state: 'growing' | 'broken' | 'ended' = 'growing'
  let steady: () => string = () => ''
  /** There may be more to show than when it was last looked at. */
  let isGrown = false
  let beganAt = 0
  let lastAt = Number.NEGATIVE_INFINITY
  /** The work under way: a call, or the wait for one. */
  let work: Promise<void> | null = null
  /** The call that waits for its turn. */
  let waiting: Pick<Sending<unknown>, 'cancel'> | null = null
  let endPause = () => {}
  let isQuiet = false

  function broken(why: string, error?: unknown): void {
    if (state !== 'growing') return
    state = 'broken'
    log.info({ why, ...(error !== undefined && { error }) }, 'a streamed text goes on by edits')
    onBroken()
  }

  /** What is to be added now, or `null`. */
  function addition(): string | null {
    if (state !== 'growing' || isQuiet) return null
    const next = steady()
    if (shown.startsWith(next)) return null
    if (!next.startsWith(shown)) {
      broken('what was shown has changed')
      return null
    }
    if (streaming.weight(next) > streaming.most) {
      broken('it is full')
      return null
    }
    return next.slice(shown.length)
  }

  async function begin(): Promise<void> {
    const call = { method: 'startStream', thread, urgency: 'live' } as const
    if (edits.waitMs(call) > PATIENCE_MS) return broken('too many were begun')
    await inOrder(async () => {
      let text = ''
      const sending = edits.send(call, () => {
        text = addition() ?? ''
        if (!text) return null
        return async () => {
          await outbox.intend(key)
          beganAt = now()
          return streaming.start(thread, text)
        }
      })
      waiting = sending
      try {
        const begun = await sending.done
        if (!begun) return
        await outbox.posted(key, begun)
        ref = begun
        shown = text
        lastAt = now()
      } catch (error) {
        await afterFailedStart(error)
      } finally {
        waiting = null
      }
    })
  }

  /** A start in doubt may have made a message, which the edits are to use. */
  async function afterFailedStart(error: unknown): Promise<void> {
    if (!(error instanceof PlatformError)) throw error
    if (!error.uncertain) await outbox.forget(key)
    else {
      const lost = await parts.patience.persist(() => streaming.findLost(thread, [])).catch(() => null)
      if (lost) await outbox.posted(key, lost)
    }
    broken(`it was not begun: ${error.code}`, error)
  }

  async function add(urgency: 'live' | 'final', text: () => string | null): Promise<void> {
    let added = ''
    const sending = edits.send({ method: 'addToStream', thread, urgency }, () => {
      added = text() ?? ''
      if (!added) return null
      return () => streaming.add(thread, ref!, added)
    })
    waiting = sending
    try {
      if ((await sending.done) === null) return
      shown += added
      lastAt = now()
    } catch (error) {
      broken(`nothing more could be added: ${messageOf(error)}`, error)
    } finally {
      waiting = null
    }
  }

  async function run(): Promise<void> {
    while (state === 'growing' && isGrown && !isQuiet) {
      if (ref && now() - beganAt > streaming.longestMs) return broken('it is too old')
      const pauseMs = lastAt + streaming.intervalMs - now()
      if (pauseMs > 0) await pause(pauseMs)
      isGrown = false
      await (ref ? add('live', addition) : begin())
    }
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = setTimer(resolve, ms)
      endPause = () => {
        cancel()
        resolve()
      }
    })
  }

  function start(): void {
    if (!isGrown || isQuiet || state !== 'growing') return
    work ??= run()
      .catch((error: unknown) => broken('it failed', error))
      .finally(() => {
        work = null
        start()
      })
  }

  async function quiet(): Promise<void> {
    isQuiet = true
    endPause()
    waiting?.cancel()
    await work
  }

  async function send(last: Omit<StreamEnd, 'key'>): Promise<boolean> {
    const target = ref!
    const call = { method: 'endStream', thread, urgency: 'final' } as const
    const sending = edits.send(call, () => () => streaming.end(thread, target, { ...last, key }).then(() => true))
    waiting = sending
    try {
      return (await sending.done) ?? false
    } catch (error) {
      log.info({ error }, `a stream could not be ended: ${messageOf(error)}`)
      return false
    } finally {
      waiting = null
    }
  }

  return {
    grow(newest) {
      steady = newest
      isGrown = true
      start()
    },
    async end(text, below) {
      await quiet()
      if (!ref || state !== 'growing' || !text.startsWith(shown) || streaming.weight(text) > streaming.most)
        return false
      // People need not wait for the end of the stream to see the end of the text.
      if (text !== shown && edits.waitMs({ method: 'endStream', thread, urgency: 'final' }) > PATIENCE_MS) {
        await add('final', () => text.slice(shown.length))
        if (state !== 'growing') return false
      }
      const isDone = await send({ text: text.slice(shown.length), ...below })
      state = isDone ? 'ended' : 'broken'
      return isDone
    },
    async close() {
      await quiet()
      if (!ref || state === 'ended') return
      state = 'ended'
      await send({ text: '' })
    },
    rest: quiet,
    isShown: () => ref !== null && state === 'growing',
  }
}
