import type { MessageRef } from '../shared/thread.ts'

/**
 * What delivery remembers of every message it sends: the intent before the call, the reference after it. After a crash
 * between the two the next attempt is `inDoubt`, and the platform looks for the key before it sends again.
 */
export interface Outbox {
  find(key: string): Promise<OutboxEntry | undefined>
  intend(key: string): Promise<void>
  posted(key: string, ref: MessageRef): Promise<void>
  /** The final text is confirmed: nothing of this key is touched again. */
  settled(key: string): Promise<void>
  /** The message is gone (deleted); the next post with this key is a new one. */
  forget(key: string): Promise<void>
}

export type OutboxEntry = { state: 'intended' } | { state: 'posted' | 'settled'; ref: MessageRef }
