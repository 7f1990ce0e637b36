import { afterEach, describe, expect, it } from 'vitest'
import { createEditScheduler } from '../../src/delivery/editScheduler.ts'
import { tidyUp } from '../../src/delivery/leftovers.ts'
import { openThreadView } from '../../src/delivery/threadView.ts'
import type { CallLimit, ChatPlatform } from '../../src/platform/platform.ts'
import { openStore } from '../../src/session/openStore.ts'
import { createOutbox } from '../../src/session/outboxStore.ts'
import type { Store } from '../../src/session/store.ts'
import { silentLog } from '../../src/shared/log.ts'
import { en } from '../../src/shared/wording/en.ts'
import { dyingStore } from '../doubles/store/cutStore.ts'
import { type Clock, createClock, createSimulatedPlatform, THREAD } from './deliverySimulation.ts'

const stores: Store[] = []
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
})

/** Few edits: what they are spent on decides how finals are delivered. */
const CALLS: CallLimit[] = [
  { calls: ['edit'], most: 4, perMs: 60_000, scope: 'account' },
  { calls: ['remove'], most: 50, perMs: 60_000, scope: 'account' },
  { calls: ['post'], most: 2, perMs: 2_000, scope: 'channel' },
]
const OTHER = { ...THREAD, id: 'C2:2.0', channel: 'C2', thread: '2.0' }

/** The world outlives processes: the thread as people see it, and the store. */
async function createWorld() {
  const clock = createClock()
  const simulated = createSimulatedPlatform(clock, { limits: { text: 1_000, calls: CALLS } })
  const store = await openStore('memory:')
  stores.push(store)
  return { clock, ...simulated, store }
}
type World = Awaited<ReturnType<typeof createWorld>>

/** A process over a store that may die at one of its writes; from then on nothing that it does has any effect. */
function start({ clock, platform }: World, store: Store, isDead = () => false) {
  const never = new Promise<never>(() => {})
  const call = <T>(make: () => Promise<T>): Promise<T> => (isDead() ? never : make())
  const mortal: ChatPlatform = {
    ...platform,
    post: (...args) => call(() => platform.post(...args)),
    edit: (...args) => call(() => platform.edit(...args)),
    remove: (...args) => call(() => platform.remove(...args)),
  }
  const edits = createEditScheduler({ limits: platform.limits, now: clock.now, setTimer: clock.setTimer })
  const outbox = createOutbox(store)
  const common = { outbox, edits, log: silentLog }
  const view = openThreadView({ ...common, platform: mortal, thread: THREAD, wording: en, setTimer: clock.setTimer })
  return {
    view,
    edits,
    tidyUp: () => tidyUp(() => ({ platform: mortal, edits }), common),
    /** Others use up all edits of the minute. */
    async spendEdits() {
      const lane = edits.lane({ thread: OTHER, frame: () => null })
      while (edits.waitMs({ method: 'edit', thread: OTHER, urgency: 'final' }) === 0) {
        await lane.final(async () => {}, 'final')
      }
    },
  }
}

const TEXT = Array.from({ length: 12 }, (_, n) => `Sentence number ${n} says something of **weight ${n}**.`).join(' ')
const half = TEXT.slice(0, 300)

const shown = ({ visible }: World) => visible().map(({ body }) => body.markdown)
const words = (world: World) => shown(world).join(' ').split(/\s+/)

/** What is visible when the budget is gone, and how the final text is then delivered. */
const SCENARIOS = {
  'a good part is visible': {
    async stream({ view }: Started, clock: Clock) {
      view.text('s1', half)
      await clock.advance(3_000)
    },
    messages: 2,
    posts: 2,
  },
  'next to nothing is visible': {
    async stream({ view }: Started, clock: Clock) {
      view.text('s1', 'Sentence number 0 ')
      await clock.advance(3_000)
    },
    messages: 1,
    posts: 2,
  },
  'all of it is visible': {
    async stream({ view }: Started, clock: Clock) {
      view.text('s1', TEXT)
      await clock.advance(3_000)
    },
    messages: 1,
    posts: 1,
  },
}
type Started = ReturnType<typeof start>
const NAMES = Object.keys(SCENARIOS) as (keyof typeof SCENARIOS)[]

describe('a final text while edits are used up', () => {
  it.each(NAMES)('is there within a second when %s, and the rest comes when there is time', async (name) => {
    const world = await createWorld()
    const { clock } = world
    const process = start(world, world.store)
    const scenario = SCENARIOS[name]
    await scenario.stream(process, clock)
    await process.spendEdits()
    const before = clock.now()
    await clock.until(process.view.settle('s1', TEXT, { footer: 'end' }))
    expect(clock.now() - before).toBeLessThanOrEqual(1_000)
    await clock.advance(120_000)
    expect(words(world)).toEqual(TEXT.split(/\s+/))
    expect(world.visible()).toHaveLength(scenario.messages)
    expect(world.calls.filter(({ method }) => method === 'post')).toHaveLength(scenario.posts)
    expect(world.visible().map(({ body }) => [body.live, body.buttons])).toEqual(
      world.visible().map(() => [undefined, undefined]),
    )
    expect(world.visible().at(-1)!.body.footer).toBe('end')
    expect(world.violations).toEqual([])
  })

  it.each(NAMES)('stands once in the end, wherever the process is killed, when %s', async (name) => {
    for (let dieAt = 0, died = true; died; dieAt++) {
      for (const when of ['before', 'after'] as const) {
        const world = await createWorld()
        const { clock } = world
        const store = dyingStore(world.store, dieAt, when)
        const isDead = () => store.writes() > dieAt
        const first = start(world, store, isDead)
        await SCENARIOS[name].stream(first, clock)
        if (!isDead()) await first.spendEdits()
        const settled = first.view.settle('s1', TEXT, { footer: 'end' }).catch(() => {})
        void settled
        await clock.advance(120_000)
        died = isDead()
        first.edits.stop()

        const second = start(world, world.store)
        await second.tidyUp()
        const refs = await clock.until(second.view.settle('s1', TEXT, { footer: 'end' }))
        await clock.advance(120_000)
        const place = `killed ${when} write ${dieAt}`
        expect(words(world), place).toEqual(TEXT.split(/\s+/))
        expect(
          world.visible().filter(({ body }) => body.live),
          place,
        ).toEqual([])
        expect(refs, place).toEqual(world.visible().map(({ ref }) => ref))
        expect(await createOutbox(world.store).leftovers(), place).toEqual([])
        expect(world.violations, place).toEqual([])

        const calls = world.calls.length
        const third = start(world, world.store)
        await third.tidyUp()
        await clock.until(third.view.settle('s1', TEXT, { footer: 'end' }))
        await clock.advance(10_000)
        expect(world.calls.length, `a settled text was touched again: ${place}`).toBe(calls)
      }
      expect(dieAt).toBeLessThan(60)
    }
  })
})
