import type { ThreadView } from '../delivery/threadView.ts'
import type { ChatPlatform } from '../platform/platform.ts'
import type { Thread, ThreadStore } from '../session/thread.ts'
import type { MarkRecord, MessageRecord, ThreadRecord } from '../shared/record.ts'
import type { ThreadRef } from '../shared/thread.ts'
import type { Wording } from '../shared/wording/wording.ts'

/** A thread while this process works in it: its records as they stand in the store, and where they are shown. */
export interface OpenThread {
  key: string
  ref: ThreadRef
  thread: Thread
  platform: ChatPlatform
  view: ThreadView
  wording: Wording
  now(): number
  /** Stores the next record. Rejects with `StaleThread` when another run was faster: then this one stops. */
  append(record: ThreadRecord): Promise<number>
}

/** Appends keep the thread in memory equal to the store, so that nothing is read twice. */
export function appender(threads: ThreadStore, thread: Thread): OpenThread['append'] {
  return async (record) => {
    const seq = thread.nextSeq
    await threads.append(thread.key, seq, record)
    thread.records.push({ seq, record })
    thread.nextSeq = seq + 1
    if (record.source) thread.nextSlot = Math.max(thread.nextSlot, record.source.slot + 1)
    return seq
  }
}

/**
 * The message record on which a run still has to work: the last record is a person's message, a result, or an assistant
 * message with calls. `null` when the thread stands at an answer or at a mark that ended its run.
 */
export function openRun(thread: Thread): MessageRecord | null {
  const last = thread.records.findLast(
    ({ record }) => !(record.kind === 'mark' && (record.mark === 'compacted' || record.mark === 'pruned')),
  )?.record
  if (last?.kind !== 'message' || last.background) return null
  if (last.message.role === 'assistant' && !last.message.tool_calls?.length) return null
  return last
}

/** The person's message that the open run answers; a steering message does not begin a run. */
export function beginningOf(thread: Thread): MessageRecord | null {
  const found = thread.records.findLast(
    ({ record }) =>
      record.kind === 'message' && record.message.role === 'user' && !record.steered && !record.background,
  )
  return (found?.record as MessageRecord | undefined) ?? null
}

type MarkFields<M = MarkRecord> = M extends MarkRecord ? Omit<M, 'v' | 'kind' | 'at'> : never

export function mark(now: number, fields: MarkFields): MarkRecord {
  return { v: 1, kind: 'mark', at: now, ...fields } as MarkRecord
}
