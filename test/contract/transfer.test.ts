import { randomBytes } from 'node:crypto'
import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import type { StoreAdapter } from '../../src/session/adapters/adapter.ts'
import { memoryAdapter } from '../../src/session/adapters/memory.ts'
import { createKeyvStore } from '../../src/session/keyvStore.ts'
import { openRawStore } from '../../src/session/openStore.ts'
import { exportEntries, importUnderWay } from '../../src/session/transfer.ts'
import { silentLog } from '../../src/shared/log.ts'
import { exportStore, importStore } from '../../src/transferCommands.ts'
import { missing, POSTGRES_URL, REDIS_URL } from './servers.ts'

const folder = await mkdtemp(join(tmpdir(), 'toycoder-transfer-'))
const namespace = `test_${randomBytes(6).toString('hex')}`
const skipPostgres = await missing(POSTGRES_URL)
const skipRedis = await missing(REDIS_URL)
let files = 0
const newFile = () => join(folder, `${++files}.jsonl`)

afterAll(async () => {
  await rm(folder, { recursive: true })
  if (!skipPostgres) {
    const client = new Client({ connectionString: POSTGRES_URL })
    await client.connect()
    await client.query(`DROP TABLE IF EXISTS ${namespace}_entry`)
    await client.end()
  }
  if (!skipRedis) {
    const client = new Redis(REDIS_URL)
    for await (const keys of client.scanStream({ match: `${namespace}:*`, count: 1_000 })) {
      if (keys.length > 0) await client.del(...keys)
    }
    await client.quit()
  }
})

/** An adapter that stays open when it is closed, so that a test can look into it. */
const kept = (adapter: StoreAdapter): StoreAdapter => ({ ...adapter, async disconnect() {} })

const quiet = { progress: () => ({ at() {}, end() {} }) }

async function contentOf(adapter: StoreAdapter): Promise<[string, string][]> {
  const all: [string, string][] = []
  for await (const { key, text } of exportEntries(adapter)) all.push([key, text])
  return all
}

/** What threads hold: many keys of many kinds, long values, values that expire, all of Unicode. */
async function filled(adapter: StoreAdapter, entries = 2_300): Promise<void> {
  const store = createKeyvStore(adapter, { log: silentLog })
  for (let at = 0; at < entries; at++) {
    await store.set(`thread/${at % 7}/record/${String(at).padStart(6, '0')}`, {
      at,
      text: `\u2028 line\n漢字 😀 ${at}`,
    })
  }
  await store.set('result/long', 'x'.repeat(300_000))
  await store.set('event/1', { thread: 'a', slot: 1 }, 3_600_000)
  for (const key of ['\u{10ffff}', '\uffff', '\ud7ff', 'é', '~', ' ']) await store.set(key, null)
}

describe('everything in a store can be moved', () => {
  const targets: [string, string | undefined, () => Promise<StoreAdapter>][] = [
    ['PostgreSQL', skipPostgres, () => openRawStore(POSTGRES_URL, { namespace })],
    ['Redis', skipRedis, () => openRawStore(REDIS_URL, { namespace })],
    ['SQLite', undefined, () => openRawStore(`sqlite:${join(folder, 'target.sqlite')}`)],
  ]
  for (const [name, skip, open] of targets) {
    it.skipIf(skip !== undefined)(
      `to ${name} and back, to the same entries with the same times of expiry`,
      async () => {
        const source = kept(memoryAdapter())
        await filled(source)
        const [there, back] = [newFile(), newFile()]
        const count = await exportStore(there, { adapter: source, ...quiet })
        const counts = await importStore(there, { adapter: await open(), ...quiet })
        expect(counts).toEqual({ read: count, expired: 0, found: count })

        await exportStore(back, { adapter: await open(), ...quiet })
        const target = kept(memoryAdapter())
        await importStore(back, { adapter: target, ...quiet })
        expect(await contentOf(target)).toEqual(await contentOf(source))
      },
    )
  }

  it('to a file that only its owner may read', async () => {
    const path = newFile()
    await exportStore(path, { adapter: memoryAdapter(), ...quiet })
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })
})

