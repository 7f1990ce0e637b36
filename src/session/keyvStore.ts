import { AsyncLocalStorage } from 'node:async_hooks'
import { Keyv } from 'keyv'
import { StoreError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import { keyRange, type StoreAdapter } from './adapters/adapter.ts'
import { withTimeout } from './inTime.ts'
import type { Store } from './store.ts'

export interface KeyvStoreOptions {
  log: Log
  /** How long one call may take before it counts as failed. Default 5,000 ms. */
  timeoutMs?: number
}

const DEFAULT_TIMEOUT_MS = 5_000
const DEFAULT_LIST_LIMIT = 1_000
/** PostgreSQL's index entries end at about 2,700 bytes; the limit leaves room for a prefix on the server. */
const MAX_KEY_BYTES = 1_000

/**
 * Makes a strict `Store` of Keyv and an adapter. Keyv by itself turns failures into "nothing there" (`undefined`) and
 * `false` as soon as somebody listens for its errors, and ends the process when nobody does. Here every call collects the
 * errors that Keyv emits while it runs, and rejects with `StoreError` if there was one, if the answer was `false`, or if it
 * took longer than `timeoutMs`. After a time-out a write may still take effect: the caller must not assume either way.
 */
export function createKeyvStore(
  adapter: StoreAdapter,
  { log, timeoutMs = DEFAULT_TIMEOUT_MS }: KeyvStoreOptions,
): Store {
  // Expiry is the adapter's: Keyv's own check reads and then deletes, which can hit a value that was written in between.
  const keyv = new Keyv({ store: adapter, serialization: JSON, checkExpired: false })
  const errorsOfCall = new AsyncLocalStorage<unknown[]>()
  keyv.on('error', (error: unknown) => {
    const errors = errorsOfCall.getStore()
    if (errors) errors.push(error)
    else log.warn({ error }, 'the store reported an error outside of any call')
  })

  const strict = async <T>(operation: string, run: () => Promise<T>): Promise<T> => {
    const errors: unknown[] = []
    try {
      const answer = await withTimeout(errorsOfCall.run(errors, run), timeoutMs)
      if (errors.length > 0) throw errors[0]
      return answer
    } catch (error) {
      // What Keyv emitted is the cause; that it then answered `false` or nothing says less.
      throw new StoreError(operation, errors[0] ?? error)
    }
  }

  const expiry = (ttlMs: number | undefined): number | undefined => {
    if (ttlMs === undefined) return undefined
    // Keyv takes 0 and less for "never expires", the opposite of what such a caller means.
    if (!Number.isFinite(ttlMs) || ttlMs <= 0) throw new RangeError(`ttlMs must be a positive number, not ${ttlMs}`)
    return Date.now() + ttlMs
  }

  return {
    get: (key) => strict(`get ${key}`, () => keyv.get(checked(key))),

    getMany: (keys) =>
      strict(`getMany of ${keys.length} keys`, async () =>
        keys.length === 0 ? [] : await keyv.getMany(keys.map(checked)),
      ),

    set: (key, value, ttlMs) =>
      strict(`set ${key}`, async () => {
        expiry(ttlMs)
        if (!(await keyv.set(checked(key), storable(value), ttlMs))) throw new Error('it answered false')
      }),

    putIfAbsent: (key, value, ttlMs) =>
      strict(`putIfAbsent ${key}`, async () => {
        const expires = expiry(ttlMs)
        const text = String(await keyv.encode({ value: storable(value), expires }))
        return adapter.putIfAbsent(checked(key), text, expires)
      }),

    delete: (key) =>
      strict(`delete ${key}`, async () => {
        if (!(await keyv.delete(checked(key)))) throw new Error('it answered false')
      }),

    list: (prefix, { after, limit = DEFAULT_LIST_LIMIT } = {}) =>
      strict(`list ${prefix}`, async () => (limit < 1 ? [] : adapter.list(keyRange(prefix, after), limit))),

    close: () => strict('close', () => keyv.disconnect()),
  }
}

/** A key that every database can hold and order alike. */
function checked(key: string): string {
  if (key === '') throw new RangeError('a key must not be empty')
  if (!key.isWellFormed() || key.includes('\0')) throw new RangeError('a key must be well-formed text without NUL')
  if (Buffer.byteLength(key) > MAX_KEY_BYTES) throw new RangeError(`a key must have at most ${MAX_KEY_BYTES} bytes`)
  return key
}

/** JSON has no `undefined`: written, it would read as "nothing there". */
function storable<T>(value: T): T {
  if (value === undefined || typeof value === 'function' || typeof value === 'symbol') {
    throw new TypeError(`a value must be JSON, not ${typeof value}`)
  }
  return value
}
