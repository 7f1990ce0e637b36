import fc from 'fast-check'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { Outbox } from '../../src/delivery/outbox.ts'
import { createFollowed } from '../../src/session/followed.ts'
import { createInbox, type Inbox } from '../../src/session/inbox.ts'
import { openStore } from '../../src/session/openStore.ts'
import { createOutbox } from '../../src/session/outboxStore.ts'
import { createResultKeeper } from '../../src/session/resultStore.ts'
import type { Store } from '../../src/session/store.ts'
import { StoreError } from '../../src/shared/errors.ts'
import type { ToolContext } from '../../src/tool/tool.ts'
import { interleavingStore } from '../doubles/store/cutStore.ts'
import { incoming } from '../doubles/store/events.ts'

const KEY = 'slack:T1:C1:1.0'

let store: Store
let inbox: Inbox
let woken: string[]
beforeEach(async () => {
  store = await openStore('memory:')
  woken = []
  inbox = createInbox({ store, wake: async (key) => void woken.push(key) })
})

const ids = async (from = 0, key = KEY) => (await inbox.read(key, from)).map(({ event }) => event.id)

describe('the inbox', () => {
  it('keeps events in the order in which they came, and wakes the thread for each', async () => {
    const outcomes = await Promise.all(['a', 'b', 'c', 'd'].map((id) => inbox.deliver(KEY, incoming(id))))
    expect(outcomes).toEqual(Array(4).fill('accepted'))
    expect(await inbox.read(KEY, 0)).toEqual(['a', 'b', 'c', 'd'].map((id, slot) => ({ slot, event: incoming(id) })))
    expect(await ids(2)).toEqual(['c', 'd'])
    expect((await inbox.read(KEY, 1, 2)).map(({ slot }) => slot)).toEqual([1, 2])
    expect(woken).toEqual(Array(4).fill(KEY))
    expect(await inbox.open()).toEqual([KEY])
  })

  it('DD-01, DD-04, DD-06: takes the same event once, whichever id it comes under, and wakes all the same', async () => {
    expect(await inbox.deliver(KEY, incoming('m1', ['Ev1']))).toBe('accepted')
    expect(await inbox.deliver(KEY, incoming('m1', ['Ev2']))).toBe('duplicate')
    expect(await inbox.deliver(KEY, incoming('m2', ['Ev1']))).toBe('duplicate')
    expect(await ids()).toEqual(['m1'])
    expect(woken).toHaveLength(3)
  })

  it('takes the same event once when its deliveries race, in one process or several', async () => {
    const others = [0, 1, 2].map(() => createInbox({ store, wake: async () => {} }))
    const outcomes = await Promise.all([inbox, ...others].map((one, i) => one.deliver(KEY, incoming('m1', [`Ev${i}`]))))
    expect(outcomes.filter((outcome) => outcome === 'accepted')).toHaveLength(1)
    expect(await ids()).toEqual(['m1'])
  })

  it('loses no later event to a run that froze in the middle of its trim and goes on after others trimmed further', async () => {
    const thaw = Promise.withResolvers<void>()
    const frozen = createInbox({
      store: { ...store, set: (key, value) => thaw.promise.then(() => store.set(key, value)) },
      wake: async () => {},
    })
    for (const id of ['a', 'b', 'c']) await inbox.deliver(KEY, incoming(id))
    const belated = frozen.trim(KEY, 1)
    await new Promise(setImmediate)
    await inbox.trim(KEY, 3)
    thaw.resolve()
    await belated
    expect(await inbox.deliver(KEY, incoming('d'))).toBe('accepted')
    expect(await ids(3)).toEqual(['d'])
  })

  it('remembers an event after its slot was used and trimmed', async () => {
    await inbox.deliver(KEY, incoming('a'))
    await inbox.trim(KEY, 1)
    await inbox.close(KEY, 1)
    expect(await inbox.deliver(KEY, incoming('a'))).toBe('duplicate')
    expect(await ids(1)).toEqual([])
    await inbox.close(KEY, 1)
    expect(await inbox.open()).toEqual([])
  })

  it('goes on counting where it was after all slots were trimmed', async () => {
    for (const id of ['a', 'b', 'c']) await inbox.deliver(KEY, incoming(id))
    await inbox.trim(KEY, 3)
    expect(await store.list(`thread/${KEY}/slot/`)).toEqual([])
    await inbox.deliver(KEY, incoming('d'))
    expect(await inbox.read(KEY, 3)).toEqual([{ slot: 3, event: incoming('d') }])
    await inbox.trim(KEY, 2)
    expect(await ids(3)).toEqual(['d'])
  })

  it('loses no event whose writer froze until its slot number was used up, even if a stale run looks right then', async () => {
    const gates: (() => void)[] = []
    const gate = () => new Promise<void>((resolve) => gates.push(resolve))
    const reached = (count: number) => vi.waitFor(() => expect(gates).toHaveLength(count))
    const slow = createInbox({
      store: {
        ...store,
        async putIfAbsent(key, value, ttlMs) {
          if (!key.endsWith('/slot/000000000000')) return store.putIfAbsent(key, value, ttlMs)
          await gate()
          const won = await store.putIfAbsent(key, value, ttlMs)
          await gate()
          return won
        },
      },
      wake: async () => {},
    })
    const delivering = slow.deliver(KEY, incoming('late'))
    await reached(1)
    await inbox.deliver(KEY, incoming('early'))
    await inbox.trim(KEY, 1)
    gates[0]!()
    await reached(2)
    expect(await ids(0)).toEqual([])
    gates[1]!()
    expect(await delivering).toBe('accepted')
    expect(await inbox.read(KEY, 1)).toEqual([{ slot: 1, event: incoming('late') }])
  })

  it('closes what is handled and nothing more', async () => {
    await inbox.deliver(KEY, incoming('a'))
    await inbox.deliver(KEY, incoming('b'))
    await inbox.deliver('slack:T1:C2:2.0', incoming('c'))
    await inbox.close(KEY, 1)
    expect((await inbox.open()).sort()).toEqual([KEY, 'slack:T1:C2:2.0'])
    await inbox.close(KEY, 2)
    expect(await inbox.open()).toEqual(['slack:T1:C2:2.0'])
  })

  it('rejects when the store fails, so that the platform does not acknowledge', async () => {
    const failing = createInbox({
      store: { ...store, putIfAbsent: () => Promise.reject(new StoreError('putIfAbsent', 'x')) },
      wake: async () => {},
    })
    await expect(failing.deliver(KEY, incoming('a'))).rejects.toThrow(StoreError)
    expect(await inbox.deliver(KEY, incoming('a'))).toBe('accepted')
  })

  it('takes ids of any form', async () => {
    const odd = ['a/b', '', '#x', 'x'.repeat(3_000), '\ud800', 'a\0b', '日本']
    for (const id of odd) expect(await inbox.deliver(KEY, incoming(id))).toBe('accepted')
    for (const id of odd) expect(await inbox.deliver(KEY, incoming(id))).toBe('duplicate')
    expect(await inbox.read(KEY, 0)).toHaveLength(odd.length)
  })

  /**
   * Several processes deliver, read, use up, trim and close at the same time; every call to the store waits for its turn,
   * and the turns are given in an order that fast-check chooses.
   */
  it('loses nothing, doubles nothing and hides no open work in any interleaving', async () => {
    // One event may come by two paths with an id each; what the paths share, they need not name in the same order.
    const deliveries = fc.array(fc.record({ event: fc.nat(4), path: fc.nat(1), process: fc.nat(2) }), {
      minLength: 1,
      maxLength: 8,
    })
    const eventOf = ({ event, path }: { event: number; path: number }) => {
      const shared = [`e${event}.x`, `e${event}.y`]
      return incoming(`e${event}/path${path}`, path === 0 ? shared : shared.toReversed())
    }
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), deliveries, async (schedule, plan) => {
        const base = await openStore('memory:')
        const turn = () => schedule.schedule(Promise.resolve())
        const late = interleavingStore(base, turn)
        const processes = [0, 1, 2].map(() => createInbox({ store: late, wake: async () => {} }))
        const used: { slot: number; id: string }[] = []

        const consume = async (one: Inbox) => {
          const next = (used.at(-1)?.slot ?? -1) + 1
          for (const { slot, event } of await one.read(KEY, next, 2)) used.push({ slot, id: event.id.split('/')[0]! })
          const nextSlot = (used.at(-1)?.slot ?? -1) + 1
          await one.trim(KEY, nextSlot)
          await one.close(KEY, nextSlot)
        }
        // The same trim once more by a run that froze right before it: it may come after that of a later run.
        const belated: Promise<void>[] = []
        const consuming = (async () => {
          for (let round = 0; round < 4; round++) {
            await consume(processes[0]!)
            belated.push(processes[2]!.trim(KEY, (used.at(-1)?.slot ?? -1) + 1))
          }
        })()
        const delivering = plan.map((one) => processes[one.process]!.deliver(KEY, eventOf(one)))
        // A run that lost its thread without knowing looks at slots that others have used up.
        const looking = processes[2]!.read(KEY, 0)
        const outcomes = schedule.waitFor(Promise.all(delivering))
        await schedule.waitFor(consuming)
        await schedule.waitFor(looking)
        await schedule.waitFor(Promise.all(belated))
        const accepted = (await outcomes).filter((outcome) => outcome === 'accepted').length

        const quiet = createInbox({ store: base, wake: async () => {} })
        const unused = (await quiet.read(KEY, (used.at(-1)?.slot ?? -1) + 1)).length
        if (unused > 0) expect(await quiet.open()).toEqual([KEY])
        while ((await quiet.open()).length > 0) {
          const before = used.length
          await consume(quiet)
          if (used.length === before) break
        }
        expect(used.map(({ id }) => id).sort()).toEqual([...new Set(plan.map(({ event }) => `e${event}`))].sort())
        expect(used.map(({ slot }) => slot)).toEqual(used.map(({ slot }) => slot).toSorted((a, b) => a - b))
        expect(accepted).toBeLessThanOrEqual(used.length)
        expect(await quiet.open()).toEqual([])

        // What lost a race left an empty slot; the next event's trim takes it along.
        expect(await quiet.deliver(KEY, incoming('last'))).toBe('accepted')
        await consume(quiet)
        expect(used.at(-1)?.id).toBe('last')
        expect(await base.list(`thread/${KEY}/slot/`)).toEqual([])
      }),
      { numRuns: 150 },
    )
  })
})

