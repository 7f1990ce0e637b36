import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../../src/session/openStore.ts'
import type { Store } from '../../src/session/store.ts'
import { createUsageLedger, dayOf, type ModelCall, type UsageLedger } from '../../src/session/usage.ts'
import { noUsage, usageText } from '../../src/session/usageTotals.ts'
import { StoreError } from '../../src/shared/errors.ts'
import { wordingFor } from '../../src/shared/wording/wording.ts'
import { dyingStore } from '../doubles/store/cutStore.ts'

const HOUR = 3_600_000
const NOON = Date.parse('2026-12-01T12:00:00Z')
const place = (id: string) => ({ platform: 'slack', account: 'T1', id })

function called(more: Partial<ModelCall> = {}): ModelCall {
  return {
    thread: 'slack:T1:C1:1.0',
    person: place('U1'),
    channel: place('C1'),
    model: 'm',
    purpose: 'agent',
    usage: { inputTokens: 100, cachedInputTokens: 40, outputTokens: 10, reasoningTokens: 4, costUsd: 0.5 },
    ...more,
  }
}

/** The store with a count of what is asked of it. */
function counting(store: Store) {
  const counts = { gets: 0, values: 0, writes: 0 }
  const counted: Store = {
    ...store,
    getMany: (keys) => {
      counts.gets++
      counts.values += keys.length
      return store.getMany(keys)
    },
    putIfAbsent: (...args) => {
      counts.writes++
      return store.putIfAbsent(...args)
    },
  }
  return { counted, counts }
}

let now: number
let store: Store
let ledger: UsageLedger
beforeEach(async () => {
  now = NOON
  store = await openStore('memory:')
  ledger = createUsageLedger(store, () => now)
})

