import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../../src/session/openStore.ts'
import type { Store } from '../../src/session/store.ts'
import { createToolSwitches, type ToolSwitches } from '../../src/session/toolSwitches.ts'
import { interleavingStore } from '../doubles/store/cutStore.ts'
import { ANN, BOB, CYD, PEOPLE, THREAD } from './approvalAsks.ts'

const CHANNEL = { platform: 'slack', account: 'T1', id: 'C1' }

let store: Store
let switches: ToolSwitches
beforeEach(async () => {
  store = await openStore('memory:')
  switches = createToolSwitches(store, () => 1)
})

const of = async (thread = THREAD, channel = CHANNEL) => Object.fromEntries(await switches.of(thread, channel))

describe('a switch', () => {
  it('counts in its thread only, or in all threads of its channel', async () => {
    await switches.set({ thread: THREAD }, 'run_command', true, ANN)
    await switches.set({ channel: CHANNEL }, 'planner', false, BOB)
    expect(await of()).toEqual({ run_command: true, planner: false })
    expect(await of('slack:T1:C1:2.0')).toEqual({ planner: false })
    expect(await of('slack:T1:C2:3.0', { ...CHANNEL, id: 'C2' })).toEqual({})
    expect(await of('slack:T2:C1:3.0', { ...CHANNEL, account: 'T2' })).toEqual({})
  })

  it('of the thread comes before that of its channel, whichever was later', async () => {
    await switches.set({ thread: THREAD }, 'run_command', false, ANN)
    await switches.set({ channel: CHANNEL }, 'run_command', true, BOB)
    expect(await of()).toEqual({ run_command: false })
  })

  it('is kept with who, and the last one counts', async () => {
    for (const [on, by] of [
      [true, ANN],
      [false, BOB],
      [true, CYD],
      [false, ANN],
    ] as const) {
      await switches.set({ thread: THREAD }, 'run_command', on, by)
    }
    expect(await of()).toEqual({ run_command: false })
    const kept = await store.getMany(await store.list('switch/'))
    expect(kept).toMatchObject([
      { on: true, by: ANN },
      { on: false, by: BOB },
      { on: true, by: CYD },
      { on: false, by: ANN },
    ])
  })

  it('takes names of any tool', async () => {
    for (const tool of ['a/b', '__proto__', 'x'.repeat(300), 'ä'])
      await switches.set({ thread: THREAD }, tool, true, ANN)
    expect([...(await switches.of(THREAD, CHANNEL)).keys()].toSorted()).toEqual([
      '__proto__',
      'a/b',
      'x'.repeat(300),
      'ä',
    ])
  })

  it('is never lost when several are thrown at once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), async (schedule) => {
        const base = await openStore('memory:')
        const late = createToolSwitches(
          interleavingStore(base, () => schedule.schedule(Promise.resolve())),
          () => 1,
        )
        await schedule.waitFor(Promise.all(PEOPLE.map((by, i) => late.set({ thread: THREAD }, 't', i > 0, by))))
        const kept = await base.getMany<{ by: { id: string }; on: boolean }>(await base.list('switch/'))
        expect(kept.map((one) => one!.by.id).toSorted()).toEqual(PEOPLE.map(({ id }) => id))
        expect((await createToolSwitches(base).of(THREAD, CHANNEL)).get('t')).toBe(kept.at(-1)!.on)
      }),
      { numRuns: 50 },
    )
  })
})
