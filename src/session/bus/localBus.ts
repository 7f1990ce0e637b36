import { type Bus, createTopics, packed } from './bus.ts'

/** The bus of an instance that is alone. */
export function createLocalBus(): Bus {
  const topics = createTopics()
  return {
    async publish(topic, message) {
      packed(topic, message)
      topics.tell(topic, message)
    },
    subscribe: topics.subscribe,
    close: async () => topics.clear(),
  }
}