describe('usage', () => {
  it('is added up by thread, person, channel, day and all together', async () => {
    await ledger.record(called())
    await ledger.record(called({ thread: 'slack:T1:C1:2.0', person: place('U2') }))
    await ledger.record(called({ thread: 'slack:T1:C2:1.0', channel: place('C2') }))
    await ledger.record(called({ person: null, channel: null }))
    const calls = async (...scope: Parameters<UsageLedger['usageOf']>) => (await ledger.usageOf(...scope)).calls
    expect(await calls({ thread: 'slack:T1:C1:1.0' })).toBe(2)
    expect(await calls({ person: place('U1') })).toBe(2)
    expect(await calls({ person: { ...place('U1'), account: 'T2' } })).toBe(0)
    expect(await calls({ channel: place('C1') })).toBe(2)
    expect(await calls('all')).toBe(4)
    expect(await calls('all', { from: '2026-12-01', to: '2026-12-01' })).toBe(4)
    expect(await calls('all', { from: '2026-12-02', to: '2026-12-09' })).toBe(0)
    expect(await ledger.usageOf({ person: place('U2') })).toEqual({
      ...noUsage(),
      calls: 1,
      inputTokens: 100,
      cachedInputTokens: 40,
      outputTokens: 10,
      reasoningTokens: 4,
      costUsd: 0.5,
    })
  })

  it('says how much of it is unknown instead of counting it as nothing', async () => {
    await ledger.record(called({ usage: {} }))
    await ledger.record(called({ usage: { inputTokens: 5, estimated: true } }))
    expect(await ledger.usageOf('all')).toMatchObject({
      calls: 2,
      inputTokens: 5,
      callsWithoutTokens: 1,
      callsWithoutCost: 2,
      callsEstimated: 1,
    })
  })

  it('counts a call once that is recorded again after a failure, and others of the same moment apart', async () => {
    const call = called({ id: 'k:1', at: NOON })
    await ledger.record(call)
    now += 2 * HOUR
    await ledger.record(call)
    await ledger.record(called({ at: NOON }))
    expect((await ledger.usageOf('all')).calls).toBe(2)
  })

  it('is complete after a crash at any write, once the call is recorded again', async () => {
    for (let dieAt = 0; dieAt < 8; dieAt++) {
      for (const when of ['before', 'after'] as const) {
        store = await openStore('memory:')
        const call = called({ id: 'k:1', at: NOON })
        const dying = createUsageLedger(dyingStore(store, dieAt, when), () => now)
        await expect(dying.record(call)).rejects.toBeInstanceOf(StoreError)
        const next = createUsageLedger(store, () => now)
        await next.record(call)
        for (const scope of [
          { thread: call.thread },
          { person: place('U1') },
          { channel: place('C1') },
          'all',
        ] as const) {
          expect((await next.usageOf(scope)).calls).toBe(1)
        }
      }
    }
  })

  it('is the same for any number of processes and folds in between', async () => {
    const step = fc.record({
      hours: fc.nat(30),
      cost: fc.nat(100),
      writer: fc.nat(1),
      fold: fc.boolean(),
      day: fc.nat(3),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const shared = await openStore('memory:')
        let at = NOON
        const ledgers = [0, 1].map(() => createUsageLedger(shared, () => at))
        let cost = 0
        for (const each of steps) {
          at += each.hours * HOUR
          cost += each.cost
          await ledgers[each.writer]!.record(called({ usage: { costUsd: each.cost } }))
          const day = dayOf(at - each.day * 24 * HOUR)
          if (each.fold) await ledgers[1 - each.writer]!.usageOf('all', { from: day, to: day })
        }
        for (const reader of ledgers) {
          expect(await reader.usageOf('all')).toMatchObject({ calls: steps.length, costUsd: cost })
        }
      }),
      { numRuns: 50 },
    )
  })

  it('reads a closed hour call by call once, and an hour that just ended not yet as closed', async () => {
    const { counted, counts } = counting(store)
    const reader = createUsageLedger(counted, () => now)
    for (let call = 0; call < 50; call++) await ledger.record(called())
    const valuesRead = async () => {
      counts.values = 0
      expect((await reader.usageOf('all')).calls).toBe(50)
      return counts.values
    }
    now = NOON + HOUR + 9 * 60_000
    expect(await valuesRead()).toBe(51)
    expect(await valuesRead()).toBe(51)
    now = NOON + HOUR + 10 * 60_000
    expect(await valuesRead()).toBe(51)
    expect(await valuesRead()).toBe(1)
  })

  it("folds a month in time that does not grow with its calls: at most 744 sums and the last hours' calls", async () => {
    for (let hour = 0; hour < 30 * 24; hour++) {
      now = NOON + hour * HOUR
      for (let call = 0; call < 3; call++) await ledger.record(called({ person: null, channel: null }))
    }
    const { counted, counts } = counting(store)
    const reader = createUsageLedger(counted, () => now)
    const month = { from: '2026-12-01', to: '2026-12-31' }
    const first = await reader.usageOf('all', month)
    counts.values = 0
    counts.gets = 0
    expect(await reader.usageOf('all', month)).toEqual(first)
    expect(first.calls).toBe(30 * 24 * 3)
    expect(counts.values).toBeLessThan(30 * 24 + 10)
    expect(counts.gets).toBeLessThan(5)
  })

  it('costs one write per scope and call, and one more for the first call of an hour', async () => {
    const { counted, counts } = counting(store)
    const writer = createUsageLedger(counted, () => now)
    for (let call = 0; call < 10; call++) await writer.record(called())
    expect(counts.writes).toBe(44)
  })
})

describe('what the command usage says', () => {
  const totals = { ...noUsage(), calls: 3, inputTokens: 12_300, cachedInputTokens: 6_150, outputTokens: 900 }

  it('is one line for the thread, the person and everybody', () => {
    const person = { ...totals, costUsd: 0.0213, callsWithoutCost: 1 }
    const today = { ...totals, costUsd: 1.5, outputTokens: 2_340_000, reasoningTokens: 1_000 }
    const text = usageText({ thread: noUsage(), person, today }, 'Ann', wordingFor('en'))
    expect(text.split('\n')).toEqual([
      '- **This thread**: nothing yet',
      '- **Ann, today (UTC)**: 3 model calls · 12.3k tokens in (50 % cached) · 900 out (0 reasoning) · at least ~$0.02 (calls of unknown cost: 1)',
      '- **Everybody, today (UTC)**: 3 model calls · 12.3k tokens in (50 % cached) · 2.3M out (1.0k reasoning) · ~$1.50',
    ])
  })

  it('never shows a price of nothing for what nobody knows', () => {
    const unknown = { ...totals, callsWithoutCost: 3, callsEstimated: 2 }
    const text = usageText({ thread: unknown, person: noUsage(), today: noUsage() }, 'Ann', wordingFor('en'))
    expect(text).toContain('cost unknown · estimated calls: 2')
    expect(text).not.toContain('$')
    const uncounted = { ...noUsage(), calls: 2, callsWithoutTokens: 2, callsWithoutCost: 2 }
    expect(usageText({ thread: uncounted, person: uncounted, today: uncounted }, 'Ann', wordingFor('zh'))).toContain(
      '没有计数的调用：2',
    )
  })
})