describe('the outbox', () => {
  it('is what delivery asks for, and keeps threads apart', async () => {
    const outbox = createOutbox(store, KEY) satisfies Outbox
    const ref = { channel: 'C1', id: '1.1' }
    expect(await outbox.find('k/1')).toBeUndefined()
    await outbox.intend('k/1')
    expect(await outbox.find('k/1')).toEqual({ state: 'intended' })
    await expect(outbox.settled('k/1')).rejects.toThrow(/without having been posted/)
    await outbox.posted('k/1', ref)
    await outbox.intend('k/1')
    expect(await outbox.find('k/1')).toEqual({ state: 'posted', ref })
    await outbox.settled('k/1')
    expect(await createOutbox(store, KEY).find('k/1')).toEqual({ state: 'settled', ref })
    expect(await createOutbox(store, 'other').find('k/1')).toBeUndefined()
    expect(await createOutbox(store).find('k/1')).toBeUndefined()
    await outbox.forget('k/1')
    expect(await outbox.find('k/1')).toBeUndefined()
  })
})

describe('threads to catch up on', () => {
  const thread = (id: string) => ({ platform: 'discord' as const, account: 'G1', id, channel: id })

  it('are those with the newest messages first, each from its newest message on', async () => {
    let time = 1
    const followed = createFollowed(store, () => time++)
    await followed.noteSeen(thread('1'), { channel: '1', id: '99' })
    await followed.noteSeen(thread('2'), { channel: '2', id: '500' })
    await followed.noteSeen({ ...thread('3'), platform: 'slack' }, { channel: '3', id: '1.2' })
    await followed.noteSeen(thread('1'), { channel: '1', id: '100' })
    await followed.noteSeen(thread('1'), { channel: '1', id: '98' })
    expect(await createFollowed(store).followed('discord')).toEqual([
      { thread: thread('1'), lastSeen: { channel: '1', id: '100' } },
      { thread: thread('2'), lastSeen: { channel: '2', id: '500' } },
    ])
    expect(await followed.followed('discord', 1)).toHaveLength(1)
    expect(await followed.followed('slack')).toHaveLength(1)
    expect(await followed.followed('console')).toEqual([])
  })

  it('never go back, whatever order messages are noted in', async () => {
    const followed = createFollowed(store)
    const order = [5, 1_000, 7, 99, 998, 3]
    await Promise.all(order.map((id) => followed.noteSeen(thread('1'), { channel: '1', id: String(id) })))
    expect((await followed.followed('discord'))[0]?.lastSeen.id).toBe('1000')
  })
})

describe('whole results', () => {
  it('are found from their own thread only', async () => {
    const keeper = createResultKeeper(store)
    const from = (threadKey: string | null) => ({ threadKey }) as ToolContext
    const id = await keeper.keep('long text', from(KEY))
    expect(await keeper.read(id, from(KEY))).toBe('long text')
    expect(await keeper.read(id, from('other'))).toBeUndefined()
    expect(await keeper.read('nothing', from(KEY))).toBeUndefined()
  })
})
