import { padded } from './keys.ts'
import type { Store } from './store.ts'

/**
 * Threads by when something last happened in them, newest first, without looking at every thread.
 *
 * Each thread has one entry whose key begins with the inverted time, so that the store's own order is the wanted one; a
 * touch moves it. That costs one read and three writes, so it is done per message of a person, not per record. A crash or
 * two touches at once may leave an older entry behind: whoever lists past it takes it away.
 */
export interface Recency {
  touch(thread: string, at: number): Promise<void>
  /** Each thread once, newest first; takes as much from the store as the caller reads. */
  newest(): AsyncGenerator<string>
}

/** The largest time a `Date` can hold. */
const LATEST = 8_640_000_000_000_000
const PAGE = 100

export function createRecency(store: Store, name: string): Recency {
  const index = indexOf(name)
  const lastTouch = (thread: string) => `touched/${name}/${thread}`
  const entry = (thread: string, at: number) => `${index}${padded(LATEST - at, 16)}/${thread}`

  return {
    async touch(thread, at) {
      const before = await store.get<number>(lastTouch(thread))
      if (before !== undefined && before >= at) return
      // In this order a cut leaves an entry too many, never none.
      await store.set(entry(thread, at), at)
      await store.set(lastTouch(thread), at)
      if (before !== undefined) await store.delete(entry(thread, before))
    },

    async *newest() {
      for await (const { thread, key, isOld } of entriesOf(store, name)) {
        if (isOld) await store.delete(key)
        else yield thread
      }
    },
  }
}

/** The same order for a store that is only looked at. */
export async function* newestOf(store: Store, name: string): AsyncGenerator<string> {
  for await (const { thread, isOld } of entriesOf(store, name)) if (!isOld) yield thread
}

async function* entriesOf(store: Store, name: string): AsyncGenerator<{ thread: string; key: string; isOld: boolean }> {
  const index = indexOf(name)
  const seen = new Set<string>()
  let after = index
  for (;;) {
    const keys = await store.list(index, { after, limit: PAGE })
    for (const key of keys) {
      const thread = key.slice(key.indexOf('/', index.length) + 1)
      yield { thread, key, isOld: seen.has(thread) }
      seen.add(thread)
    }
    if (keys.length < PAGE) return
    after = keys[keys.length - 1]!
  }
}

function indexOf(name: string): string {
  return `recent/${name}/`
}
