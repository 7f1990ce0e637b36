/** A map that keeps the newest `limit` entries: what a process remembers of things that it can ask for again. */
export interface Recent<V> {
  get(key: string): V | undefined
  has(key: string): boolean
  set(key: string, value: V): void
  delete(key: string): void
}

export function createRecent<V>(limit: number): Recent<V> {
  const entries = new Map<string, V>()
  return {
    get: (key) => entries.get(key),
    has: (key) => entries.has(key),
    set(key, value) {
      entries.delete(key)
      entries.set(key, value)
      const oldest = entries.size > limit ? entries.keys().next() : undefined
      if (oldest && !oldest.done) entries.delete(oldest.value)
    },
    delete: (key) => void entries.delete(key),
  }
}