describe('a move that was cut off goes on', () => {
  it('an export, wherever its file ends', async () => {
    const source = kept(memoryAdapter())
    await filled(source, 40)
    const path = newFile()
    await exportStore(path, { adapter: source, ...quiet })
    const whole = await readFile(path)
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: whole.length - 1 }), async (length) => {
        await writeFile(path, whole.subarray(0, length))
        await exportStore(path, { adapter: source, ...quiet })
        const again = await readFile(path, 'utf8')
        // Where not even the first line was whole, the export is a new one.
        expect(again.slice(again.indexOf('\n'))).toBe(whole.toString().slice(whole.toString().indexOf('\n')))
      }),
      { numRuns: 60 },
    )
  })

  it('an import, whichever write was the last one', async () => {
    const source = kept(memoryAdapter())
    await filled(source, 150)
    const path = newFile()
    await exportStore(path, { adapter: source, ...quiet })
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 170 }), async (writes) => {
        const target = kept(memoryAdapter())
        let left = writes
        const dying: StoreAdapter = {
          ...target,
          async set(...entry) {
            if (left-- <= 0) throw new Error('the process died')
            return target.set(...entry)
          },
        }
        const first = await importStore(path, { adapter: dying, ...quiet }).catch((error: Error) => error.message)
        if (first === 'the process died') await importStore(path, { adapter: target, ...quiet })
        expect(await contentOf(target)).toEqual(await contentOf(source))
        expect(await importUnderWay(target)).toBeUndefined()
      }),
      { numRuns: 60 },
    )
  })

  it('without what has expired meanwhile, which is counted', async () => {
    const path = newFile()
    const past = { key: 'event/old', text: JSON.stringify({ value: 1, expires: Date.now() - 1 }) }
    const header = { toycoder: 'export', version: 1, id: 'x', madeAt: '' }
    const lines = [header, past, { key: 'head', text: '{"value":2}' }, { end: true, entries: 2 }]
    await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    const counts = await importStore(path, { adapter: memoryAdapter(), ...quiet })
    expect(counts).toEqual({ read: 2, expired: 1, found: 1 })
  })
})

describe('a move that would lose or mix up something is refused', () => {
  const refusal = (move: Promise<unknown>) =>
    move.then(
      () => 'it was taken',
      (error: { problems?: { problem: string }[]; message: string }) => error.problems?.[0]?.problem ?? error.message,
    )

  async function wholeExport(): Promise<string> {
    const adapter = memoryAdapter()
    await filled(adapter, 100)
    const path = newFile()
    await exportStore(path, { adapter, ...quiet })
    return path
  }

  it('into a store that holds something', async () => {
    const adapter = memoryAdapter()
    await adapter.set('thread/x', '{"value":1}')
    expect(await refusal(importStore(await wholeExport(), { adapter, ...quiet }))).toContain('not empty (1 entries)')
  })

  it('of an export that was not finished', async () => {
    const path = await wholeExport()
    await writeFile(path, (await readFile(path, 'utf8')).split('\n').slice(0, 20).join('\n'))
    expect(await refusal(importStore(path, { adapter: memoryAdapter(), ...quiet }))).toContain('was not finished')
  })

  it('of a file with lines missing in the middle', async () => {
    const path = await wholeExport()
    const lines = (await readFile(path, 'utf8')).split('\n')
    await writeFile(path, lines.toSpliced(5, 1).join('\n'))
    expect(await refusal(importStore(path, { adapter: memoryAdapter(), ...quiet }))).toContain('is damaged')
  })

  it('of something else than an export, or onto it', async () => {
    const path = newFile()
    await writeFile(path, '# notes\n')
    expect(await refusal(importStore(path, { adapter: memoryAdapter(), ...quiet }))).toContain('something else')
    expect(await refusal(exportStore(path, { adapter: memoryAdapter(), ...quiet }))).toContain('something else')
    expect(await readFile(path, 'utf8')).toBe('# notes\n')
  })

  it('onto a whole export', async () => {
    const path = await wholeExport()
    expect(await refusal(exportStore(path, { adapter: memoryAdapter(), ...quiet }))).toContain('a whole export already')
  })

  it('of another file than the one that an import was begun with', async () => {
    const target = kept(memoryAdapter())
    const dying = { ...target, set: async () => Promise.reject(new Error('the process died')) }
    const path = await wholeExport()
    await target.set('import', JSON.stringify({ value: { id: 'another', read: 3, expired: 0 } }))
    await refusal(importStore(path, { adapter: dying, ...quiet }))
    expect(await refusal(importStore(path, { adapter: target, ...quiet }))).toContain('was not finished')
    expect(await refusal(exportStore(newFile(), { adapter: target, ...quiet }))).toContain('was not finished')
  })

  it('where the store loses what it was given', async () => {
    const target = memoryAdapter()
    const forgetful: StoreAdapter = {
      ...target,
      set: async (key, text, expires) => (key === 'result/long' ? true : target.set(key, text, expires)),
    }
    expect(await refusal(importStore(await wholeExport(), { adapter: forgetful, ...quiet }))).toContain(
      'the counts differ',
    )
  })

  it('of a file that grew behind its end', async () => {
    const path = await wholeExport()
    await appendFile(path, '{"key":"more","text":"{}"}\n')
    expect(await refusal(importStore(path, { adapter: memoryAdapter(), ...quiet }))).toMatch(/damaged|not finished/)
  })
})
