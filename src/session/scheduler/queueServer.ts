import type { Job, Queue, Worker } from 'bullmq'
import { messageOf, SetupError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'

/** What a job of the queue is: one wish that a thread runs. */
export interface Wish {
  threadKey: string
}

/** A queue on a server, as BullMQ keeps it. */
export interface QueueServer {
  queue: Queue<Wish>
  /** A worker that takes nothing before `run`. */
  worker(
    process: (job: Job<Wish>) => Promise<void>,
    options: { concurrency: number; pauseAfter: PauseAfter },
  ): Worker<Wish>
  close(): Promise<void>
}

/** How long a job that rejected with `error` waits for its next try, in ms. */
export type PauseAfter = (error: Error) => number

export interface QueueServerOptions {
  log: Log
  /** What the queue, or its schema, is named after. */
  namespace: string
  /** How long one call may take, in ms. */
  timeoutMs: number
}

const QUEUE = 'threads'

/**
 * A lease of 10 s that is renewed every 5 s, looked over every 5 s: after a kill -9 or a freeze another instance has the
 * thread within 15 s (measured, shared facts on engines, B). BullMQ's own defaults take a minute. A job may be taken over
 * as often as need be; what fails again and again is parked by the scheduler, which knows whose fault it was.
 */
const LEASE = { lockDuration: 10_000, stalledInterval: 5_000, maxStalledCount: 1_000_000 }
/** After a failed call; BullMQ's 15 s would be felt after each restart of the server. */
const RECOVERY = { runRetryDelay: 1_000, drainDelay: 5 }

/** Rejects with `SetupError` when the server can't be reached or does not let us in. The clients are loaded only here. */
export async function openQueueServer(url: string, options: QueueServerOptions): Promise<QueueServer> {
  try {
    return await (/^rediss?:/.test(url) ? redisQueue(url, options) : postgresQueue(url, options))
  } catch (cause) {
    throw new SetupError(
      [
        {
          problem: `The queue's server can't be used: ${messageOf(cause)}.`,
          mend: 'Check that it runs, and the address in ENGINE_URL (or in STORE_URL, where ENGINE_URL is not set).',
        },
      ],
      { cause },
    )
  }
}

async function redisQueue(url: string, { log, namespace, timeoutMs }: QueueServerOptions): Promise<QueueServer> {
  const [{ Queue, Worker }, { Redis }] = await Promise.all([import('bullmq'), import('ioredis')])
  const retryStrategy = (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 6), 1_000)
  const connect = async (more: { enableOfflineQueue?: boolean }) => {
    const client = new Redis(url, {
      lazyConnect: true,
      connectTimeout: timeoutMs,
      maxRetriesPerRequest: null,
      retryStrategy,
      connectionName: 'toycoder-queue',
      ...more,
    })
    client.on('error', (error) => log.warn({ error }, "the connection to the queue's Redis failed; it is opened again"))
    try {
      await client.connect()
    } catch (error) {
      client.disconnect()
      throw error
    }
    return client
  }
  // A wish fails at once where the server is away; workers wait for it.
  const wishes = await connect({ enableOfflineQueue: false })
  const work = await connect({})
  const prefix = `${namespace}:queue`
  const queue = new Queue<Wish>(QUEUE, {
    connection: wishes,
    prefix,
    skipVersionCheck: true,
    streams: { events: { maxLen: 1_000 } },
  })
  queue.on('error', (error) => log.warn({ error }, 'the queue failed'))
  return {
    queue,
    worker(process, { concurrency, pauseAfter }) {
      return new Worker<Wish>(QUEUE, process, {
        connection: work,
        prefix,
        skipVersionCheck: true,
        autorun: false,
        concurrency,
        settings: { backoffStrategy: (_, __, error) => pauseAfter(error!) },
        ...LEASE,
        ...RECOVERY,
      })
    },
    async close() {
      await queue.close().catch(() => {})
      wishes.disconnect()
      work.disconnect()
    },
  }
}

async function postgresQueue(url: string, { log, namespace, timeoutMs }: QueueServerOptions): Promise<QueueServer> {
  const [{ withBackend, createPostgresBackend, runMigrations }, { default: pg }] = await Promise.all([
    import('bullmq'),
    import('pg'),
  ])
  const { Queue, Worker } = withBackend(createPostgresBackend)
  const schema = `${namespace}_queue`
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: timeoutMs })
  client.on('error', () => {})
  await client.connect()
  try {
    await runMigrations(client, schema)
  } finally {
    await client.end()
  }
  const connection = {
    connectionString: url,
    schema,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    application_name: 'toycoder-queue',
    keepAlive: true,
  }
  const queue = new Queue<Wish>(QUEUE, { connection: { ...connection, max: 4 } })
  queue.on('error', (error) => log.warn({ error }, 'the queue failed'))
  return {
    queue: queue as unknown as QueueServer['queue'],
    worker(process, { concurrency, pauseAfter }) {
      return new Worker<Wish>(QUEUE, process, {
        connection: { ...connection, max: 6 },
        autorun: false,
        concurrency,
        settings: { backoffStrategy: (_, __, error) => pauseAfter(error!) },
        ...LEASE,
        ...RECOVERY,
      }) as unknown as Worker<Wish>
    },
    close: () => queue.close().catch(() => {}),
  }
}
