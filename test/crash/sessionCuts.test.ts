import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createInbox } from '../../src/session/inbox.ts'
import { openStore } from '../../src/session/openStore.ts'
import type { Store } from '../../src/session/store.ts'
import { createThreadStore } from '../../src/session/threadStore.ts'
import { StaleThread } from '../../src/shared/errors.ts'
import { Died, dyingStore } from '../doubles/store/cutStore.ts'
import { incoming } from '../doubles/store/events.ts'

const KEY = 'slack:T1:C1:1.0'

type Step = { do: 'deliver'; event: number; alias: number } | { do: 'handle' } | { do: 'mark' }

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('deliver' as const), event: fc.nat(6), alias: fc.nat(2) }) },
    { weight: 3, arbitrary: fc.constant({ do: 'handle' as const }) },
    { weight: 1, arbitrary: fc.constant({ do: 'mark' as const }) },
  ),
  { minLength: 1, maxLength: 12 },
)

/** A bot in miniature over the real session room: what is delivered is appended, answered, trimmed and closed. */
function process(store: Store) {
  const threads = createThreadStore(store)
  const inbox = createInbox({ store, wake: async () => {} })

  async function handle(): Promise<void> {
    const thread = await threads.open(KEY)
    let { nextSeq, nextSlot } = thread
    for (const { slot, event } of await inbox.read(KEY, nextSlot)) {
      const source = { eventId: event.id, slot }
      await threads.append(KEY, nextSeq++, {
        v: 1,
        kind: 'message',
        at: slot,
        message: { role: 'user', content: event.id },
        source,
      })
      nextSlot = slot + 1
    }
    await threads.markShown(KEY, nextSeq)
    await inbox.trim(KEY, nextSlot)
    await inbox.close(KEY, nextSlot)
  }

  async function run(step: Step): Promise<string | undefined> {
    if (step.do === 'handle') await handle()
    if (step.do === 'mark') {
      const { nextSeq } = await threads.open(KEY)
      await threads.append(KEY, nextSeq, { v: 1, kind: 'mark', at: 1, mark: 'boundary', by: { id: 'U1', name: 'Ann' } })
    }
    if (step.do === 'deliver') {
      await inbox.deliver(KEY, incoming(`e${step.event}`, [`e${step.event}/${step.alias}`]))
      return `e${step.event}`
    }
    return undefined
  }

  async function handled(): Promise<string[]> {
    const ids: string[] = []
    for await (const { record } of threads.all(KEY)) if (record.source) ids.push(record.source.eventId)
    return ids
  }

  return { run, handle, handled, inbox, threads }
}

/** Runs the steps in a process that dies at one write; a new one does the step again and goes on, to the sweep at the end. */
async function liveAndDie(store: Store, plan: Step[], dieAt: number, when: 'before' | 'after') {
  const delivered: string[] = []
  let alive = process(dyingStore(store, dieAt, when))
  let died = false

  // Not acknowledged, a delivery is made again by the platform; a run that was cut is found by the sweep.
  const survive = async <T>(work: (alive: ReturnType<typeof process>) => Promise<T>): Promise<T> => {
    try {
      return await work(alive)
    } catch (error) {
      if (!(error instanceof Died)) throw error
      died = true
      alive = process(store)
      return work(alive)
    }
  }

  for (const step of plan) {
    const id = await survive((one) => one.run(step))
    if (id && !delivered.includes(id)) delivered.push(id)
  }
  await survive(async (one) => {
    if ((await one.inbox.open()).includes(KEY)) await one.handle()
  })
  return { delivered, died, alive: process(store) }
}

describe('a process that dies at any write', () => {
  it('loses no event, handles none twice, keeps the order, and leaves no open work', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.constantFrom('before' as const, 'after' as const), async (plan, when) => {
        for (let dieAt = 0; ; dieAt++) {
          const store = await openStore('memory:')
          const { delivered, died, alive } = await liveAndDie(store, plan, dieAt, when)
          const handled = await alive.handled()
          expect(handled.toSorted()).toEqual(delivered.toSorted())
          // In the order of their slots; a delivery that died half-way may have come in anew behind a later one.
          const slots: number[] = []
          for await (const { record } of alive.threads.all(KEY)) if (record.source) slots.push(record.source.slot)
          expect(slots).toEqual(slots.toSorted((a, b) => a - b))
          if (!died) expect(handled).toEqual(delivered)
          expect(await alive.inbox.open()).toEqual([])
          expect(await alive.inbox.read(KEY, (await alive.threads.open(KEY)).nextSlot)).toEqual([])
          if (!died) break
        }
      }),
      { numRuns: 40 },
    )
  })

  it('leaves a thread whose numbers have no gap and whose view is right', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (plan) => {
        for (let dieAt = 0; ; dieAt++) {
          const store = await openStore('memory:')
          const { died, alive } = await liveAndDie(store, plan, dieAt, 'after')
          const seqs: number[] = []
          let boundary = 0
          for await (const { seq, record } of alive.threads.all(KEY)) {
            seqs.push(seq)
            if (record.kind === 'mark') boundary = seq
          }
          expect(seqs).toEqual(seqs.map((_, i) => i))
          const thread = await alive.threads.open(KEY)
          expect(thread.nextSeq).toBe(seqs.length)
          expect(thread.records.map(({ seq }) => seq)).toEqual(seqs.slice(boundary))
          if (!died) break
        }
      }),
      { numRuns: 20 },
    )
  })
})

describe('two processes on one thread, one of them frozen in the middle of its run', () => {
  it('ST-02: lose nothing and double nothing: the slower one is told that it is stale', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.integer({ min: 1, max: 4 }), async (schedule, events) => {
        const store = await openStore('memory:')
        const feed = process(store)
        for (let i = 0; i < events; i++) await feed.run({ do: 'deliver', event: i, alias: 0 })
        const turn = () => schedule.schedule(Promise.resolve())
        const slowed: Store = {
          ...store,
          putIfAbsent: async (...args) => {
            await turn()
            return store.putIfAbsent(...args)
          },
        }
        const runs = [process(slowed), process(slowed)].map(async (one) => {
          await one.handle().catch((error: unknown) => {
            if (!(error instanceof StaleThread)) throw error
          })
        })
        await schedule.waitFor(Promise.all(runs))
        await feed.handle()
        expect(await feed.handled()).toEqual(Array.from({ length: events }, (_, i) => `e${i}`))
      }),
      { numRuns: 100 },
    )
  })
})
