import pg from 'pg'
import { inTime } from '../inTime.ts'
import { type Bus, createTopics, packed, type ServerBusOptions, unpacked } from './bus.ts'

const RECONNECT_MS = 1_000
/** How often the hearing connection is tried: one that died without a word is noticed by that. */
const CHECK_MS = 10_000

/** By PostgreSQL's LISTEN and NOTIFY. Rejects when the server can't be reached. */
export async function postgresBus(url: string, { log, timeoutMs, namespace }: ServerBusOptions): Promise<Bus> {
  const topics = createTopics()
  const channel = `${namespace}_bus`
  const settings = {
    connectionString: url,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    application_name: 'toycoder-bus',
    keepAlive: true,
  }
  const pool = new pg.Pool({ ...settings, max: 1 })
  pool.on('error', (error) => log.warn({ error }, 'an idle connection of the bus failed; a new one is opened'))
  let hearer: pg.Client | null = null
  let closed = false
  let retry: NodeJS.Timeout | undefined

  async function hear(): Promise<void> {
    const client = new pg.Client(settings)
    let lost = false
    const onLost = (error?: Error) => {
      if (lost) return
      lost = true
      if (hearer === client) hearer = null
      client.end().catch(() => {})
      if (closed) return
      log.warn({ error }, 'the bus hears nothing until it is connected again')
      hearAgain()
    }
    client.on('error', onLost)
    client.on('end', () => onLost())
    client.on('notification', ({ payload }) => {
      const word = unpacked(payload ?? '')
      if (word) topics.tell(word.topic, word.message)
    })
    try {
      await client.connect()
      await client.query(`LISTEN ${channel}`)
    } catch (error) {
      lost = true
      client.end().catch(() => {})
      throw error
    }
    hearer = client
    const check = setInterval(() => {
      if (lost) return clearInterval(check)
      client.query('SELECT 1').catch(onLost)
    }, CHECK_MS)
    check.unref()
  }

  function hearAgain(): void {
    retry = setTimeout(() => {
      if (!closed) hear().catch(hearAgain)
    }, RECONNECT_MS)
    retry.unref()
  }

  try {
    await hear()
  } catch (error) {
    await pool.end()
    throw error
  }
  return {
    async publish(topic, message) {
      const word = packed(topic, message)
      await inTime('publish', pool.query('SELECT pg_notify($1, $2)', [channel, word]), timeoutMs)
    },
    subscribe: topics.subscribe,
    async close() {
      closed = true
      clearTimeout(retry)
      topics.clear()
      await Promise.allSettled([hearer?.end(), pool.end()])
    },
  }
}
