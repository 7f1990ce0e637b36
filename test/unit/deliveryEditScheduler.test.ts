import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createEditScheduler } from '../../src/delivery/editScheduler.ts'
import type { CallLimit } from '../../src/platform/platform.ts'
import { PlatformError } from '../../src/shared/errors.ts'
import type { ThreadRef } from '../../src/shared/thread.ts'
import { createClock } from './deliverySimulation.ts'

const threadIn = (channel: string, thread = '1.0'): ThreadRef => ({
  ...{ platform: 'slack', account: 'T1', id: `${channel}:${thread}`, channel, thread },
})

function setUp(calls: CallLimit[], editIntervalMs = 1_000) {
  const clock = createClock()
  const scheduler = createEditScheduler({ limits: { calls, editIntervalMs }, now: clock.now, setTimer: clock.setTimer })
  const sent: { name: string; at: number }[] = []
  const note = (name: string) => async () => void sent.push({ name, at: clock.now() })
  const lane = (name: string, channel = 'C1') => scheduler.lane({ thread: threadIn(channel), frame: () => note(name) })
  return { clock, scheduler, sent, note, lane }
}
const SLACK: CallLimit[] = [{ calls: ['edit'], most: 50, perMs: 60_000, scope: 'account', burst: 10, reserve: 3 }]
const POSTS: CallLimit = { calls: ['post'], most: 2, perMs: 2_000, scope: 'channel' }
const DISCORD: CallLimit[] = [{ calls: ['edit'], most: 4, perMs: 5_000, scope: 'channel', reserve: 1 }]
const refusal = (retryAfterMs: number) => new PlatformError('rateLimited', 'ratelimited', 'slow down', { retryAfterMs })

