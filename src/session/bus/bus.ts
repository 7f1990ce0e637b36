import type { Log } from '../../shared/log.ts'

/**
 * Words between the instances that share a store, such as "stop this run" or "look for new work". They are hints: one may
 * be lost (while a server is away) or come twice, so whatever must not be missed is in the store as well.
 */
export interface Bus {
  /**
   * Tells every subscriber of `topic`, on this instance too. Resolves when the word is on its way. Rejects with `StoreError`
   * where the server can't be reached within the store's time-out.
   */
  publish(topic: string, message: string): Promise<void>
  /** Answers how to end it. A listener must not throw. */
  subscribe(topic: string, listener: (message: string) => void): () => void
  close(): Promise<void>
}

export interface ServerBusOptions {
  log: Log
  /** How long one call may take, in ms. */
  timeoutMs: number
  /** What the channel is named after. */
  namespace: string
}

/** The longest message, in bytes of UTF-8: PostgreSQL's NOTIFY takes less than 8,000 with its own framing. */
export const MAX_MESSAGE_BYTES = 4_000

/** Who listens to what in this process. */
export interface Topics {
  subscribe: Bus['subscribe']
  tell(topic: string, message: string): void
  clear(): void
}

export function createTopics(): Topics {
  const listeners = new Map<string, Set<(message: string) => void>>()
  return {
    subscribe(topic, listener) {
      // One and the same function may listen twice; each ends its own.
      const own = (message: string) => listener(message)
      const all = listeners.get(topic) ?? new Set()
      listeners.set(topic, all.add(own))
      return () => {
        all.delete(own)
        if (all.size === 0 && listeners.get(topic) === all) listeners.delete(topic)
      }
    },
    tell(topic, message) {
      for (const listener of listeners.get(topic) ?? []) listener(message)
    },
    clear: () => listeners.clear(),
  }
}

/** A topic and its message as one text. Throws a `RangeError` where it is longer than every server takes. */
export function packed(topic: string, message: string): string {
  const text = JSON.stringify([topic, message])
  if (Buffer.byteLength(text) > MAX_MESSAGE_BYTES) throw new RangeError(`a message on "${topic}" is too long`)
  return text
}

/** The other way round; `null` for what is none of ours. */
export function unpacked(text: string): { topic: string; message: string } | null {
  try {
    const [topic, message] = JSON.parse(text)
    return typeof topic === 'string' && typeof message === 'string' ? { topic, message } : null
  } catch {
    return null
  }
}
