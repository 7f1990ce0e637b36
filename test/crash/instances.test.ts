import { afterEach, describe, expect, test } from 'vitest'
import { missing, POSTGRES_URL, REDIS_URL } from '../contract/servers.ts'
import { until } from '../scenario/program.ts'
import { CHANNEL, type Instances, postgresPlace, redisPlace, slowAnswers, startInstances } from './instancesWorld.ts'

const THREADS = Array.from({ length: 10 }, (_, i) => i + 1)
/** Another instance carries on within this time; beyond it is what a busy machine takes to show ten answers. */
const TAKE_OVER_MS = 20_000

/** Each takes its time, so what does not hang on the server is shown on one of them unless SOAK is set. */
const subjects = [
  { name: 'Redis', place: redisPlace, skip: await missing(REDIS_URL), leaves: ['kill', 'freeze'] },
  { name: 'PostgreSQL', place: postgresPlace, skip: await missing(POSTGRES_URL), leaves: ['kill', 'end'] },
]

for (const { name, place, skip, leaves } of subjects) {
  const when = (way: string) => test.runIf(leaves.includes(way) || process.env.SOAK)
  describe.skipIf(skip !== undefined)(`two instances on ${name}${skip ? ` (skipped: ${skip})` : ''}`, () => {
    let world: Instances
    afterEach(() => world.close())

    /** Ten threads under way on both, each with the first half of its answer. */
    async function tenUnderWay() {
      world = await startInstances(await place(), 2)
      const answers = slowAnswers(world.llm)
      const asked = THREADS.map((n) => ({ n, ts: world.ask(`question ${n}`) }))
      await until('the model is asked for each', () => world.llm.requests.length === THREADS.length)
      for (const { n, ts } of asked) await world.shows(ts, `Answer ${n}`)
      return { answers, asked }
    }

    const eachOnce = (asked: { n: number; ts: string }[]) => {
      for (const { n, ts } of asked) expect([n, world.count(ts, `Answer ${n} is whole.`)]).toEqual([n, 1])
      for (const { n, ts } of asked) expect([n, world.count(ts, `Answer ${n}`)]).toEqual([n, 1])
    }

    when('kill')(
      'kill -9 of one in mid-run: the other carries on, and each answer appears once',
      async () => {
        const { answers, asked } = await tenUnderWay()
        await world.programs[0]!.kill()
        answers.letGo()
        for (const { n, ts } of asked) await world.shows(ts, `Answer ${n} is whole.`, TAKE_OVER_MS)
        await until('nothing is left to say', () => world.slack.deliveries.pending() === 0)
        expect(world.llm.requests.length).toBeGreaterThan(THREADS.length)
        eachOnce(asked)
      },
      120_000,
    )

    when('freeze')(
      'a frozen one loses its threads to the other, and does nothing twice when it thaws',
      async () => {
        const { answers, asked } = await tenUnderWay()
        const [frozen] = world.programs
        process.kill(frozen!.pid, 'SIGSTOP')
        answers.letGo()
        for (const { n, ts } of asked) await world.shows(ts, `Answer ${n} is whole.`, TAKE_OVER_MS)
        process.kill(frozen!.pid, 'SIGCONT')
        // Slack takes turns, so that one of these comes in at the thawed one.
        const later = [11, 12].map((n) => ({ n, ts: world.ask(`question ${n}`) }))
        for (const { n, ts } of later) await world.shows(ts, `Answer ${n} is whole.`)
        await until('the thawed one has let go', () => /lease|another run carries on/.test(frozen!.stderr()))
        eachOnce([...asked, ...later])
      },
      120_000,
    )

    when('end')(
      'SIGTERM hands what is left over to the other at once',
      async () => {
        const { answers, asked } = await tenUnderWay()
        const ended = world.programs[0]!.stop()
        await until('the other one has them all', () => world.llm.requests.length > THREADS.length, { ms: 30_000 })
        answers.letGo()
        expect(await ended).toBe(0)
        for (const { n, ts } of asked) await world.shows(ts, `Answer ${n} is whole.`)
        eachOnce(asked)
      },
      120_000,
    )

    test('stop reaches the run on whichever instance it is', async () => {
      const { answers, asked } = await tenUnderWay()
      for (const { ts } of asked.slice(0, 4)) {
        world.slack.mention('U0BEN', CHANNEL, 'stop', { threadTs: ts })
        await world.shows(ts, 'Stopped by Ben', 5_000)
      }
      answers.letGo()
      for (const { n, ts } of asked.slice(4)) await world.shows(ts, `Answer ${n} is whole.`)
      for (const { n, ts } of asked.slice(0, 4)) expect(world.count(ts, `Answer ${n} is whole.`)).toBe(0)
    }, 120_000)
  })
}
