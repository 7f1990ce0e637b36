import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll } from 'vitest'
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

afterAll(async () => {
  if ((await missing(POSTGRES_URL)) !== undefined) return
  const client = new pg.Client(POSTGRES_URL)
  await client.connect()
  await client.query(`DROP SCHEMA IF EXISTS ${namespace}_queue CASCADE`)
  await client.end()
})
