import { Redis } from 'ioredis'
import { inTime } from '../inTime.ts'
import { type Bus, createTopics, packed, type ServerBusOptions, unpacked } from './bus.ts'

/** By Redis' own channels. Rejects when the server can't be reached. */
export async function redisBus(url: string, { log, timeoutMs, namespace }: ServerBusOptions): Promise<Bus> {
  const topics = createTopics()
  const channel = `${namespace}:bus`
  const connect = async (name: string) => {
    const client = new Redis(url, {
      lazyConnect: true,
      connectTimeout: timeoutMs,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 6), 1_000),
      connectionName: name,
    })
    client.on('error', (error) => log.warn({ error }, 'the connection of the bus failed; it is opened again'))
    await client.connect().catch((error) => {
      client.disconnect()
      throw error
    })
    return client
  }
  const speaker = await connect('toycoder-bus')
  // Subscribes anew by itself after each reconnection.
  const hearer = await connect('toycoder-bus-hears')
  hearer.on('message', (_, text: string) => {
    const word = unpacked(text)
    if (word) topics.tell(word.topic, word.message)
  })
  await hearer.subscribe(channel)

  return {
    async publish(topic, message) {
      const text = packed(topic, message)
      await inTime('publish', speaker.publish(channel, text), timeoutMs)
    },
    subscribe: topics.subscribe,
    async close() {
      topics.clear()
      hearer.disconnect()
      speaker.disconnect()
    },
  }
}
