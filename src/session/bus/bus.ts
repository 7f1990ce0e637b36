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

/** The longest message, in bytes of UTF-8: PostgreSQL's NOTIFY takes less than 8,000 with its own framing. */
export const MAX_MESSAGE_BYTES = 4_000
