import { type Message, unanswered } from '../shared/message.ts'
import type { MarkRecord, MessageRecord } from '../shared/record.ts'
import { messageTokens } from '../shared/tokenEstimate.ts'
import { contextSize } from './compactionTokens.ts'
import { prunedResult } from './prunedResult.ts'
import type { NumberedRecord } from './thread.ts'
import { modelView } from './view.ts'

/** `session` of the configuration, in tokens. */
export interface ContextBudget {
  /** Above this many a thread is compacted. Set it below the model's window by what an answer needs. */
  contextTokens: number
  /** About how many of the newest stay as they are. */
  keepRecentTokens: number
}

export type CompactionPlan =
  /** Nothing has to be done, or nothing that can be done would help. */
  | { kind: 'none'; tokens: number }
  /** Show results of tools before `upTo` with at most `keep` characters each. */
  | { kind: 'prune'; upTo: number; keep: number; tokens: number }
  /** Put a summary in the place of the records before `upTo`. */
  | { kind: 'summarise'; upTo: number; tokens: number }

export interface PlanInput {
  records: readonly NumberedRecord[]
  budget: ContextBudget
  /** See `contextSize`. */
  overheadTokens: number
  /** The server refused the request as too long, whatever the estimate says. */
  overflow: boolean
}

/** A step that does not get the thread below this part of its budget is too small: prompt caches are lost for little. */
const TARGET = 0.75
/** What gains less than this part of the request is not done. */
const LEAST_GAIN = 0.05
/** A request that overflowed is brought below this part of what it was. */
const AFTER_OVERFLOW = 0.5
/** Characters of an old result that are still shown; and of any result, where nothing else helps. */
const OLD_RESULT = 1_000
const ANY_RESULT = [16_000, 8_000, 4_000, 2_000, 500]

/**
 * What to do about a thread that has grown too long; one step, after which to plan again. Pure.
 *
 * Old results of tools are pruned first, if that is enough. Then the early part is summarised, up to a border between turns
 * that leaves about `keepRecentTokens` as they are; where the newest turns leave much room, to a border between the steps of
 * an older turn. The turn that stands open is never summarised: only its results can be pruned, down to the newest ones when
 * nothing else is left (a single result may be larger than the window). Nothing happens while calls are open.
 */
export function planCompaction(input: PlanInput): CompactionPlan {
  const { records, overheadTokens, overflow } = input
  const { tokens, ratio } = contextSize(records, overheadTokens)
  const none: CompactionPlan = { kind: 'none', tokens }
  const entries = visibleEntries(records, ratio)
  if (unanswered(entries.map(({ message }) => message)).length > 0) return none
  const budget = overflow ? tightened(input.budget, tokens) : input.budget
  if (tokens <= budget.contextTokens) return none

  const target = budget.contextTokens * TARGET
  const worthIt = tokens * LEAST_GAIN
  const next = records.at(-1)!.seq + 1
  const old = { kind: 'prune' as const, upTo: recentFrom(entries, budget.keepRecentTokens), keep: OLD_RESULT, tokens }
  const oldGain = pruneGain(entries, old)
  if (tokens - oldGain <= target) return old

  const border = borderFor(entries, records, budget.keepRecentTokens)
  if (border !== undefined && tokensBefore(entries, border) >= worthIt) {
    return { kind: 'summarise', upTo: border, tokens }
  }
  if (oldGain >= worthIt) return old
  const steps = ANY_RESULT.map((keep) => ({ kind: 'prune' as const, upTo: next, keep, tokens }))
  const enough = steps.find((step) => tokens - pruneGain(entries, step) <= target) ?? steps.at(-1)!
  return pruneGain(entries, enough) >= worthIt ? enough : none
}

/** The window is not known, only that it is smaller than the request was. */
function tightened(budget: ContextBudget, tokens: number): ContextBudget {
  const contextTokens = Math.min(budget.contextTokens, Math.floor(tokens * AFTER_OVERFLOW))
  return { contextTokens, keepRecentTokens: Math.min(budget.keepRecentTokens, Math.floor(contextTokens / 4)) }
}

/** A message of the view that stands for a record, with its calibrated size. */
interface Entry {
  seq: number
  message: Message
  tokens: number
  ratio: number
}

function visibleEntries(records: readonly NumberedRecord[], ratio: number): Entry[] {
  const view = modelView({ records })
  return view.messages.flatMap((message) => {
    const seq = view.seqOf(message)
    return seq === undefined ? [] : [{ seq, message, tokens: ratio * messageTokens(message), ratio }]
  })
}

function pruneGain(entries: readonly Entry[], { upTo, keep }: { upTo: number; keep: number }): number {
  return entries.reduce((gain, { seq, message, tokens, ratio }) => {
    if (message.role !== 'tool' || seq >= upTo) return gain
    const content = prunedResult(message.content, keep)
    return content === message.content ? gain : gain + tokens - ratio * messageTokens({ ...message, content })
  }, 0)
}

/** The record from which on at most `recentTokens` follow; behind the last one where that alone has more. */
function recentFrom(entries: readonly Entry[], recentTokens: number): number {
  let sum = 0
  for (const { seq, tokens } of entries.toReversed()) {
    sum += tokens
    if (sum > recentTokens) return seq + 1
  }
  return entries[0]?.seq ?? 0
}

function tokensBefore(entries: readonly Entry[], border: number): number {
  return entries.reduce((sum, { seq, tokens }) => (seq < border ? sum + tokens : sum), 0)
}

/**
 * Where the part that is summarised ends; `undefined` where nothing lies before any border. Turns begin at a message of a
 * person that is no steering, with the background that came along; a step is an answer of the model with its results.
 */
function borderFor(
  entries: readonly Entry[],
  records: readonly NumberedRecord[],
  recentTokens: number,
): number | undefined {
  const turns = turnBorders(records)
  const lastTurn = turns.at(-1)
  const first = entries[0]?.seq
  if (lastTurn === undefined || first === undefined) return undefined
  const recent = recentFrom(entries, recentTokens)
  const steps = entries.filter(({ message }) => message.role === 'assistant').map(({ seq }) => seq)

  const firstThatFits = (borders: readonly number[]) => borders.find((seq) => seq >= recent && seq > first)
  // Even one that leaves more than wanted is better than a cut through the open turn.
  const turn = firstThatFits(turns) ?? (lastTurn > first ? lastTurn : undefined)
  if (turn === undefined) return undefined
  const left = tokensFrom(entries, turn)
  if (left >= recentTokens / 2) return turn
  const step = firstThatFits(steps)
  return step === undefined ? turn : Math.min(step, turn)
}

function tokensFrom(entries: readonly Entry[], border: number): number {
  return entries.reduce((sum, { seq, tokens }) => (seq >= border ? sum + tokens : sum), 0)
}

function turnBorders(records: readonly NumberedRecord[]): number[] {
  const borders: number[] = []
  let background: number | undefined
  for (const { seq, record } of records) {
    if (!isSpoken(record) || record.steered) continue
    if (record.background) {
      background ??= seq
      continue
    }
    borders.push(background ?? seq)
    background = undefined
  }
  return borders
}

function isSpoken(record: MessageRecord | MarkRecord): record is MessageRecord {
  return record.kind === 'message' && record.message.role === 'user'
}
