import { describe, expect, it } from 'vitest'
import { createEditScheduler } from '../../src/delivery/editScheduler.ts'
import { withPacedSignals } from '../../src/delivery/pacedSignals.ts'
import type { ChatPlatform } from '../../src/platform/platform.ts'
import type { MessageRef, ThreadRef } from '../../src/shared/thread.ts'

const thread = (id: string): ThreadRef => ({ platform: 'slack', account: 'T1', channel: 'C1', id })
const ref = (id: string): MessageRef => ({ channel: 'C1', id })

/** A platform that takes one sign of each kind at once, and then one a second, on a clock that tests turn. */
function world() {
  let now = 0
  const timers: { at: number; run: () => void }[] = []
  const shown: string[] = []
  const platform = {
    async react(_: ThreadRef, { id }: MessageRef, name: string | null) {
      for (let turns = 0; turns < 10; turns++) await Promise.resolve()
      shown.push(`${now} ${id} ${name}`)
    },
    status: async ({ id }: ThreadRef, text: string | null) => void shown.push(`${now} ${id} ${text}`),
  } as Partial<ChatPlatform> as ChatPlatform
  const once = { most: 60, perMs: 60_000, scope: 'account', burst: 1 } as const
  const edits = createEditScheduler({
    limits: {
      calls: (['react', 'status'] as const).map((call) => ({ calls: [call], ...once })),
      editIntervalMs: 1_000,
    },
    now: () => now,
    setTimer(run, ms) {
      const timer = { at: now + ms, run }
      timers.push(timer)
      return () => void timers.splice(timers.indexOf(timer) >>> 0, 1)
    },
  })
  async function pass(ms: number): Promise<void> {
    for (const end = now + ms; ; ) {
      for (let turns = 0; turns < 20; turns++) await Promise.resolve()
      const next = timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
      now = next?.at ?? end
      if (!next) return
      timers.splice(timers.indexOf(next), 1)
      next.run()
    }
  }
  return { shown, pass, paced: withPacedSignals(platform, edits, () => now) }
}

describe('signs of life', () => {
  it('are held to the limit, and nobody waits for them', async () => {
    const { shown, pass, paced } = world()
    for (const id of ['a', 'b', 'c']) await paced.react(thread('1'), ref(id), 'working')
    await pass(0)
    expect(shown).toEqual(['0 a working'])
    await pass(5_000)
    expect(shown.map((one) => one.split(' ')[1])).toEqual(['a', 'b', 'c'])
  })

  it('are the newest one only: what was wanted meanwhile is never shown', async () => {
    const { shown, pass, paced } = world()
    await paced.react(thread('1'), ref('a'), 'working')
    await pass(1)
    await paced.react(thread('1'), ref('a'), 'waiting')
    await paced.react(thread('1'), ref('a'), 'done')
    await pass(5_000)
    expect(shown.map((one) => one.slice(one.indexOf(' ') + 1))).toEqual(['a working', 'a done'])
  })

  it('are not shown at all where the work is over before their turn', async () => {
    const { shown, pass, paced } = world()
    await paced.status(thread('1'), 'is working')
    await paced.status(thread('2'), 'is working')
    await paced.status(thread('2'), null)
    await pass(20_000)
    expect(shown.filter((one) => one.includes(' 2 '))).toEqual(['0 2 null'])
  })

  it('are taken away before others are set', async () => {
    const { shown, pass, paced } = world()
    await paced.status(thread('1'), 'is working')
    for (const id of ['2', '3', '4']) await paced.status(thread(id), 'is working')
    await paced.status(thread('1'), null)
    await pass(10_000)
    expect(shown[1]).toMatch(/ 1 null$/)
  })

  it('are gone when taking them away has resolved, where nothing has to wait for the limit', async () => {
    const { shown, pass, paced } = world()
    await paced.react(thread('1'), ref('a'), 'working')
    await pass(5_000)
    await paced.react(thread('1'), ref('a'), null)
    expect(shown.at(-1)).toBe('5000 a null')
  })

  it('are not shown when they have become old news, until they are said again', async () => {
    const { shown, pass, paced } = world()
    for (let n = 0; n < 12; n++) await paced.status(thread(`t${n}`), 'is working')
    await pass(30_000)
    expect(shown.length).toBeLessThan(10)
    await paced.status(thread('t11'), 'is working')
    await pass(2_000)
    expect(shown.at(-1)).toMatch(/ t11 is working$/)
  })
})
