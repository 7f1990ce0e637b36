import type { ConsoleStorage } from '../../src/platform/console/consoleShelf.ts'

/** The store's promises in memory, JSON copies and key order included. `failing` makes every call reject. */
export function memoryStorage(): ConsoleStorage & { entries: Map<string, string>; failing: boolean } {
  const entries = new Map<string, string>()
  const storage = {
    entries,
    failing: false,
    async get<T>(key: string) {
      check()
      const text = entries.get(key)
      return text === undefined ? undefined : (JSON.parse(text) as T)
    },
    getMany: <T>(keys: readonly string[]) => Promise.all(keys.map((key) => storage.get<T>(key))),
    async set(key: string, value: unknown) {
      check()
      entries.set(key, JSON.stringify(value))
    },
    async putIfAbsent(key: string, value: unknown) {
      check()
      if (entries.has(key)) return false
      entries.set(key, JSON.stringify(value))
      return true
    },
    async delete(key: string) {
      check()
      entries.delete(key)
    },
    async list(prefix: string, { after = '', limit = 1000 }: { after?: string; limit?: number } = {}) {
      check()
      const keys = [...entries.keys()].filter((key) => key.startsWith(prefix) && key > after)
      return keys.sort().slice(0, limit)
    },
  }
  function check(): void {
    if (storage.failing) throw new Error('the disk is gone')
  }
  return storage
}
