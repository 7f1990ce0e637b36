import { spawnSync } from 'node:child_process'
import { describe, expect, onTestFinished, test } from 'vitest'
import { lineTo, missing, POSTGRES_URL } from '../contract/servers.ts'
import { until } from '../scenario/program.ts'
import {
  CHANNEL,
  type Instances,
  ownRedis,
  type Place,
  postgresPlace,
  slowAnswers,
  startInstances,
} from './instancesWorld.ts'

interface Away {
  place: Place
  goes(): Promise<void>
  comesBack(): Promise<void>
}

const hasRedis = process.env.CI || spawnSync('redis-server', ['--version']).status === 0

const subjects = [
  {
    name: 'Redis, killed and started again',
    skip: hasRedis ? undefined : 'no redis-server on this machine',
    async away(): Promise<Away> {
      const place = await ownRedis()
      return { place, goes: place.end, comesBack: place.start }
    },
  },
  {
    name: 'PostgreSQL, out of reach for a while',
    skip: await missing(POSTGRES_URL),
    async away(): Promise<Away> {
      const behind = await postgresPlace()
      const line = await lineTo(behind.url)
      const clear = async () => {
        await line.close()
        await behind.clear()
      }
      return { place: { url: line.url, clear }, goes: line.cut, comesBack: line.mend }
    },
  },
]

describe.each(subjects)('the server of store and queue goes away in mid-run: $name', ({ skip, away }) => {
  test.skipIf(skip !== undefined)(
    `what ran and what came meanwhile is answered once when it is back${skip ? ` (skipped: ${skip})` : ''}`,
    async () => {
      const { place, goes, comesBack } = await away()
      const world: Instances = await startInstances(place, 2)
      onTestFinished(() => world.close())
      const answers = slowAnswers(world.llm)
      const asked = [1, 2, 3, 4].map((n) => ({ n, ts: world.ask(`question ${n}`) }))
      for (const { n, ts } of asked) await world.shows(ts, `Answer ${n}`)

      await goes()
      asked.push({ n: 5, ts: world.ask('question 5') })
      answers.letGo()
      await until('both instances know', async () => {
        const all = await Promise.all(world.programs.map(({ url }) => fetch(`${url}/readyz`)))
        return all.every(({ status }) => status === 503)
      })
      expect(world.count(asked[4]!.ts, 'Answer')).toBe(0)
      await comesBack()

      for (const { n, ts } of asked) await world.shows(ts, `Answer ${n} is whole.`, 60_000)
      for (const { n, ts } of asked) expect([n, world.count(ts, `Answer ${n}`)]).toEqual([n, 1])
      const later = world.slack.mention('U0BEN', CHANNEL, 'question 6')
      await world.shows(later, 'Answer 6 is whole.')
      await until('they are ready again', async () => (await fetch(`${world.programs[0]!.url}/readyz`)).ok, {
        ms: 70_000,
      })
    },
    240_000,
  )
})
