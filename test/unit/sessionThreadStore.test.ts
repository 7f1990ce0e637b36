import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../../src/session/openStore.ts'
import type { Store } from '../../src/session/store.ts'
import type { NumberedRecord, ThreadHead, ThreadStore } from '../../src/session/thread.ts'
import { createThreadStore } from '../../src/session/threadStore.ts'
import { StaleThread, StoreError } from '../../src/shared/errors.ts'
import type { ThreadRecord } from '../../src/shared/record.ts'
import { countingStore } from '../doubles/store/cutStore.ts'

const KEY = 'slack:T1:C1:1.0'

function head(id: string, createdAt = 1): ThreadHead {
  return { v: 1, ref: { platform: 'slack', account: 'T1', id, channel: 'C1' }, title: id, createdAt }
}

function said(text: string, slot?: number, at = 1): ThreadRecord {
  const source = slot === undefined ? {} : { source: { eventId: `e${slot}`, slot } }
  return { v: 1, kind: 'message', at, message: { role: 'user', content: text }, ...source }
}

const boundary: ThreadRecord = { v: 1, kind: 'mark', at: 1, mark: 'boundary', by: { id: 'U1', name: 'Ann' } }
const compacted = (upTo: number): ThreadRecord => ({
  v: 1,
  kind: 'mark',
  at: 1,
  mark: 'compacted',
  upTo,
  summary: 'so far',
})

async function all(threads: ThreadStore, key = KEY): Promise<NumberedRecord[]> {
  const records: NumberedRecord[] = []
  for await (const record of threads.all(key)) records.push(record)
  return records
}

let store: Store
let threads: ThreadStore
beforeEach(async () => {
  store = await openStore('memory:')
  threads = createThreadStore(store)
})

