import { compareKeys, type KeyRange, type StoreAdapter } from './adapter.ts'

/** `memory:` for trying things out and for tests: gone when the process ends, never shared between processes. */
export function memoryAdapter(now: () => number = Date.now): StoreAdapter {
  const entries = new Map<string, { value: string; expires: number | undefined }>()
  /** All keys of `entries`, ascending. */
  const ordered: string[] = []

  const live = (key: string): string | undefined => {
    const entry = entries.get(key)
    if (entry === undefined) return undefined
    if (entry.expires === undefined || entry.expires > now()) return entry.value
    remove(key)
    return undefined
  }

  const put = (key: string, value: string, expires: number | undefined): void => {
    if (!entries.has(key)) ordered.splice(position(key), 0, key)
    entries.set(key, { value, expires })
  }

  const remove = (key: string): void => {
    if (entries.delete(key)) ordered.splice(position(key), 1)
  }

  /** Where `key` stands in `ordered`, or would stand. */
  const position = (key: string): number => {
    let low = 0
    let high = ordered.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compareKeys(ordered[middle]!, key) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  const list = ({ from, exclusive, below }: KeyRange, limit: number): string[] => {
    const found: string[] = []
    let at = position(from)
    if (exclusive && ordered[at] === from) at++
    while (found.length < limit) {
      const key = ordered[at]
      if (key === undefined || (below !== undefined && compareKeys(key, below) >= 0)) break
      // An expired key leaves `ordered`, so the next one moves to where it stood.
      if (live(key) !== undefined) {
        found.push(key)
        at++
      }
    }
    return found
  }

  return {
    capabilities: { expires: true },
    async get(key) {
      return live(key)
    },
    async getMany(keys) {
      return keys.map(live)
    },
    async set(key, value, expires) {
      put(key, value, expires)
      return true
    },
    async putIfAbsent(key, value, expires) {
      if (live(key) !== undefined) return false
      put(key, value, expires)
      return true
    },
    async delete(key) {
      remove(key)
      return true
    },
    async list(range, limit) {
      return list(range, limit)
    },
    async disconnect() {},
  }
}
