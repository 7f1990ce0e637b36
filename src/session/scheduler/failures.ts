import { parkedKeys } from '../keys.ts'
import type { Store } from '../store.ts'

/** A thread whose runs failed too often in a row. */
export interface Parked {
  threadKey: string
  /** Milliseconds since the epoch. */
  at: number
  error: string
}

/** Counts failures in a row per thread, and remembers in the store which threads are parked. */
export interface Failures {
  load(): Promise<void>
  /** Counts one more (unless it is `blameless`) and answers how many there are in a row. */
  count(threadKey: string, blameless: boolean): number
  clear(threadKey: string): Promise<void>
  park(threadKey: string, error: string): Promise<void>
  /** Frees a parked thread, with `countedAs` failures on its account; nothing happens to one that is not parked. */
  unpark(threadKey: string, countedAs: number): Promise<void>
  isParked(threadKey: string): boolean
  parked(): Parked[]
}

const PAGE = 1_000

export function createFailures({ store, now }: { store: Store; now: () => number }): Failures {
  const counts = new Map<string, number>()
  const parked = new Map<string, Parked>()

  async function free(threadKey: string): Promise<void> {
    if (!parked.has(threadKey)) return
    await store.delete(parkedKeys.thread(threadKey))
    parked.delete(threadKey)
  }

  return {
    async load() {
      let after: string | undefined
      for (;;) {
        const keys = await store.list(parkedKeys.all, { ...(after === undefined ? {} : { after }), limit: PAGE })
        for (const entry of await store.getMany<Parked>(keys)) if (entry) parked.set(entry.threadKey, entry)
        if (keys.length < PAGE) return
        after = keys[keys.length - 1]!
      }
    },

    count(threadKey, blameless) {
      const count = (counts.get(threadKey) ?? 0) + (blameless ? 0 : 1)
      if (count > 0) counts.set(threadKey, count)
      return count
    },

    async clear(threadKey) {
      counts.delete(threadKey)
      await free(threadKey)
    },

    async park(threadKey, error) {
      const entry: Parked = { threadKey, at: now(), error }
      parked.set(threadKey, entry)
      counts.delete(threadKey)
      await store.set(parkedKeys.thread(threadKey), entry)
    },

    async unpark(threadKey, countedAs) {
      if (!parked.has(threadKey)) return
      await free(threadKey)
      if (countedAs > 0) counts.set(threadKey, countedAs)
    },

    isParked: (threadKey) => parked.has(threadKey),
    parked: () => [...parked.values()],
  }
}
