import { messageOf, StoreError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { failingKeys, parkedKeys } from '../keys.ts'
import type { Store } from '../store.ts'

/** A thread whose runs failed too often in a row. */
export interface Parked {
  threadKey: string
  /** Milliseconds since the epoch. */
  at: number
  error: string
}

export interface FailuresOptions {
  store: Store
  log: Log
  /** Default `Date.now`. */
  now?: () => number
  /** Failures in a row after which a thread is parked. Default 5. */
  maxFailures?: number
  /** Pause before the second try; doubles with each further one up to 60 s. Default 1,000 ms. */
  retryMs?: number
  /** Told once when a thread is parked; what it rejects with is logged. */
  onParked?: (threadKey: string, error: unknown) => void | Promise<void>
}

/**
 * Counts failures in a row per thread and parks the thread in the end, in the store, so that it holds over restarts and on
 * every instance. A failing store (`StoreError`) and aborted runs don't count: neither is the thread's fault.
 */
export interface Failures {
  /** One more failed run. Answers the pause before the next try in ms; `null`: the thread is parked. Never rejects. */
  failed(threadKey: string, error: unknown, run: { aborted: boolean }): Promise<number | null>
  /** Parks the thread without a further try, and tells it. Rejects with `StoreError`. */
  park(threadKey: string, error: unknown): Promise<void>
  /** A run has ended well: nothing is left of earlier failures. */
  clear(threadKey: string): Promise<void>
  /** Something new came in the thread: if it is parked, it gets one more try. */
  relent(threadKey: string): Promise<void>
  /** Gives a parked thread a fresh start. */
  free(threadKey: string): Promise<void>
  /** Which of these threads are parked. */
  parkedAmong(threadKeys: readonly string[]): Promise<Set<string>>
  parked(): Promise<Parked[]>
}

interface Failing {
  threadKey: string
  count: number
  at: number
}

const MAX_RETRY_MS = 60_000
const PAGE = 1_000

export function createFailures(options: FailuresOptions): Failures {
  const { store, log, now = Date.now, maxFailures = 5, retryMs = 1_000, onParked } = options

  const parkedEntry = (threadKey: string) => store.get<Parked>(parkedKeys.thread(threadKey))
  const setCount = (threadKey: string, count: number) =>
    store.set(failingKeys.thread(threadKey), { threadKey, count, at: now() } satisfies Failing)

  async function counted(threadKey: string): Promise<number> {
    const count = ((await store.get<Failing>(failingKeys.thread(threadKey)))?.count ?? 0) + 1
    await setCount(threadKey, count)
    return count
  }

  async function park(threadKey: string, error: unknown): Promise<void> {
    log.error({ thread: threadKey, error }, 'the thread is parked: its runs failed too often in a row')
    await store.set(parkedKeys.thread(threadKey), { threadKey, at: now(), error: messageOf(error) } satisfies Parked)
    await store.delete(failingKeys.thread(threadKey))
    try {
      await onParked?.(threadKey, error)
    } catch (problem) {
      log.error({ thread: threadKey, error: problem }, 'the parking of the thread could not be told')
    }
  }

  return {
    async failed(threadKey, error, { aborted }) {
      if (aborted) return retryMs
      if (error instanceof StoreError) {
        log.error({ thread: threadKey, error }, 'a run failed with the store')
        return retryMs
      }
      try {
        const count = await counted(threadKey)
        log.error({ thread: threadKey, error, failures: count }, 'a run failed')
        if (count < maxFailures) return Math.min(retryMs * 2 ** (count - 1), MAX_RETRY_MS)
        await park(threadKey, error)
        return null
      } catch (problem) {
        log.error({ thread: threadKey, error, problem }, 'a run failed, and it could not be counted')
        return retryMs
      }
    },

    park,

    async clear(threadKey) {
      const keys = [failingKeys.thread(threadKey), parkedKeys.thread(threadKey)]
      const entries = await store.getMany(keys)
      for (const [i, key] of keys.entries()) if (entries[i] !== undefined) await store.delete(key)
    },

    async relent(threadKey) {
      if ((await parkedEntry(threadKey)) === undefined) return
      await setCount(threadKey, maxFailures - 1)
      await store.delete(parkedKeys.thread(threadKey))
    },

    async free(threadKey) {
      await store.delete(failingKeys.thread(threadKey))
      await store.delete(parkedKeys.thread(threadKey))
    },

    async parkedAmong(threadKeys) {
      const entries = await store.getMany<Parked>(threadKeys.map(parkedKeys.thread))
      return new Set(threadKeys.filter((_, i) => entries[i] !== undefined))
    },

    async parked() {
      const found: Parked[] = []
      let after: string | undefined
      for (;;) {
        const keys = await store.list(parkedKeys.all, { ...(after === undefined ? {} : { after }), limit: PAGE })
        for (const entry of await store.getMany<Parked>(keys)) if (entry) found.push(entry)
        if (keys.length < PAGE) return found
        after = keys[keys.length - 1]!
      }
    },
  }
}