describe('a thread in the store', () => {
  it('is empty before anything is known of it', async () => {
    expect(await threads.open(KEY)).toEqual({
      key: KEY,
      head: undefined,
      records: [],
      nextSeq: 0,
      nextSlot: 0,
      shownBelow: 0,
    })
    expect(await threads.exists(KEY)).toBe(false)
  })

  it('goes on where it was: records in order, numbers, slots, head', async () => {
    await threads.ensureHead(head('C1:1.0'))
    for (let seq = 0; seq < 150; seq++)
      await threads.append(KEY, seq, said(`${seq}`, seq % 3 === 0 ? seq / 3 : undefined))
    const thread = await createThreadStore(store).open(KEY)
    expect(thread.records.map(({ seq }) => seq)).toEqual(Array.from({ length: 150 }, (_, i) => i))
    expect(thread).toMatchObject({ nextSeq: 150, nextSlot: 50, head: { title: 'C1:1.0' } })
    expect(await threads.exists(KEY)).toBe(true)
  })

  it('lets one of two writers at a number win, and tells the other StaleThread', async () => {
    const outcomes = await Promise.allSettled([threads.append(KEY, 0, said('a')), threads.append(KEY, 0, said('b'))])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect((outcomes[1] as PromiseRejectedResult).reason).toBeInstanceOf(StaleThread)
    expect((await all(threads)).map(({ record }) => record)).toEqual([said('a')])
  })

  it('keeps the head that is there', async () => {
    await threads.ensureHead(head('C1:1.0', 1))
    await threads.ensureHead({ ...head('C1:1.0', 2), title: 'other' })
    expect((await threads.open(KEY)).head).toEqual(head('C1:1.0', 1))
  })

  it('keeps apart threads whose keys begin alike', async () => {
    await threads.append('slack:T1:C1:1', 0, said('one'))
    await threads.append('slack:T1:C1:10', 0, said('ten'))
    expect((await threads.open('slack:T1:C1:1')).records).toHaveLength(1)
    await expect(threads.open('a/b')).rejects.toThrow(/can't be the key/)
  })

  it('is opened from the last boundary or summary on, and whole for the transcript', async () => {
    for (let seq = 0; seq < 10; seq++) await threads.append(KEY, seq, said(`${seq}`, seq))
    await threads.append(KEY, 10, compacted(7))
    const seqs = async () => (await threads.open(KEY)).records.map(({ seq }) => seq)
    expect(await seqs()).toEqual([7, 8, 9, 10])
    await threads.append(KEY, 11, said('11', 10))
    expect(await seqs()).toEqual([7, 8, 9, 10, 11])
    await threads.append(KEY, 12, boundary)
    expect(await seqs()).toEqual([12])
    expect(await threads.open(KEY)).toMatchObject({ nextSeq: 13, nextSlot: 11 })
    expect(await all(threads)).toHaveLength(13)
  })

  it('remembers what was shown, and never less than before', async () => {
    await Promise.all([threads.markShown(KEY, 3), threads.markShown(KEY, 7), threads.markShown(KEY, 5)])
    expect((await threads.open(KEY)).shownBelow).toBe(7)
  })

  it('opens the same way whatever marks were written and whenever somebody looked', async () => {
    const steps = fc.array(
      fc.oneof(
        { weight: 6, arbitrary: fc.constant('said' as const) },
        { weight: 1, arbitrary: fc.constant('boundary' as const) },
        { weight: 2, arbitrary: fc.nat(100).map((back) => ({ back })) },
        { weight: 3, arbitrary: fc.constant('look' as const) },
      ),
      { maxLength: 40 },
    )
    await fc.assert(
      fc.asyncProperty(steps, async (plan) => {
        const threads = createThreadStore(await openStore('memory:'))
        const model: ThreadRecord[] = []
        let from = 0
        let slots = 0
        for (const step of plan) {
          if (step === 'look') {
            await threads.open(KEY)
            continue
          }
          const seq = model.length
          const upTo = typeof step === 'object' ? Math.max(from, seq - step.back) : 0
          const record = step === 'said' ? said(`${seq}`, slots++) : step === 'boundary' ? boundary : compacted(upTo)
          if (step === 'boundary') from = seq
          if (typeof step === 'object') from = upTo
          model.push(record)
          await threads.append(KEY, seq, record)
        }
        const thread = await threads.open(KEY)
        expect(thread.nextSeq).toBe(model.length)
        expect(thread.nextSlot).toBe(slots)
        expect(thread.records).toEqual(model.map((record, seq) => ({ seq, record })).slice(from))
        expect((await all(threads)).map(({ record }) => record)).toEqual(model)
      }),
      { numRuns: 200 },
    )
  })

  it('costs the same to append to and to open at 10 and at 3,000 records', async () => {
    const costs: Record<string, number>[] = []
    for (const length of [10, 3_000]) {
      const counted = countingStore(await openStore('memory:'))
      const threads = createThreadStore(counted)
      for (let seq = 0; seq < length; seq++) await threads.append(KEY, seq, said(`${seq}`))
      await threads.append(KEY, length, compacted(length - 4))
      await threads.open(KEY)
      counted.reset()
      await threads.append(KEY, length + 1, said('more'))
      await threads.open(KEY)
      costs.push({ ...counted.calls })
    }
    expect(costs[1]).toEqual(costs[0])
    expect(costs[0]).toEqual({ putIfAbsent: 1, list: 1, getMany: 3 + 6 })
  })

  it('never takes a failing store for an empty thread', async () => {
    const failing = createThreadStore({ ...store, getMany: () => Promise.reject(new StoreError('getMany', 'x')) })
    await threads.append(KEY, 0, said('a'))
    await expect(failing.open(KEY)).rejects.toThrow(StoreError)
    const noList = createThreadStore({ ...store, list: () => Promise.reject(new StoreError('list', 'x')) })
    await expect(noList.open(KEY)).rejects.toThrow(StoreError)
  })
})

describe('the list of threads', () => {
  it('has those first in which a person spoke last, each once', async () => {
    for (const [i, id] of ['a', 'b', 'c'].entries()) await threads.ensureHead(head(id, i + 1))
    const titles = async (limit?: number) =>
      (await threads.heads(limit === undefined ? {} : { limit })).map(({ title }) => title)
    expect(await titles()).toEqual(['c', 'b', 'a'])
    await threads.append('slack:T1:a', 0, said('hello', 0, 10))
    expect(await titles()).toEqual(['a', 'c', 'b'])
    await threads.append('slack:T1:b', 0, said('hello', 0, 20))
    await threads.append('slack:T1:a', 1, said('a result', undefined, 30))
    expect(await titles()).toEqual(['b', 'a', 'c'])
    expect(await titles(2)).toEqual(['b', 'a'])
    expect(await titles(0)).toEqual([])
    expect(await store.list('recent/')).toHaveLength(3)
  })

  it('reads no more of the store for 10 of 500 threads than for 10 of 50', async () => {
    const costs: Record<string, number>[] = []
    for (const many of [50, 500]) {
      const counted = countingStore(await openStore('memory:'))
      const threads = createThreadStore(counted)
      for (let i = 0; i < many; i++) await threads.ensureHead(head(`t${i}`, i + 1))
      counted.reset()
      expect((await threads.heads({ limit: 10 }))[0]?.title).toBe(`t${many - 1}`)
      costs.push({ ...counted.calls })
    }
    expect(costs[1]).toEqual(costs[0])
  })

  it('takes away an older entry that a crash or a race left behind', async () => {
    await threads.ensureHead(head('a', 5))
    const [entry] = await store.list('recent/')
    await threads.append('slack:T1:a', 0, said('hello', 0, 10))
    await store.set(entry!, 5)
    expect(await threads.heads()).toHaveLength(1)
    expect(await store.list('recent/')).toHaveLength(1)
  })
})