describe('the edit scheduler', () => {
  it('never makes more edits in any window than the platform allows, whoever asks for how many', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 40 }), fc.constantFrom(SLACK, DISCORD), async (count, limit) => {
        const { clock, sent, lane, note } = setUp(limit, 500)
        const lanes = Array.from({ length: count }, (_, n) => lane(`${n}`))
        for (let tick = 0; tick < 60; tick++) {
          for (const one of lanes) one.touch()
          await clock.advance(500)
        }
        const finals = Promise.all(lanes.map((one, n) => one.final(note(`final ${n}`), 'final')))
        await clock.until(finals)
        for (const { at } of sent) {
          const inWindow = sent.filter((other) => other.at >= at && other.at < at + limit[0]!.perMs)
          expect(inWindow.length).toBeLessThanOrEqual(limit[0]!.most)
        }
      }),
      { numRuns: 10 },
    )
  })

  it('keeps all of fifty live texts moving: the stalest is next', async () => {
    const { clock, sent, lane } = setUp(SLACK)
    const lanes = Array.from({ length: 50 }, (_, n) => lane(`${n}`))
    for (let tick = 0; tick < 200; tick++) {
      for (const one of lanes) one.touch()
      await clock.advance(1_000)
    }
    const counts = lanes.map((_, n) => sent.filter(({ name }) => name === `${n}`).length)
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(2)
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
  })

  it('looks at a spent budget once, not once for each of four hundred live texts that wait for it', async () => {
    const clock = createClock()
    let readings = 0
    const now = () => {
      readings++
      return clock.now()
    }
    const limits = { calls: SLACK, editIntervalMs: 1_000 }
    const scheduler = createEditScheduler({ limits, now, setTimer: clock.setTimer })
    const lanes = Array.from({ length: 400 }, () =>
      scheduler.lane({ thread: threadIn('C1'), frame: () => async () => {} }),
    )
    for (const one of lanes) one.touch()
    await clock.advance(1_000)
    readings = 0
    for (let tick = 0; tick < 10; tick++) for (const one of lanes) one.touch()
    await clock.advance(10_000)
    // About eight edits: each ends, is counted, and asks the budget who is next.
    expect(readings).toBeLessThan(500)
  })

  it('sends finals before frames, and keeps one edit for them', async () => {
    const { clock, sent, lane, note } = setUp(DISCORD, 100)
    const one = lane('frame')
    const other = lane('other')
    for (let tick = 0; tick < 30; tick++) {
      one.touch()
      await clock.advance(100)
    }
    const at = clock.now()
    one.touch()
    await clock.until(other.final(note('final'), 'final'))
    expect(sent.at(-1)).toEqual({ name: 'final', at })
  })

  it('lets channels be when the limit is per channel', async () => {
    const { clock, sent, lane } = setUp(DISCORD, 100)
    for (let n = 0; n < 20; n++) lane(`${n}`, `C${n}`).touch()
    await clock.advance(0)
    expect(sent).toHaveLength(20)
  })

  it('edits one message no more often than its interval says', async () => {
    const { clock, sent, lane } = setUp([], 3_000)
    const one = lane('a')
    for (let tick = 0; tick < 100; tick++) {
      one.touch()
      await clock.advance(100)
    }
    expect(sent.map(({ at }) => at)).toEqual([0, 3_000, 6_000, 9_000])
  })

  it('asks for a frame no more often than the interval says, also when there is nothing new in it', async () => {
    const { clock, scheduler } = setUp(SLACK, 1_000)
    let asked = 0
    const one = scheduler.lane({
      thread: threadIn('C1'),
      frame: () => {
        asked++
        return null
      },
    })
    for (let tick = 0; tick < 200; tick++) {
      one.touch()
      await clock.advance(20)
    }
    expect(asked).toBe(5)
  })

  it.each([[SLACK], [[]]])('waits after a refusal that names no wait: %j', async (limit) => {
    const { clock, scheduler } = setUp(limit, 0)
    let tries = 0
    const one = scheduler.lane({
      thread: threadIn('C1'),
      frame: () => async () => {
        tries++
        throw refusal(0)
      },
    })
    one.touch()
    await clock.advance(10_000)
    expect(tries).toBeGreaterThan(1)
    expect(tries).toBeLessThanOrEqual(41)
  })

  it('has one edit in flight per message, and the final after it', async () => {
    const { clock, scheduler } = setUp(SLACK, 10)
    let inFlight = 0
    const order: string[] = []
    const send = (name: string, ms: number) => async () => {
      expect(++inFlight).toBe(1)
      await clock.sleep(ms)
      order.push(name)
      inFlight--
    }
    const one = scheduler.lane({ thread: threadIn('C1'), frame: () => send('frame', 800) })
    one.touch()
    await clock.advance(50)
    one.touch()
    await clock.until(one.final(send('final', 5), 'final'))
    await clock.advance(10_000)
    expect(order).toEqual(['frame', 'final'])
  })

  it('pauses for everybody as long as it is told, and goes on slower', async () => {
    const { clock, scheduler, sent, lane, note } = setUp(SLACK, 10)
    let refuse = true
    const one = scheduler.lane({
      thread: threadIn('C1'),
      frame: () => async () => {
        if (refuse) {
          refuse = false
          throw refusal(7_000)
        }
        await note('one')()
      },
    })
    one.touch()
    await clock.advance(100)
    lane('two').touch()
    await clock.advance(6_000)
    expect(sent).toEqual([])
    await clock.advance(5_000)
    expect(sent.map(({ name }) => name).sort()).toEqual(['one', 'two'])
    expect(Math.min(...sent.map(({ at }) => at))).toBeGreaterThanOrEqual(7_000)
  })

  it('passes on what a final meets, and rejects those that wait when it stops', async () => {
    const { clock, scheduler, lane, note } = setUp(SLACK)
    const gone = new PlatformError('notFound', 'message_not_found', 'gone')
    await expect(clock.until(lane('a').final(() => Promise.reject(gone), 'final'))).rejects.toBe(gone)
    const stuck = lane('b').final(() => Promise.reject(refusal(60_000)), 'final')
    await clock.advance(100)
    scheduler.stop()
    await expect(clock.until(stuck)).rejects.toMatchObject({ kind: 'unavailable' })
    await expect(lane('c').final(note('c'), 'final')).rejects.toMatchObject({ kind: 'unavailable' })
    expect(clock.pending()).toBe(0)
  })

  it('lets each of fifty live texts move within a minute and a half, again and again', async () => {
    const { clock, sent, lane } = setUp(SLACK)
    const lanes = Array.from({ length: 50 }, (_, n) => lane(`${n}`))
    for (let tick = 0; tick < 300; tick++) {
      for (const one of lanes) one.touch()
      await clock.advance(1_000)
    }
    for (const [n] of lanes.entries()) {
      const at = [0, ...sent.filter(({ name }) => name === `${n}`).map((one) => one.at), clock.now()]
      const gaps = at.slice(1).map((one, index) => one - at[index]!)
      expect(Math.max(...gaps)).toBeLessThanOrEqual(90_000)
    }
  })

  it('counts methods apart, and holds a post up for its channel alone', async () => {
    const { clock, scheduler, sent, note, lane } = setUp([...SLACK, POSTS])
    const post = (name: string, channel: string) =>
      scheduler.send({ method: 'post', thread: threadIn(channel), urgency: 'final' }, () => note(name))
    for (const name of ['a', 'b', 'c']) post(name, 'C1')
    post('d', 'C2')
    lane('edit').touch()
    await clock.advance(0)
    expect(sent.map(({ name }) => name)).toEqual(['edit', 'a', 'b', 'd'].toSorted())
    await clock.advance(2_000)
    expect(sent.at(-1)).toEqual({ name: 'c', at: 2_000 })
  })

  it('makes the most urgent call first, and tidying up not before frames that came up soon after it', async () => {
    const { clock, scheduler, sent, note } = setUp([{ calls: ['post'], most: 1, perMs: 5_000, scope: 'account' }])
    const thread = threadIn('C1')
    for (const urgency of ['live', 'live', 'later', 'activity', 'final', 'card'] as const) {
      scheduler.send({ method: 'post', thread, urgency }, () => note(urgency))
    }
    await clock.advance(7_000)
    scheduler.send({ method: 'post', thread, urgency: 'live' }, () => note('live again'))
    await clock.advance(60_000)
    expect(sent.map(({ name }) => name)).toEqual(['live', 'card', 'final', 'activity', 'live', 'live again', 'later'])
  })

  it('tells how long a call would wait behind others, and takes back one that waits', async () => {
    const { clock, scheduler, sent, note } = setUp([POSTS])
    const call = { method: 'post', thread: threadIn('C1'), urgency: 'final' } as const
    const sendings = ['a', 'b', 'c', 'd', 'e'].map((name) => scheduler.send(call, () => note(name)))
    await clock.advance(0)
    expect(scheduler.waitMs(call)).toBe(4_000)
    expect(scheduler.waitMs({ ...call, urgency: 'card' })).toBe(2_000)
    expect(scheduler.waitMs({ ...call, thread: threadIn('C2') })).toBe(0)
    sendings[2]!.cancel()
    expect(await sendings[2]!.done).toBeNull()
    await clock.advance(2_000)
    expect(sent.map(({ name }) => name)).toEqual(['a', 'b', 'd', 'e'])
  })

  it('spends nothing on a call that has become needless', async () => {
    const { clock, scheduler, sent, note } = setUp([POSTS])
    const call = { method: 'post', thread: threadIn('C1'), urgency: 'live' } as const
    for (const name of ['a', 'b', 'c']) scheduler.send(call, () => (name === 'b' ? null : note(name)))
    await clock.advance(0)
    expect(sent.map(({ name }) => name)).toEqual(['a', 'c'])
  })
})
