import type { ContentPart, Message, UserMessage } from '../shared/message.ts'
import { unanswered } from '../shared/message.ts'
import type { MarkRecord, MessageRecord } from '../shared/record.ts'
import { prunedResult } from './prunedResult.ts'
import type { NumberedRecord } from './thread.ts'

/** What the model sees of a thread, without the system prompt. */
export interface ModelView {
  messages: Message[]
  /** The number of the record that a message of this view stands for; `undefined` for what the view itself put in. */
  seqOf(message: Message): number | undefined
  /** True for a message of a person that entered a run under way. */
  isSteering(message: Message): boolean
}

const SUMMARY_HEADING = '[Summary of the earlier conversation, written by a model]'
const BACKGROUND_HEADING = '[Earlier talk in this thread, for background; it was not addressed to you]'
/** Longer names are cut: a name is there to tell people apart, not to say something. */
const NAME_CHARACTERS = 40

/**
 * The records as the model sees them: the latest summary first, then what it leaves out, nothing from before the last
 * boundary. Messages of people say who speaks and stay apart, because the start of a message is the one place where a name
 * counts. Marks are left out except for a stop, which the model would otherwise take for its own silence; results of tools
 * that a mark says to prune are shown in part. What the view shows of a record changes with such a mark or a summary only, so
 * between them every view begins with the one before it.
 *
 * Pure: the same records give the same messages, and no record is changed.
 */
export function modelView(thread: { readonly records: readonly NumberedRecord[] }): ModelView {
  const visible = afterLastBoundary(thread.records)
  const summary = lastSummary(visible)
  const shownOf = resultLimits(visible)
  const messages: Message[] = summary ? [user(`${SUMMARY_HEADING}\n${summary.summary}`)] : []
  const seqs = new Map<Message, number>()
  const steering = new Set<Message>()

  let stop: UserMessage | undefined
  for (const { seq, record } of visible) {
    if (summary && seq < summary.upTo) continue
    if (record.kind === 'mark') {
      if (record.mark === 'stopped') stop = stopNote(record)
      continue
    }
    // A note between calls and their results would make the calls look unanswered for ever.
    if (stop && record.message.role !== 'tool') {
      messages.push(stop)
      stop = undefined
    }
    const message = modelMessage(record)
    if (message.role === 'tool') message.content = prunedResult(message.content, shownOf(seq))
    messages.push(message)
    seqs.set(message, seq)
    if (record.steered) steering.add(message)
  }
  if (stop && unanswered(messages).length === 0) messages.push(stop)
  return { messages, seqOf: (message) => seqs.get(message), isSteering: (message) => steering.has(message) }
}

/** One record as the model sees it: with the name of the person who said it, or marked as background. */
export function modelMessage({ message, author, background }: MessageRecord): Message {
  if (message.role !== 'user') return { ...message }
  const name = author ? `${speaker(author)}: ` : ''
  return withPrefix(message, background ? `${BACKGROUND_HEADING}\n${name}` : name)
}

/**
 * A name as it can stand before a colon: one line, no colons or brackets (with which it could end itself early or look like
 * one of our headings), no invisible or direction-changing characters, at most 40 characters.
 */
export function speaker({ id, name }: { id: string; name: string }): string {
  return plainName(name) || plainName(id) || 'somebody'
}

function plainName(name: string): string {
  const line = name
    .normalize('NFKC')
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Zs}:\u02d0\u02f8\u0589\u05c3\u2236\ua789[\]<>`]+/gu, ' ')
    .trim()
  return Array.from(new Intl.Segmenter().segment(line.slice(0, NAME_CHARACTERS * 10)), ({ segment }) => segment)
    .slice(0, NAME_CHARACTERS)
    .join('')
    .trim()
}

function withPrefix(message: UserMessage, prefix: string): UserMessage {
  const { content } = message
  if (typeof content === 'string') return user(prefix + content)
  const [first, ...rest] = content
  if (prefix === '') return user([...content])
  if (first?.type === 'text') return user([{ type: 'text', text: prefix + first.text }, ...rest])
  return user([{ type: 'text', text: prefix.trimEnd() }, ...content])
}

function user(content: string | ContentPart[]): UserMessage {
  return { role: 'user', content }
}

function stopNote({ by }: MarkRecord & { mark: 'stopped' }): UserMessage {
  return user(`[${by ? speaker({ id: '', name: by }) : 'Somebody'} stopped your work here. It was not finished.]`)
}

function afterLastBoundary(records: readonly NumberedRecord[]): readonly NumberedRecord[] {
  const at = records.findLastIndex(({ record }) => record.kind === 'mark' && record.mark === 'boundary')
  return records.slice(at + 1)
}

function lastSummary(records: readonly NumberedRecord[]): (MarkRecord & { mark: 'compacted' }) | undefined {
  for (const { record } of records.toReversed()) {
    if (record.kind === 'mark' && record.mark === 'compacted') return record
  }
  return undefined
}

/** How many characters of the result in a record are shown: as few as any mark about it says, else all. */
function resultLimits(records: readonly NumberedRecord[]): (seq: number) => number {
  const marks = records.flatMap(({ record }) => (record.kind === 'mark' && record.mark === 'pruned' ? [record] : []))
  return (seq) => marks.reduce((least, { upTo, keep }) => (seq < upTo ? Math.min(least, keep) : least), Infinity)
}

/** The summary that the model sees now, if any. */
export function latestSummary(records: readonly NumberedRecord[]): string | undefined {
  return lastSummary(afterLastBoundary(records))?.summary
}
