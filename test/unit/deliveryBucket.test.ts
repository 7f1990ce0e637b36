import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createBucket } from '../../src/delivery/editBucket.ts'
import type { CallLimit } from '../../src/platform/platform.ts'
import { createClock } from './deliverySimulation.ts'

const limit = fc
  .record({
    most: fc.integer({ min: 1, max: 60 }),
    perMs: fc.constantFrom(1_000, 5_000, 60_000),
    burst: fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }),
    reserve: fc.integer({ min: 0, max: 5 }),
  })
  .map(
    ({ most, perMs, burst, reserve }): CallLimit => ({
      ...{ calls: ['edit'], most, perMs, scope: 'account', reserve },
      ...(burst !== undefined && { burst: Math.min(burst, most) }),
    }),
  )
/** How long a call takes, and when in that time the platform sees it. */
const call = fc.record({ ms: fc.integer({ min: 0, max: 4_000 }), seen: fc.double({ min: 0, max: 1, noNaN: true }) })

describe('a bucket', () => {
  it('never lets a window hold more than the limit, whenever the platform sees each call, and never stands still', async () => {
    await fc.assert(
      fc.asyncProperty(limit, fc.array(call, { minLength: 1, maxLength: 8 }), async (one, calls) => {
        const clock = createClock()
        const bucket = createBucket(one, clock.now)
        const seen: number[] = []
        for (let turn = 0; turn < 150; turn++) {
          const waitMs = bucket.waitMs(turn % 3 === 0)
          if (waitMs > 0) {
            expect(waitMs).toBeLessThanOrEqual(one.perMs * 2 + 4_000)
            await clock.advance(waitMs)
            continue
          }
          const { ms, seen: share } = calls[turn % calls.length]!
          const answered = bucket.take()
          seen.push(clock.now() + share * ms)
          clock.setTimer(answered, ms)
        }
        for (const from of seen) {
          expect(seen.filter((at) => at >= from && at < from + one.perMs).length).toBeLessThanOrEqual(one.most)
        }
        expect(seen.length).toBeGreaterThan(1)
      }),
      { seed: 7, numRuns: 60 },
    )
  })

  it('keeps the reserve from all but urgent calls', () => {
    const bucket = createBucket({ calls: ['edit'], most: 4, perMs: 5_000, scope: 'thread', reserve: 1 }, () => 0)
    for (let n = 0; n < 3; n++) bucket.take()()
    expect(bucket.waitMs(false)).toBe(5_000)
    expect(bucket.waitMs(true)).toBe(0)
  })

  it('tells the wait behind others, over several windows too', () => {
    const bucket = createBucket({ calls: ['post'], most: 2, perMs: 2_000, scope: 'channel' }, () => 0)
    expect([0, 1].map((ahead) => bucket.waitMs(true, ahead))).toEqual([0, 0])
    for (let n = 0; n < 2; n++) bucket.take()()
    expect([0, 1, 2, 3, 4].map((ahead) => bucket.waitMs(true, ahead))).toEqual([2_000, 2_000, 4_000, 4_000, 6_000])
  })

  it('pauses as long as it is told, goes on slower, and is as fast as before after minutes without a refusal', async () => {
    const clock = createClock()
    const bucket = createBucket({ calls: ['edit'], most: 50, perMs: 60_000, scope: 'account', burst: 10 }, clock.now)
    const inMinute = async () => {
      let made = 0
      for (const end = clock.now() + 60_000; clock.now() < end; ) {
        const waitMs = bucket.waitMs(true)
        if (waitMs > 0) await clock.advance(waitMs)
        else {
          bucket.take()()
          made++
        }
      }
      return made
    }
    bucket.pause(30_000)
    expect(bucket.waitMs(true)).toBe(30_000)
    await clock.advance(30_000)
    const slowed = await inMinute()
    expect(slowed).toBeLessThan(36)
    await clock.advance(600_000)
    expect(await inMinute()).toBeGreaterThanOrEqual(48)
  })
})
