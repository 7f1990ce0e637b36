import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createTurns } from '../../src/session/adapters/turns.ts'

/** A clock that only work moves, and an event loop that turns when the test says so. */
function world() {
  let time = 0
  const turns: (() => void)[] = []
  const spend = (ms: number) => () => {
    time += ms
    return time
  }
  const microtasks = () => new Promise((resolve) => setImmediate(resolve))
  return {
    spend,
    microtasks,
    run: createTurns({ stretchMs: 10, now: () => time, afterTurn: (turn) => turns.push(turn) }),
    waiting: () => turns.length,
    async turn() {
      turns.shift()?.()
      await microtasks()
    },
  }
}

describe('turns of synchronous work', () => {
  test('work goes on for its stretch, then waits until the event loop has turned', async () => {
    const { run, spend, turn, microtasks } = world()
    const ended: number[] = []
    for (let number = 0; number < 7; number++) void run(spend(4)).then(() => ended.push(number))
    await microtasks()
    expect(ended).toEqual([0, 1, 2])
    await turn()
    expect(ended).toEqual([0, 1, 2, 3, 4, 5])
    await turn()
    expect(ended).toEqual([0, 1, 2, 3, 4, 5, 6])
  })

  test('whatever work takes, it runs once and in order, no stretch begins another piece once it is over, and a failure stops nobody', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ ms: fc.nat(25), fails: fc.boolean() }), { maxLength: 30 }),
        async (work) => {
          const { run, spend, turn, microtasks, waiting } = world()
          const order: number[] = []
          const ends: (number | null)[] = []
          const all = work.map(({ ms, fails }, number) =>
            run(() => {
              order.push(number)
              spend(ms)()
              if (fails) throw new Error('it failed')
            }).then(
              () => ends.push(number),
              () => ends.push(number),
            ),
          )
          let before = 0
          await microtasks()
          for (let rounds = 0; waiting() > 0 && rounds < 100; rounds++) {
            const stretch = order.slice(before).map((number) => work[number]!.ms)
            expect(stretch.slice(0, -1).reduce((sum, ms) => sum + ms, 0)).toBeLessThan(10)
            before = order.length
            await turn()
          }
          await Promise.all(all)
          expect(order).toEqual(work.map((_, number) => number))
          expect(ends).toEqual(order)
        },
      ),
    )
  })
})
