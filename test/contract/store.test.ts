import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { openStore } from '../../src/session/openStore.ts'
import { missing, POSTGRES_URL, REDIS_URL } from './servers.ts'
import { storeContract } from './storeContract.ts'

storeContract({ name: 'memory', open: () => openStore('memory:'), shared: false, durable: false, async clean() {} })

const folder = mkdtempSync(join(tmpdir(), 'toycoder-store-'))
storeContract({
  name: 'SQLite',
  open: () => openStore(`sqlite:${join(folder, 'made', 'store.sqlite')}`),
  shared: false,
  durable: true,
  async clean() {
    rmSync(folder, { recursive: true })
  },
})

const namespace = `test_${randomBytes(6).toString('hex')}`

storeContract({
  name: 'PostgreSQL',
  open: () => openStore(POSTGRES_URL, { namespace }),
  shared: true,
  durable: true,
  skip: await missing(POSTGRES_URL),
  async clean() {
    const client = new Client({ connectionString: POSTGRES_URL })
    await client.connect()
    await client.query(`DROP TABLE ${namespace}_entry`)
    await client.end()
  },
})

storeContract({
  name: 'Redis',
  open: () => openStore(REDIS_URL, { namespace }),
  shared: true,
  durable: true,
  skip: await missing(REDIS_URL),
  async clean() {
    const client = new Redis(REDIS_URL)
    for await (const keys of client.scanStream({ match: `${namespace}:*`, count: 1_000 })) {
      if (keys.length > 0) await client.del(...keys)
    }
    await client.quit()
  },
})
