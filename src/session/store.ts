/**
 * The seam to everything durable: Keyv plus one atomic primitive. Every failure rejects with `StoreError`; no failure is
 * ever taken for "nothing there" or "written".
 *
 * Keys are text with `/` between parts: well-formed Unicode without NUL, not empty, at most 1,000 bytes. Values are what JSON
 * can carry. `list` answers keys in ascending order of their UTF-8 bytes, which is the order of their code points and the one
 * order that SQLite, PostgreSQL and Redis share.
 */
export interface Store {
  get<T>(key: string): Promise<T | undefined>
  /** Values in the order of `keys`. */
  getMany<T>(keys: readonly string[]): Promise<(T | undefined)[]>
  /** `ttlMs`: the entry is gone after that many milliseconds; without it, it stays. */
  set<T>(key: string, value: T, ttlMs?: number): Promise<void>
  /** Writes only where nothing (or something expired) is; true when it did. Atomic over all processes. */
  putIfAbsent<T>(key: string, value: T, ttlMs?: number): Promise<boolean>
  delete(key: string): Promise<void>
  /** Keys that begin with `prefix` and come after `after` (exclusive), at most `limit` (default 1,000). */
  list(prefix: string, options?: { after?: string; limit?: number }): Promise<string[]>
  /** Waits for writes under way and lets go of files and connections. */
  close(): Promise<void>
}
