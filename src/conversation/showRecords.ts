import type { NumberedRecord } from '../session/thread.ts'
import { PlatformError, type PlatformErrorKind } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import { textOf } from '../shared/message.ts'
import type { MessageRecord } from '../shared/record.ts'
import type { MessageRef } from '../shared/thread.ts'
import { addCall, footerText, noTotals, type TurnTotals } from './footer.ts'
import type { OpenThread } from './openThread.ts'

/** Names the message that shows an answer, and the reply that shows a call; stable over restarts because records are. */
export const stepKey = (seq: number) => `s${seq}`
export const callKey = (seq: number, index: number) => `c${seq}.${index}`

/**
 * Shows a record that is in the store. Showing it again (after a restart) changes nothing that people see, because every
 * message has a key. Rejects when an answer could not be shown.
 */
export async function showRecord(open: OpenThread, seq: number): Promise<void> {
  const { view, wording } = open
  const record = recordAt(open, seq)
  if (record.kind === 'mark') {
    if (record.mark === 'failed') await view.settle(stepKey(seq), below(record.partial, `⚠️ ${record.reason}`))
    if (record.mark === 'stopped') {
      await view.settle(
        stepKey(seq),
        below(record.partial, `_${record.by ? wording.stoppedBy(record.by) : wording.stopped}_`),
      )
    }
    if (record.mark === 'handled' && record.what === 'empty') await view.settle(stepKey(seq), wording.emptyAnswer)
    return
  }
  const { message } = record
  if (message.role === 'assistant') {
    const isAnswer = !message.tool_calls?.length
    const text = textOf(message)
    const footer = isAnswer ? { footer: footerText(totalsAt(open.thread.records, seq)) } : {}
    if (!text.trim()) return
    const [first] = await view.settle(stepKey(seq), text, footer)
    if (isAnswer && first) await tellOfLongAnswer(open, seq, record.durationMs ?? 0, first)
  }
  if (message.role === 'tool') {
    const call = callOf(open.thread.records, seq)
    if (call) await view.toolResult(call.key, call.name, call.args, message.content, record.failed ?? false)
  }
}

/**
 * Edits notify nobody: who looked away while a long answer grew would never learn that it is whole. So a short message
 * follows it, for the person who asked, with a link to where the answer starts.
 */
async function tellOfLongAnswer(open: OpenThread, seq: number, durationMs: number, first: MessageRef): Promise<void> {
  const { view, wording, platform, ref, notifyAfterMs } = open
  // The console's page reads answers out when they are whole.
  if (durationMs < notifyAfterMs || platform.name === 'console') return
  const asker = askerOf(open.thread.records, seq)
  const link = await platform.permalink(ref, first).catch(() => null)
  const text = wording.longAnswer(asker ? `<@${asker}>` : '', Math.round(durationMs / 60_000), link)
  await view.notice(`d${seq}`, text, asker ? { mentions: [asker] } : {})
}

/** Shows everything that is stored and was not confirmed as shown, in order. */
export async function showRest(open: OpenThread, log: Log): Promise<void> {
  for (const { seq } of open.thread.records) {
    if (seq >= open.thread.shownBelow) await showIfPossible(open, seq, log)
  }
}

/**
 * Like `showRecord`, but where the platform has no place for it any more (the thread is gone, a right was taken away) the
 * record stays in the store and the run goes on. Other failures reject: the thread is woken again and shows it then.
 */
export async function showIfPossible(open: OpenThread, seq: number, log: Log): Promise<void> {
  try {
    await showRecord(open, seq)
  } catch (error) {
    if (!isHopeless(error)) throw error
    log.error({ thread: open.key, seq, error }, 'a record could not be shown and will not be')
  }
}

/** The platform will not take it later either. */
export function isHopeless(error: unknown): boolean {
  return error instanceof PlatformError && HOPELESS.has(error.kind)
}

const HOPELESS = new Set<PlatformErrorKind>(['notFound', 'forbidden', 'invalid', 'notEditable'])

function recordAt(open: OpenThread, seq: number): NumberedRecord['record'] {
  const found = open.thread.records.findLast((one) => one.seq === seq)
  if (!found) throw new Error(`record ${seq} of ${open.key} is not in the part of the thread that is open`)
  return found.record
}

function below(partial: string, line: string): string {
  return partial.trim() ? `${partial.trimEnd()}\n\n${line}` : line
}

/** The call that a result belongs to: results stand behind their assistant message in call order, by position where ids repeat. */
function callOf(records: readonly NumberedRecord[], seq: number): { key: string; name: string; args: string } | null {
  const at = records.findIndex((one) => one.seq === seq)
  const assistantAt = records.findLastIndex(({ record }, index) => index < at && isAssistant(record))
  const assistant = records[assistantAt]
  if (assistant?.record.kind !== 'message' || assistant.record.message.role !== 'assistant') return null
  const id = toolCallId(records[at]!.record)
  const taken = records.slice(assistantAt + 1, at).filter(({ record }) => toolCallId(record) === id).length
  const calls = (assistant.record.message.tool_calls ?? []).map((call, index) => ({ call, index }))
  const found = calls.filter(({ call }) => call.id === id)[taken]
  if (!found) return null
  const { name, arguments: args } = found.call.function
  return { key: callKey(assistant.seq, found.index), name, args }
}

function isAssistant(record: NumberedRecord['record']): boolean {
  return record.kind === 'message' && record.message.role === 'assistant'
}

function toolCallId(record: NumberedRecord['record']): string | null {
  return record.kind === 'message' && record.message.role === 'tool' ? record.message.tool_call_id : null
}

/** Whoever began the turn that ends with this answer. */
function askerOf(records: readonly NumberedRecord[], seq: number): string | undefined {
  const asked = records.findLast((one) => one.seq < seq && beginsTurn(one.record))?.record
  return asked?.kind === 'message' ? asked.author?.id : undefined
}

/** What the turn that ends with this answer took: all model calls since the message that began it. */
function totalsAt(records: readonly NumberedRecord[], seq: number): TurnTotals {
  const totals = noTotals()
  const end = records.findIndex((one) => one.seq === seq)
  const begin = records.findLastIndex(({ record }, index) => index < end && beginsTurn(record))
  for (const { record } of records.slice(begin + 1, end + 1)) {
    if (record.kind === 'message' && record.message.role === 'assistant') addCall(totals, record)
  }
  return totals
}

function beginsTurn(record: NumberedRecord['record']): record is MessageRecord {
  return record.kind === 'message' && record.message.role === 'user' && !record.steered
}
