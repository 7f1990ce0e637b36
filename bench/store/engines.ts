import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/session/openStore.ts'
import type { Store } from '../../src/session/store.ts'

export interface EngineUnderTest {
  name: string
  store: Store
  /** Takes away everything that was written. */
  remove(): Promise<void>
}

/** Keys of their own on a server that others may use. */
const NAMESPACE = `bench${process.pid}`
const PAGE = 1_000

/**
 * The engines that are here: SQLite in a fresh file, and the servers at `TEST_POSTGRES_URL` and `TEST_REDIS_URL` (defaults:
 * the test servers of this machine) if they answer. `onMissing` is told of one that does not.
 */
export async function* engines(onMissing: (name: string) => void): AsyncGenerator<EngineUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'toycoder-bench-'))
  const sqlite = await openStore(`sqlite:${join(folder, 'store.sqlite')}`)
  yield {
    name: 'SQLite',
    store: sqlite,
    async remove() {
      await sqlite.close()
      rmSync(folder, { recursive: true })
    },
  }
  const servers = [
    { name: 'PostgreSQL', url: process.env.TEST_POSTGRES_URL ?? 'postgres://postgres@127.0.0.1:5432/test' },
    { name: 'Redis', url: process.env.TEST_REDIS_URL ?? 'redis://127.0.0.1:6379' },
  ]
  for (const { name, url } of servers) {
    if (!(await answers(url))) {
      onMissing(name)
      continue
    }
    const store = await openStore(url, { namespace: NAMESPACE })
    yield { name, store, remove: () => removeAll(store) }
  }
}

/** An empty table stays on PostgreSQL. */
async function removeAll(store: Store): Promise<void> {
  for (;;) {
    const keys = await store.list('', { limit: PAGE })
    if (keys.length === 0) return store.close()
    await Promise.all(keys.map((key) => store.delete(key)))
  }
}

function answers(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) })
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
