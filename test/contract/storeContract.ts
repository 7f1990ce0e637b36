import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Store } from '../../src/session/store.ts'
import { StoreError } from '../../src/shared/errors.ts'

export interface StoreUnderTest {
  name: string
  /** Opens the same store again and again: what one wrote, the next one reads. */
  open(): Promise<Store>
  /** False where two stores can't be open at once. */
  shared: boolean
  /** False where everything is gone with the store that held it. */
  durable: boolean
  /** Removes everything this run has made. */
  clean(): Promise<void>
  skip?: string | undefined
}

/** What every store promises, whatever database is behind it. */
export function storeContract(subject: StoreUnderTest): void {
  const title = subject.skip ? `${subject.name} (skipped: ${subject.skip})` : subject.name
  describe.skipIf(subject.skip !== undefined)(`store contract: ${title}`, () => {
    let store: Store
    let run = 0
    /** A part of the keys that no other test uses. */
    let own = 'test-0/'

    beforeAll(async () => {
      store = await subject.open()
    })
    afterEach(() => {
      own = `test-${++run}/`
    })
    afterAll(async () => {
      await store?.close()
      await subject.clean()
    })

    const reopen = async () => {
      await store.close()
      store = await subject.open()
    }

    it('answers what was set, and undefined for what was not', async () => {
      await store.set(`${own}a`, { deep: [1, 'two', null, { three: true }] })
      expect(await store.get(`${own}a`)).toEqual({ deep: [1, 'two', null, { three: true }] })
      expect(await store.get(`${own}b`)).toBeUndefined()
    })

    it('tells null, false, 0 and the empty text from nothing', async () => {
      for (const value of [null, false, 0, '']) {
        await store.set(`${own}a`, value)
        expect(await store.get(`${own}a`)).toBe(value)
        expect(await store.putIfAbsent(`${own}a`, 1)).toBe(false)
      }
    })

    it('hands out copies: changing one changes nothing in the store', async () => {
      const value = { list: [1] }
      await store.set(`${own}a`, value)
      value.list.push(2)
      const read = await store.get<typeof value>(`${own}a`)
      read!.list.push(3)
      expect(await store.get(`${own}a`)).toEqual({ list: [1] })
    })

    it('replaces and deletes, and deleting what is not there is fine', async () => {
      await store.set(`${own}a`, 1)
      await store.set(`${own}a`, 2)
      expect(await store.get(`${own}a`)).toBe(2)
      await store.delete(`${own}a`)
      await store.delete(`${own}a`)
      expect(await store.get(`${own}a`)).toBeUndefined()
      expect(await store.putIfAbsent(`${own}a`, 3)).toBe(true)
    })

    it('answers many values in the order asked for, with holes, repeats and none', async () => {
      await store.set(`${own}a`, 'A')
      await store.set(`${own}b`, 'B')
      expect(await store.getMany([`${own}b`, `${own}x`, `${own}a`, `${own}b`])).toEqual(['B', undefined, 'A', 'B'])
      expect(await store.getMany([])).toEqual([])
    })

    it('reads 2,500 values at once', async () => {
      const keys = Array.from({ length: 2_500 }, (_, i) => `${own}${String(i).padStart(5, '0')}`)
      await Promise.all(keys.filter((_, i) => i % 100 === 0).map((key) => store.set(key, key)))
      const values = await store.getMany<string>(keys)
      expect(values.filter((value) => value !== undefined)).toHaveLength(25)
      expect(values[2_400]).toBe(keys[2_400])
    })

    it('lets exactly one of many concurrent putIfAbsent win, and keeps the value of that one', async () => {
      for (let round = 0; round < 10; round++) {
        const key = `${own}${round}`
        const won = await Promise.all(Array.from({ length: 20 }, (_, i) => store.putIfAbsent(key, i)))
        expect(won.filter(Boolean)).toHaveLength(1)
        expect(await store.get(key)).toBe(won.indexOf(true))
      }
    })

    it.skipIf(!subject.shared)('lets exactly one win across two open stores as well', async () => {
      const other = await subject.open()
      try {
        for (let round = 0; round < 20; round++) {
          const [here, there] = await Promise.all([
            store.putIfAbsent(`${own}${round}`, 'here'),
            other.putIfAbsent(`${own}${round}`, 'there'),
          ])
          expect([here, there].filter(Boolean)).toHaveLength(1)
          expect(await other.get(`${own}${round}`)).toBe(here ? 'here' : 'there')
        }
      } finally {
        await other.close()
      }
    })

    it('forgets a value when its time is over, for get, getMany, list and putIfAbsent alike', async () => {
      // Long enough that a busy machine gets to the first look before it is over.
      await store.set(`${own}short`, 1, 1_000)
      await store.set(`${own}long`, 1, 60_000)
      await store.set(`${own}always`, 1)
      expect(await store.list(own)).toEqual([`${own}always`, `${own}long`, `${own}short`])
      await vi.waitFor(async () => expect(await store.get(`${own}short`)).toBeUndefined(), { timeout: 5_000 })
      expect(await store.getMany([`${own}short`, `${own}long`])).toEqual([undefined, 1])
      expect(await store.list(own)).toEqual([`${own}always`, `${own}long`])
      expect(await store.list(own, { limit: 2 })).toHaveLength(2)
      expect(await store.putIfAbsent(`${own}short`, 2)).toBe(true)
      expect(await store.get(`${own}short`)).toBe(2)
      expect(await store.list(own)).toHaveLength(3)
    })

    it('ST-01: a value set again after its predecessor expired is there at once, and lasts as long as it was told', async () => {
      await store.set(`${own}a`, 'old', 30)
      await vi.waitFor(async () => expect(await store.get(`${own}a`)).toBeUndefined())
      if (subject.durable) await reopen()
      await store.set(`${own}a`, 'new', 60_000)
      expect(await store.get(`${own}a`)).toBe('new')
      expect(await store.putIfAbsent(`${own}b`, 'old', 30)).toBe(true)
      await vi.waitFor(async () => expect(await store.putIfAbsent(`${own}b`, 'new')).toBe(true))
      expect(await store.get(`${own}b`)).toBe('new')
    })

    it('drops the expiry of a value that is set again without one', async () => {
      await store.set(`${own}a`, 1, 100)
      await store.set(`${own}a`, 2)
      await store.set(`${own}clock`, 1, 120)
      await vi.waitFor(async () => expect(await store.get(`${own}clock`)).toBeUndefined())
      expect(await store.get(`${own}a`)).toBe(2)
    })

    it('keeps what it holds over a restart', async () => {
      if (!subject.durable) return
      await store.set(`${own}a`, 'kept')
      await reopen()
      expect(await store.get(`${own}a`)).toBe('kept')
      expect(await store.putIfAbsent(`${own}a`, 'other')).toBe(false)
      expect(await store.list(own)).toEqual([`${own}a`])
    })

    it('lists by prefix, ascending, in pages that neither repeat nor miss', async () => {
      const keys = Array.from({ length: 25 }, (_, i) => `${own}k/${String(i).padStart(4, '0')}`)
      await Promise.all(keys.toReversed().map((key) => store.set(key, 1)))
      await store.set(`${own}k`, 1)
      await store.set(`${own}k0`, 1)
      await store.set(`${own}l/0`, 1)
      const seen: string[] = []
      for (let after: string | undefined; ; after = seen.at(-1)) {
        const page = await store.list(`${own}k/`, { limit: 10, ...(after === undefined ? {} : { after }) })
        seen.push(...page)
        if (page.length < 10) break
      }
      expect(seen).toEqual(keys)
      expect(await store.list(`${own}nothing/`)).toEqual([])
      expect(await store.list(`${own}k/`, { after: keys[24]! })).toEqual([])
      expect(await store.list(`${own}k/`, { limit: 0 })).toEqual([])
      expect(await store.list(`${own}k/`, { after: 'a' })).toHaveLength(25)
    })

    it('lists at most 1,000 keys unless told otherwise', async () => {
      const keys = Array.from({ length: 1_010 }, (_, i) => `${own}${String(i).padStart(5, '0')}`)
      await Promise.all(keys.map((key) => store.set(key, 1)))
      expect(await store.list(own)).toEqual(keys.slice(0, 1_000))
      expect(await store.list(own, { limit: 2_000 })).toEqual(keys)
    })

    it('takes no part of a key for a pattern: % _ * ? [ ] \\ quotes, spaces, any script', async () => {
      const odd = [
        'a%b',
        'a_b',
        'axb',
        'a*',
        'a?',
        '[a]',
        'a\\',
        `a'"`,
        'a b',
        'äöü',
        '日本',
        '👩‍👩‍👧',
        '\u{10ffff}',
        '\ud7ff',
        '\uffff',
      ]
      for (const key of odd) await store.set(own + key, key)
      for (const key of odd) expect(await store.get(own + key)).toBe(key)
      expect(await store.list(`${own}a%`)).toEqual([`${own}a%b`])
      expect(await store.list(`${own}a_`)).toEqual([`${own}a_b`])
      expect(await store.list(`${own}\u{10ffff}`)).toEqual([`${own}\u{10ffff}`])
      const byBytes = odd.map((key) => own + key).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      expect(await store.list(own)).toEqual(byBytes)
    })

    it('carries any JSON under any good key, and orders keys by their bytes', async () => {
      let round = 0
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(
            fc
              .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
              .filter((key) => key.isWellFormed() && !key.includes('\0')),
            { maxLength: 6 },
          ),
          fc.jsonValue({ maxDepth: 3 }),
          async (names, value) => {
            const prefix = `${own}${round++}/`
            const keys = names.map((name) => prefix + name)
            for (const key of keys) await store.set(key, value)
            for (const read of await store.getMany(keys)) expect(read).toEqual(JSON.parse(JSON.stringify(value)))
            const byBytes = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
            expect(await store.list(prefix)).toEqual(byBytes)
          },
        ),
        { numRuns: 40 },
      )
    })

    it('carries texts of megabytes, NUL and half surrogates in them included', async () => {
      const big = `\0\ud800"\\\n${'大きい'.repeat(600_000)}`
      await store.set(`${own}big`, { big })
      expect((await store.get<{ big: string }>(`${own}big`))!.big === big).toBe(true)
      expect(await store.putIfAbsent(`${own}big2`, big)).toBe(true)
      const both = await store.getMany([`${own}big2`, `${own}big`])
      expect(both[0] === big).toBe(true)
    })

    it('refuses keys and values that not every store could hold, and says so', async () => {
      for (const key of ['', 'a\0b', 'a\ud800', 'x'.repeat(1_001)]) {
        await expect(store.set(key, 1)).rejects.toThrow(StoreError)
        await expect(store.get(key)).rejects.toThrow(StoreError)
        await expect(store.putIfAbsent(key, 1)).rejects.toThrow(StoreError)
      }
      await expect(store.set(`${own}a`, undefined)).rejects.toThrow(/must be JSON/)
      await expect(store.putIfAbsent(`${own}a`, undefined)).rejects.toThrow(/must be JSON/)
      await expect(store.set(`${own}a`, 1n)).rejects.toThrow(StoreError)
      for (const ttl of [0, -1, Number.NaN]) {
        await expect(store.set(`${own}a`, 1, ttl)).rejects.toThrow(/ttlMs/)
        await expect(store.putIfAbsent(`${own}a`, 1, ttl)).rejects.toThrow(/ttlMs/)
      }
      expect(await store.get(`${own}a`)).toBeUndefined()
      const long = own + 'x'.repeat(1_000 - own.length)
      await store.set(long, 1)
      expect(await store.list(`${own}x`)).toEqual([long])
    })

    it('rejects every call after it was closed', async () => {
      if (!subject.durable) return
      await store.close()
      const calls: (() => Promise<unknown>)[] = [
        () => store.get(`${own}a`),
        () => store.getMany([`${own}a`]),
        () => store.set(`${own}a`, 1),
        () => store.putIfAbsent(`${own}a`, 1),
        () => store.delete(`${own}a`),
        () => store.list(own),
      ]
      try {
        for (const call of calls) await expect(call()).rejects.toThrow(StoreError)
      } finally {
        store = await subject.open()
      }
    })
  })
}
