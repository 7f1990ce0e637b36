import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import pg from 'pg'
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { openBus } from '../../src/session/bus/openBus.ts'
import { openStore } from '../../src/session/openStore.ts'
import { createQueueScheduler } from '../../src/session/scheduler/bullmq.ts'
import { createEmbeddedScheduler } from '../../src/session/scheduler/embedded.ts'
import { openQueueServer } from '../../src/session/scheduler/queueServer.ts'
import { silentLog } from '../../src/shared/log.ts'
import { schedulerContract } from './schedulerContract.ts'
import { missing, POSTGRES_URL, REDIS_URL } from './servers.ts'

schedulerContract({
  name: 'embedded',
  async world() {
    const store = await openStore('memory:')
    return {
      create: async (openThreads = async () => []) =>
        createEmbeddedScheduler({ store, openThreads, log: silentLog, retryMs: 5 }),
      close: () => store.close(),
    }
  },
})

/** One for all tests of a run: a schema takes a second to make. */
const namespace = `t${randomBytes(6).toString('hex')}`

for (const [name, url] of [
  ['BullMQ on Redis', REDIS_URL],
  ['BullMQ on PostgreSQL', POSTGRES_URL],
] as const) {
  schedulerContract({
    name,
    skip: await missing(url),
    async world() {
      const store = await openStore('memory:')
      const options = { log: silentLog, namespace, timeoutMs: 5_000 }
      const bus = await openBus(url, options)
      return {
        create: async (openThreads = async () => []) =>
          createQueueScheduler({
            ...{ store, bus, openThreads, log: silentLog, retryMs: 5 },
            server: await openQueueServer(url, options),
          }),
        async close() {
          await bus.close()
          await store.close()
          const server = await openQueueServer(url, options)
          await server.queue.obliterate({ force: true })
          await server.close()
        },
      }
    },
  })
}

/** As if the instances that had them were killed again and again. */
const loseTheirInstances: Record<string, (times: number) => Promise<void>> = {
  async [REDIS_URL](times) {
    const redis = new Redis(REDIS_URL)
    const jobs = await redis.lrange(`${namespace}:queue:threads:wait`, 0, -1)
    for (const id of jobs) await redis.hset(`${namespace}:queue:threads:${id}`, 'stc', times)
    redis.disconnect()
  },
  async [POSTGRES_URL](times) {
    const client = new pg.Client(POSTGRES_URL)
    await client.connect()
    await client.query(`UPDATE ${namespace}_queue.job SET stalled_count = ${times}`)
    await client.end()
  },
}

const servers = [
  { name: 'Redis', url: REDIS_URL, skip: await missing(REDIS_URL) },
  { name: 'PostgreSQL', url: POSTGRES_URL, skip: await missing(POSTGRES_URL) },
]

describe.each(servers)('a thread that takes its instance along again and again: $name', ({ url, skip }) => {
  it.skipIf(skip !== undefined)(
    'is parked before it takes the next one, told once, and runs after a retry',
    async () => {
      const store = await openStore('memory:')
      const options = { log: silentLog, namespace, timeoutMs: 5_000 }
      const bus = await openBus(url, options)
      const onParked = vi.fn()
      const server = await openQueueServer(url, options)
      const scheduler = createQueueScheduler({
        store,
        bus,
        server,
        openThreads: async () => [],
        log: silentLog,
        onParked,
      })
      onTestFinished(async () => {
        await scheduler.stop({ graceMs: 0 })
        await bus.close()
        await store.close()
      })
      const runs: string[] = []
      await scheduler.wake('poison')
      await loseTheirInstances[url]!(10)
      await scheduler.start(async (thread) => void runs.push(thread), { concurrency: 2 })
      await vi.waitFor(() => expect(onParked).toHaveBeenCalledOnce(), 10_000)
      expect(runs).toEqual([])
      expect(await scheduler.parked()).toMatchObject([
        { threadKey: 'poison', error: expect.stringContaining('10 times') },
      ])
      await scheduler.retry('poison')
      await vi.waitFor(() => expect(runs).toEqual(['poison']), 10_000)
      expect(await scheduler.parked()).toEqual([])
    },
  )
})

afterAll(async () => {
  if ((await missing(POSTGRES_URL)) !== undefined) return
  const client = new pg.Client(POSTGRES_URL)
  await client.connect()
  await client.query(`DROP SCHEMA IF EXISTS ${namespace}_queue CASCADE`)
  await client.end()
})
