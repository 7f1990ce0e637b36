import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { memoryAdapter } from '../../src/session/adapters/memory.ts'
import { createKeyvStore } from '../../src/session/keyvStore.ts'
import { openStore } from '../../src/session/openStore.ts'
import type { Store } from '../../src/session/store.ts'
import { SetupError, StoreError } from '../../src/shared/errors.ts'
import { silentLog } from '../../src/shared/log.ts'
import { type Line, lineTo, missing, POSTGRES_URL, REDIS_URL } from './servers.ts'

const namespace = `test_${randomBytes(6).toString('hex')}`
const folder = mkdtempSync(join(tmpdir(), 'toycoder-store-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Every call of a store, as it would be made in good times. */
const CALLS: [string, (store: Store) => Promise<unknown>][] = [
  ['get', (store) => store.get('a')],
  ['getMany', (store) => store.getMany(['a', 'b'])],
  ['set', (store) => store.set('b', 1)],
  ['putIfAbsent', (store) => store.putIfAbsent('c', 1)],
  ['delete', (store) => store.delete('b')],
  ['list', (store) => store.list('')],
]

async function setupProblem(url: string, options = {}): Promise<SetupError> {
  const error = await openStore(url, options).then(
    () => undefined,
    (problem: unknown) => problem,
  )
  expect(error).toBeInstanceOf(SetupError)
  const [problem] = (error as SetupError).problems
  expect(problem!.problem).toContain('STORE_URL')
  expect(problem!.mend).not.toBe('')
  return error as SetupError
}

describe('the strict wrapper', () => {
  const broken = { ...memoryAdapter() }

  it.each(CALLS)('makes a rejecting adapter a StoreError that names the call: %s', async (name, call) => {
    const fail = () => Promise.reject(new Error('the disk is on fire'))
    const store = createKeyvStore(
      { ...broken, get: fail, getMany: fail, set: fail, putIfAbsent: fail, delete: fail, list: fail },
      { log: silentLog },
    )
    const error = await call(store).catch((problem: unknown) => problem)
    expect(error).toBeInstanceOf(StoreError)
    expect((error as Error).message).toMatch(new RegExp(`^the store failed at ${name} .*the disk is on fire`))
  })

  it.each(CALLS)('makes an adapter that never answers a StoreError in time: %s', async (_, call) => {
    const hang = () => new Promise<never>(() => {})
    const store = createKeyvStore(
      { ...broken, get: hang, getMany: hang, set: hang, putIfAbsent: hang, delete: hang, list: hang },
      { log: silentLog, timeoutMs: 30 },
    )
    await expect(call(store)).rejects.toThrow(/no answer within 30 ms/)
  })

  it('never takes false for success', async () => {
    const no = (async () => false) as never
    const store = createKeyvStore({ ...broken, set: no, delete: no }, { log: silentLog })
    await expect(store.set('a', 1)).rejects.toThrow(StoreError)
    await expect(store.delete('a')).rejects.toThrow(StoreError)
  })

  it('never takes a value that can not be read for nothing', async () => {
    const store = createKeyvStore(
      { ...broken, get: async () => '{"value":', getMany: async (keys) => keys.map(() => '{"value":') },
      { log: silentLog },
    )
    await expect(store.get('a')).rejects.toThrow(StoreError)
    await expect(store.getMany(['a', 'b'])).rejects.toThrow(StoreError)
  })

  it('gives an error to the call it belongs to, not to others under way at the same time', async () => {
    const store = createKeyvStore(
      {
        ...broken,
        async get(key) {
          await new Promise((resolve) => setImmediate(resolve))
          if (key.startsWith('bad')) throw new Error(key)
          return JSON.stringify({ value: key })
        },
      },
      { log: silentLog },
    )
    const keys = Array.from({ length: 50 }, (_, i) => `${i % 2 ? 'bad' : 'good'}-${i}`)
    const outcomes = await Promise.allSettled(keys.map((key) => store.get(key)))
    for (const [i, outcome] of outcomes.entries()) {
      if (i % 2)
        expect(outcome).toMatchObject({ status: 'rejected', reason: { message: expect.stringContaining(keys[i]!) } })
      else expect(outcome).toEqual({ status: 'fulfilled', value: keys[i] })
    }
  })
})

describe('addresses of stores', () => {
  it.each([
    '',
    'sqlite:',
    'sqlite::memory:',
    'memory:x',
    'mysql://a',
    'data/store',
    'redis://a:b:c',
    'postgres://[',
    'memory',
  ])('refuses "%s" with the mend', async (url) => {
    await setupProblem(url)
  })

  it('does not repeat a password', async () => {
    expect((await setupProblem('mysql://me:sec@ret@host/db')).message).not.toMatch(/sec|ret@/)
  })
})

describe('a SQLite file', () => {
  it('is refused to a second bot, in this process or another, and free as soon as the first is killed', async () => {
    const path = join(folder, 'held.sqlite')
    const first = await openStore(`sqlite:${path}`)
    expect((await setupProblem(`sqlite:${path}`)).message).toMatch(/another running ToyCoder/)
    await first.close()

    const holder = spawn(process.execPath, [
      '--input-type=module-typescript',
      '-e',
      `import { openStore } from ${JSON.stringify(join(import.meta.dirname, '../../src/session/openStore.ts'))}
       await openStore(${JSON.stringify(`sqlite:${path}`)})
       console.log('open')
       setInterval(() => {}, 1000)`,
    ])
    await new Promise((resolve) => holder.stdout.once('data', resolve))
    expect((await setupProblem(`sqlite:${path}`)).message).toContain(path)
    const ended = new Promise((resolve) => holder.once('exit', resolve))
    holder.kill('SIGKILL')
    await ended
    const next = await openStore(`sqlite:${path}`)
    await next.set('a', 1)
    await next.close()
  })

  it('that is locked by another program fails calls with StoreError, keeps the process awake, and works again after', async () => {
    const path = join(folder, 'locked.sqlite')
    const store = await openStore(`sqlite:${path}`, { timeoutMs: 200 })
    await store.set('a', 1)
    // Another process: SQLite's locks are the process's, not the connection's, for two libraries in one.
    const locker = spawn(process.execPath, [
      '-e',
      `const db = new (require('node:sqlite').DatabaseSync)(${JSON.stringify(path)})
       db.exec('BEGIN IMMEDIATE'); console.log('locked'); setInterval(() => {}, 1000)`,
    ])
    await new Promise((resolve) => locker.stdout.once('data', resolve))
    let beats = 0
    const heart = setInterval(() => beats++, 10)
    await expect(store.set('a', 2)).rejects.toThrow(StoreError)
    await expect(store.putIfAbsent('b', 2)).rejects.toThrow(StoreError)
    clearInterval(heart)
    expect(beats).toBeGreaterThan(10)
    expect(await store.get('a')).toBe(1)
    const ended = new Promise((resolve) => locker.once('exit', resolve))
    locker.kill('SIGKILL')
    await ended
    await vi.waitFor(() => store.set('a', 3))
    expect(await store.get('a')).toBe(3)
    await store.close()
  })

  it('waits for a short lock instead of failing', async () => {
    const path = join(folder, 'busy.sqlite')
    const store = await openStore(`sqlite:${path}`)
    const other = new DatabaseSync(path)
    other.exec('BEGIN IMMEDIATE')
    setTimeout(() => other.exec('COMMIT'), 100)
    await store.set('a', 1)
    expect(await store.get('a')).toBe(1)
    other.close()
    await store.close()
  })

  it('in a place where nothing can be made is a problem with a mend', async () => {
    writeFileSync(join(folder, 'file'), '')
    await setupProblem(`sqlite:${join(folder, 'file', 'store.sqlite')}`)
    await setupProblem('sqlite:/proc/nowhere/store.sqlite')
    mkdirSync(join(folder, 'directory.sqlite'))
    await setupProblem(`sqlite:${join(folder, 'directory.sqlite')}`)
  })

  it('that is none, or of a newer version, is left as it is', async () => {
    const path = join(folder, 'text.sqlite')
    writeFileSync(path, 'these are my notes, not a database'.repeat(100))
    await setupProblem(`sqlite:${path}`)
    const newer = join(folder, 'newer.sqlite')
    const db = new DatabaseSync(newer)
    db.exec('PRAGMA user_version = 99')
    db.close()
    expect((await setupProblem(`sqlite:${newer}`)).message).toMatch(/newer version/)
    expect((await setupProblem(`sqlite:${newer}`)).message).toMatch(/newer version/)
  })

  it('is written so that a power cut loses nothing: WAL, FULL', async () => {
    const path = join(folder, 'wal.sqlite')
    const store = await openStore(`sqlite:${path}`)
    await store.set('a', 1)
    const { stdout } = await promisify(execFile)(process.execPath, [
      '-e',
      `const db = new (require('node:sqlite').DatabaseSync)(${JSON.stringify(path)}, { readOnly: true })
       console.log(db.prepare('PRAGMA journal_mode').get().journal_mode, db.prepare('SELECT count(*) AS n FROM entry').get().n)`,
    ])
    expect(stdout.trim()).toBe('wal 1')
    await store.close()
  })
})

for (const server of [
  { name: 'PostgreSQL', url: POSTGRES_URL, skip: await missing(POSTGRES_URL), clean: cleanPostgres },
  { name: 'Redis', url: REDIS_URL, skip: await missing(REDIS_URL), clean: cleanRedis },
]) {
  const title = server.skip ? `${server.name} (skipped: ${server.skip})` : server.name
  describe.skipIf(server.skip !== undefined)(`a ${title} server`, () => {
    let line: Line
    let store: Store

    beforeEach(async () => {
      line = await lineTo(server.url)
      store = await openStore(line.url, { namespace, timeoutMs: 1_000 })
      await store.set('a', 'kept')
    })
    afterEach(async () => {
      await store.close()
      await line.close()
    })
    afterAll(server.clean)

    const comesBack = () =>
      vi.waitFor(async () => expect(await store.get('a')).toBe('kept'), { timeout: 5_000, interval: 50 })

    it('that has ended fails every call with StoreError, and is used again when it is back', async () => {
      await line.cut()
      for (const [, call] of CALLS) await expect(call(store)).rejects.toThrow(StoreError)
      await line.mend()
      await comesBack()
      for (const [, call] of CALLS) await call(store)
    })

    it('that drops idle connections does not end the process, and is used again at once or by the next call', async () => {
      await Promise.all(CALLS.map(([, call]) => call(store)))
      line.drop()
      await comesBack()
    })

    it('that freezes fails calls in time instead of holding them for ever', async () => {
      line.freeze()
      const startedAt = performance.now()
      await Promise.all(CALLS.map(([, call]) => expect(call(store)).rejects.toThrow(StoreError)))
      expect(performance.now() - startedAt).toBeLessThan(5_000)
      await line.mend()
      await comesBack()
    })

    it('drops a call that was under way without doing it again: one append, one record', async () => {
      const racing = Array.from({ length: 30 }, (_, i) => store.putIfAbsent(`race/${i}`, 'mine'))
      line.drop()
      const outcomes = await Promise.allSettled(racing)
      await comesBack()
      for (const [i, outcome] of outcomes.entries()) {
        // Whoever was told "somebody was there first" was told so by somebody else's value.
        expect(outcome).not.toEqual({ status: 'fulfilled', value: false })
        if (outcome.status === 'fulfilled') expect(await store.get(`race/${i}`)).toBe('mine')
        await store.delete(`race/${i}`)
      }
    })

    it('that does not answer at the start is a problem with a mend', async () => {
      const closed = await lineTo(server.url)
      await closed.close()
      await setupProblem(closed.url, { namespace, timeoutMs: 1_000 })
      const frozen = await lineTo(server.url)
      frozen.freeze()
      await setupProblem(frozen.url, { namespace, timeoutMs: 300 })
      await frozen.close()
    })
  })
}

describe.skipIf((await missing(POSTGRES_URL)) !== undefined)('PostgreSQL', () => {
  it('lets several instances start at once on an empty database', async () => {
    const name = `${namespace}_race`
    const stores = await Promise.all(Array.from({ length: 6 }, () => openStore(POSTGRES_URL, { namespace: name })))
    await Promise.all(stores.map((store) => store.close()))
    await dropTable(name)
  })

  it('that refuses the user is a problem that does not show the password', async () => {
    const url = new URL(POSTGRES_URL)
    url.pathname = '/no_such_database'
    url.password = 'geheim'
    expect((await setupProblem(url.href)).message).not.toContain('geheim')
  })
})

describe.skipIf((await missing(REDIS_URL)) !== undefined)('Redis', () => {
  it('keeps no names of values that expired long ago, although nobody lists them', async () => {
    const own = `${namespace}_expiring`
    const store = await openStore(REDIS_URL, { namespace: own })
    const client = new Redis(REDIS_URL)
    for (let i = 0; i < 30; i++) await store.set(`short/${i}`, 1, 20)
    await vi.waitFor(
      async () => {
        await store.set('touch', 1, 60_000)
        expect(await client.zcard(`${own}:keys`)).toBe(1)
      },
      { timeout: 5_000, interval: 50 },
    )
    await store.delete('touch')
    expect(await client.keys(`${own}:*`)).toEqual([])
    await client.quit()
    await store.close()
  })
})

async function dropTable(name: string): Promise<void> {
  const client = new Client({ connectionString: POSTGRES_URL })
  await client.connect()
  await client.query(`DROP TABLE IF EXISTS ${name}_entry`)
  await client.end()
}

async function cleanPostgres(): Promise<void> {
  await dropTable(namespace)
}

async function cleanRedis(): Promise<void> {
  const client = new Redis(REDIS_URL)
  const keys = await client.keys(`${namespace}*`)
  if (keys.length > 0) await client.del(...keys)
  await client.quit()
}
