import { SetupError } from '../shared/errors.ts'
import { type Log, silentLog } from '../shared/log.ts'
import type { StoreAdapter } from './adapters/adapter.ts'
import { memoryAdapter } from './adapters/memory.ts'
import type { ServerStoreOptions } from './adapters/postgres.ts'
import { sqliteAdapter, sqliteReader } from './adapters/sqlite.ts'
import { createKeyvStore } from './keyvStore.ts'
import type { Store } from './store.ts'

export interface OpenStoreOptions {
  /** Takes what happens outside of calls, such as a dropped idle connection. Default: nothing is logged. */
  log?: Log
  /** How long one call may take before it counts as failed. Default 5,000 ms. */
  timeoutMs?: number
  /** On a server: what the table and keys are named after, so that several bots can share it. Default `toycoder`. */
  namespace?: string
  /** For a look only, also beside the process that has the store. Writes may be refused. Default false. */
  readOnly?: boolean
}

/**
 * Opens the store that `STORE_URL` names: `sqlite:PATH` (relative to the working folder), `memory:`, `postgres://…` (or
 * `postgresql://…`), `redis://…` (or `rediss://…` with TLS; Valkey is addressed alike).
 * Rejects with `SetupError` when the address is none of these, or what it names can't be used.
 */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<Store> {
  const { log = silentLog, timeoutMs = 5_000 } = options
  return createKeyvStore(await openRawStore(url, options), { log, timeoutMs })
}

/** The same as texts, exactly as they are stored: for moving all of it. */
export async function openRawStore(url: string, options: OpenStoreOptions = {}): Promise<StoreAdapter> {
  const { log = silentLog, timeoutMs = 5_000, namespace = 'toycoder' } = options
  if (!/^[a-z][a-z0-9_]{0,30}$/.test(namespace)) throw new RangeError(`"${namespace}" can't name a table`)
  return openAdapter(url, options.readOnly ?? false, { log, timeoutMs, namespace })
}

/** The clients of servers are loaded only where one is used: they take a good part of the time of a start. */
async function openAdapter(url: string, readOnly: boolean, options: ServerStoreOptions): Promise<StoreAdapter> {
  const scheme = url.slice(0, url.indexOf(':') + 1)
  const rest = url.slice(scheme.length)
  switch (scheme) {
    case 'memory:':
      if (rest === '') return memoryAdapter()
      break
    case 'sqlite:': {
      const path = rest.replace(/^\/\/(?=\/)/, '')
      if (path !== '' && !path.startsWith(':')) return readOnly ? sqliteReader(path) : sqliteAdapter(path)
      break
    }
    case 'postgres:':
    case 'postgresql:':
      if (URL.canParse(url)) return (await import('./adapters/postgres.ts')).postgresAdapter(url, options)
      break
    case 'redis:':
    case 'rediss:':
      if (URL.canParse(url)) return (await import('./adapters/redis.ts')).redisAdapter(url, options)
      break
  }
  throw new SetupError([
    {
      problem: `STORE_URL is "${withoutPassword(url)}", which is not an address of a store.`,
      mend: 'Use sqlite:PATH, memory:, postgres://… or redis://….',
    },
  ])
}

/** Passwords of addresses must not end up on a screen or in a log. */
function withoutPassword(url: string): string {
  return url.replace(/\/\/.*@/, '//…@')
}
