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
  /** BCP 47, of the person who is answered; absent where the platform did not tell it. */
  locale?: string | undefined
  /** An answer that was written for so long ends with a message of its own, in milliseconds. */
  notifyAfterMs: number
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
  // Commands are carried out while calls wait for people, and compaction leaves its marks: neither ends a run.
  const last = thread.records.findLast(({ record }) => record.kind === 'message' || endsRun(record))?.record
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

/** Ids of the messages that the open run answers: the one that began it, and those that steered it since. */
export function askedBy(thread: Thread): string[] {
  const begin = beginningOf(thread)
  const from = thread.records.findLastIndex(({ record }) => record === begin)
  return thread.records.slice(Math.max(0, from)).flatMap(({ record }) => record.source?.ref?.id || [])
}

/** Everybody whose message entered since the last answer, each once; whoever spoke last comes last. */
export function requestersOf(thread: Thread): { id: string; name: string }[] {
  const people = new Map<string, { id: string; name: string }>()
  for (const { record } of thread.records) {
    if (record.kind !== 'message') {
      if (endsRun(record)) people.clear()
      continue
    }
    const { message, author } = record
    if (message.role === 'assistant' && !message.tool_calls?.length) people.clear()
    if (!author) continue
    people.delete(author.id)
    people.set(author.id, author)
  }
  return [...people.values()]
}

/** Marks after which whatever is asked is asked anew. */
function endsRun(record: MarkRecord): boolean {
  if (record.mark === 'handled') return record.what === 'empty' || record.what === 'stop'
  return record.mark === 'stopped' || record.mark === 'failed' || record.mark === 'boundary'
}

type MarkFields<M = MarkRecord> = M extends MarkRecord ? Omit<M, 'v' | 'kind' | 'at'> : never

export function mark(now: number, fields: MarkFields): MarkRecord {
  return { v: 1, kind: 'mark', at: now, ...fields } as MarkRecord
}

/** The channel that a thread is in, as usage and switches name it. */
export function channelOf({ platform, account, channel }: ThreadRef): {
  platform: string
  account: string
  id: string
} {
  return { platform, account, id: channel }
}
