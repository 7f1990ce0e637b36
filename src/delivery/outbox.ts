import type { MessageBody } from '../platform/platform.ts'
import type { MessageRef, ThreadRef } from '../shared/thread.ts'

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

  /** Where the text of `key` was cut because of what was shown then; the text alone does not tell, so it is kept. */
  cut(key: string, cuts: StoredCuts): Promise<void>
  cuts(key: string): Promise<StoredCuts | undefined>

  /** Something that is still to be done with a message when there is time for it, if need be by the next process. */
  leave(leftover: Leftover): Promise<void>
  leftover(key: string): Promise<Leftover | undefined>
  leftovers(): Promise<Leftover[]>
  tidied(key: string): Promise<void>
}

/** A message whose text is whole in the thread, but that still looks live, or that another one has replaced. */
export interface Leftover {
  /** The key of the message. */
  key: string
  thread: ThreadRef
  ref: MessageRef
  /** What it is to say; `null`: it is to go. */
  body: MessageBody | null
  /** Some of what it shows stands in another message, too. */
  isTwice?: boolean
}

/** `length` is that of the text, so that the cuts are never taken for those of another one. */
export interface StoredCuts {
  length: number
  cuts: readonly ForcedCut[]
}

/** A place in the source where one message ends and the next begins, and what is added there for well-formedness. */
export interface ForcedCut {
  /** Where that message begins. */
  from: number
  at: number
  closed: string
  next: string
}

export type OutboxEntry = { state: 'intended' } | { state: 'posted' | 'settled'; ref: MessageRef }
