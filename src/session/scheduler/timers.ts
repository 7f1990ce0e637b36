import { timerKeys } from '../keys.ts'
import type { Store } from '../store.ts'

export type SetTimer = (run: () => void, ms: number) => () => void

/** Wishes for a later run, kept in the store: a timer leaves it only after a run that began when it was due has ended well. */
export interface Timers {
  add(threadKey: string, dueAt: number): Promise<void>
  /** Arms what the store holds; safe to call again. */
  load(): Promise<void>
  /** The timers of the thread that have fired so far: a run that starts now answers them. */
  firedFor(threadKey: string): string[]
  done(threadKey: string, keys: readonly string[]): Promise<void>
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
  const armed = new Map<string, () => void>()
  const fired = new Map<string, Set<string>>()
  let stopped = false

  function arm(key: string, threadKey: string, dueAt: number): void {
    if (stopped) return
    const waitMs = Math.max(0, dueAt - now())
    // Looks again when it rings: it may have been set to less than the whole wait, and system timers can be a bit early.
    const ring = () => (now() < dueAt ? arm(key, threadKey, dueAt) : due(key, threadKey))
    armed.set(key, setTimer(ring, Math.min(waitMs, LONGEST_MS)))
  }

  function due(key: string, threadKey: string): void {
    const keys = fired.get(threadKey) ?? new Set()
    fired.set(threadKey, keys.add(key))
    fire(threadKey)
  }

  return {
    async add(threadKey, dueAt) {
      const key = timerKeys.due(threadKey, Math.ceil(dueAt))
      await store.set(key, { threadKey, dueAt })
      if (!armed.has(key)) arm(key, threadKey, dueAt)
    },

    async load() {
      let after: string | undefined
      for (;;) {
        const keys = await store.list(timerKeys.all, { ...(after === undefined ? {} : { after }), limit: PAGE })
        const fresh = keys.filter((key) => !armed.has(key))
        const timers = await store.getMany<{ threadKey: string; dueAt: number }>(fresh)
        for (const [i, timer] of timers.entries()) {
          const key = fresh[i]!
          if (timer && !armed.has(key)) arm(key, timer.threadKey, timer.dueAt)
        }
        if (keys.length < PAGE) return
        after = keys[keys.length - 1]!
      }
    },

    firedFor: (threadKey) => [...(fired.get(threadKey) ?? [])],

    async done(threadKey, keys) {
      const left = fired.get(threadKey)
      for (const key of keys) {
        await store.delete(key)
        armed.delete(key)
        left?.delete(key)
      }
      if (left?.size === 0) fired.delete(threadKey)
    },

    stop() {
      stopped = true
      for (const cancel of armed.values()) cancel()
    },
  }
}
