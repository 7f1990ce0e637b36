import type { ThreadRecord } from '../shared/record.ts'
import type { ThreadRef } from '../shared/thread.ts'

/** What is known of a thread beside its records. Written when the thread is first seen. */
export interface ThreadHead {
  v: 1
  ref: ThreadRef
  title: string
  createdAt: number
}

/** A thread as a run holds it. */
export interface Thread {
  key: string
  head: ThreadHead | undefined
  /** The records that the model's view is made of: those after the last boundary or summary (and that mark itself), ascending. */
  records: NumberedRecord[]
  /** The number of the next record. */
  nextSeq: number
  /** The first inbox slot that no record has taken yet. */
  nextSlot: number
  /** Every record below this number has been shown to people. */
  shownBelow: number
}

export interface NumberedRecord {
  seq: number
  record: ThreadRecord
}

export interface ThreadStore {
  open(key: string): Promise<Thread>
  /** Whether the thread has a head, which means that the bot takes part in it. */
  exists(key: string): Promise<boolean>
  /** Creates the head if there is none; keeps the one that is there. */
  ensureHead(head: ThreadHead): Promise<void>
  /** Put if absent at `seq`. Rejects with `StaleThread` when another writer was there first. */
  append(key: string, seq: number, record: ThreadRecord): Promise<void>
  /** All records from 0, in pages, for the transcript; memory stays flat. */
  all(key: string): AsyncGenerator<NumberedRecord>
  markShown(key: string, below: number): Promise<void>
  /** Heads of known threads, those in which a person spoke last first. `limit` (default 50) bounds what is read, too. */
  heads(options?: { limit?: number }): Promise<ThreadHead[]>
}
