import type { ChatPlatform, Reaction } from '../platform/platform.ts'
import { type MessageRef, type ThreadRef, threadKey } from '../shared/thread.ts'
import type { EditScheduler, Sending } from './editScheduler.ts'

interface Wanted<T> {
  value: T
  /** When it was wanted last. */
  at: number
  cancel(): void
}

/** Of how many messages and threads it is remembered that they carry a sign. */
const REMEMBERED = 5_000
/** "Is working" that has waited for longer than this is not shown any more, in milliseconds: it is said again if it is still so. */
const STALE_MS = 8_000

/**
 * The platform with signs of life (reactions, "is working") that keep to the limits and that nobody waits for. Of a message
 * or thread only the newest sign wanted is shown; one that nobody has seen yet when it is over is never shown.
 */
export function withPacedSignals(
  platform: ChatPlatform,
  edits: EditScheduler,
  now: () => number = () => performance.now(),
): ChatPlatform {
  const reactions = createSigns<Reaction>(now)
  const statuses = createSigns<string>(now)

  return {
    ...platform,
    async react(thread: ThreadRef, ref: MessageRef, name: Reaction | null) {
      await reactions.want(`${ref.channel}:${ref.id}`, name, {
        isFresh: () => true,
        show: (value) => platform.react(thread, ref, value),
        send: (make) => edits.send({ method: 'react', thread, urgency: 'live' }, make),
      })
    },
    async status(thread: ThreadRef, text: string | null) {
      await statuses.want(threadKey(thread), text, {
        isFresh: (at) => now() - at < STALE_MS,
        show: (value) => platform.status(thread, value),
        // The end frees what the sign holds up, such as a Stop button for nothing.
        send: (make) => edits.send({ method: 'status', thread, urgency: text === null ? 'activity' : 'live' }, make),
      })
    },
  }
}

interface Showing<T> {
  isFresh(at: number): boolean
  show(value: T | null): Promise<void>
  send(make: () => (() => Promise<void>) | null): Sending<void>
}

/** Signs by their place. `null` takes one away. */
function createSigns<T>(now: () => number) {
  const waiting = new Map<string, Wanted<T | null>>()
  const shown = new Set<string>()

  /**
   * Resolves at once where the sign has to wait; never rejects for a failure of the platform: signs of life are worth no more
   * than that. Taking one away that need not wait is done when it resolves.
   */
  async function want(key: string, value: T | null, { isFresh, show, send }: Showing<T>): Promise<void> {
    const known = waiting.get(key)
    if (value === null && !shown.has(key)) {
      known?.cancel()
      waiting.delete(key)
      // What an earlier process left there, if anything, is taken away.
      return show(null)
    }
    if (known && (value === null) === (known.value === null)) {
      Object.assign(known, { value, at: now() })
      return
    }
    known?.cancel()
    const wanted: Wanted<T | null> = { value, at: now(), cancel: () => sending.cancel() }
    waiting.set(key, wanted)
    const sending = send(() => {
      if (waiting.get(key) === wanted) waiting.delete(key)
      if (wanted.value !== null && !isFresh(wanted.at)) return null
      return async () => {
        if (wanted.value === null) shown.delete(key)
        else shown.add(key)
        if (shown.size > REMEMBERED) shown.delete(shown.keys().next().value!)
        await show(wanted.value)
      }
    })
    const done = sending.done.catch(() => {})
    // What would be left behind by a process that ends now is waited for, if it need not wait for others.
    if (value === null && waiting.get(key) !== wanted) await done
  }

  return { want }
}
