import { part, timerKeys } from '../keys.ts'
import type { Store } from '../store.ts'

export type SetTimer = (run: () => void, ms: number) => () => void

/** Wishes for a later run, kept in the store: a timer leaves it only after a run that began when it was due has ended well. */
export interface Timers {
  add(threadKey: string, dueAt: number): Promise<void>
  /** Arms what the store holds; safe to call again. */
  load(): Promise<void>
  /** The timers of the thread that are due, whichever instance they rang at: a run that starts now answers them. */
  dueFor(threadKey: string): Promise<string[]>
  done(keys: readonly string[]): Promise<void>
  /** Calls off everything armed; the store keeps it for the next start. */
  stop(): void
}

/** `setTimeout` counts to about 24.8 days; a longer wait is taken in steps of this length. */
const LONGEST_MS = 24 * 3_600_000
const PAGE = 1_000

export function createTimers(parts: {
  store: Store
  now: () => number
  setTimer: SetTimer
  fire: (threadKey: string) => void
}): Timers {
  const { store, now, setTimer, fire } = parts
  /** How to call off each timer. One that has rung stays here until the store has it no more, so that it rings once. */
  const armed = new Map<string, () => void>()
  let stopped = false

  function arm(key: string, threadKey: string, dueAt: number): void {
    if (stopped) return
    const waitMs = Math.max(0, dueAt - now())
    // Looks again when it rings: it may have been set to less than the whole wait, and system timers can be a bit early.
    const ring = () => (now() < dueAt ? arm(key, threadKey, dueAt) : fire(threadKey))
    armed.set(key, setTimer(ring, Math.min(waitMs, LONGEST_MS)))
  }

  /** All timers in the order in which they are due, a page at a time, up to the time `until`. */
  async function* pages(until = Number.POSITIVE_INFINITY): AsyncGenerator<string[]> {
    let after: string | undefined
    for (;;) {
      const keys = await store.list(timerKeys.all, { ...(after === undefined ? {} : { after }), limit: PAGE })
      const inTime = keys.filter((key) => timerKeys.dueAt(key) <= until)
      yield inTime
      if (inTime.length < PAGE) return
      after = keys[keys.length - 1]!
    }
  }

  return {
    async add(threadKey, dueAt) {
      const key = timerKeys.due(threadKey, Math.ceil(dueAt))
      await store.set(key, { threadKey, dueAt })
      if (!armed.has(key)) arm(key, threadKey, dueAt)
    },

    async load() {
      const before = new Set(armed.keys())
      for await (const keys of pages()) {
        for (const key of keys) before.delete(key)
        const fresh = keys.filter((key) => !armed.has(key))
        const timers = await store.getMany<{ threadKey: string; dueAt: number }>(fresh)
        for (const [i, timer] of timers.entries()) {
          const key = fresh[i]!
          if (timer && !armed.has(key)) arm(key, timer.threadKey, timer.dueAt)
        }
      }
      // Answered by another instance.
      for (const key of before) disarm(key)
    },

    async dueFor(threadKey) {
      const due: string[] = []
      for await (const keys of pages(now())) due.push(...keys.filter((key) => key.endsWith(`/${part(threadKey)}`)))
      return due
    },

    async done(keys) {
      for (const key of keys) {
        await store.delete(key)
        disarm(key)
      }
    },

    stop() {
      stopped = true
      for (const cancel of armed.values()) cancel()
    },
  }

  function disarm(key: string): void {
    armed.get(key)?.()
    armed.delete(key)
  }
}
