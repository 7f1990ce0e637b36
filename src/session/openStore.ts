import { SetupError } from '../shared/errors.ts'
import { type Log, silentLog } from '../shared/log.ts'
import type { StoreAdapter } from './adapters/adapter.ts'
import { memoryAdapter } from './adapters/memory.ts'
import { sqliteAdapter } from './adapters/sqlite.ts'
import { createKeyvStore } from './keyvStore.ts'
import type { Store } from './store.ts'

export interface OpenStoreOptions {
  /** Takes what happens outside of calls, such as a dropped idle connection. Default: nothing is logged. */
  log?: Log
  /** How long one call may take before it counts as failed. Default 5,000 ms. */
  timeoutMs?: number
}

/**
 * Opens the store that `STORE_URL` names: `sqlite:PATH` (relative to the working folder), `memory:`, `postgres://…`, `redis://…`.
 * Rejects with `SetupError` when the address is none of these, or what it names can't be used.
 */
export async function openStore(url: string, { log = silentLog, ...options }: OpenStoreOptions = {}): Promise<Store> {
  return createKeyvStore(openAdapter(url), { log, ...options })
}

function openAdapter(url: string): StoreAdapter {
  const scheme = url.slice(0, url.indexOf(':') + 1)
  const rest = url.slice(scheme.length)
  if (scheme === 'memory:' && rest === '') return memoryAdapter()
  if (scheme === 'sqlite:') {
    const path = rest.replace(/^\/\/(?=\/)/, '')
    if (path !== '' && !path.startsWith(':')) return sqliteAdapter(path)
  }
  throw new SetupError([
    {
      problem: `STORE_URL is "${withoutPassword(url)}", which is not an address of a store.`,
      mend: 'Use sqlite:PATH, memory:, postgres://… or redis://….',
    },
  ])
}

function withoutPassword(url: string): string {
  return url.replace(/\/\/[^@/]*@/, '//…@')
}
