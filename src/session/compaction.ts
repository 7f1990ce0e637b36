import { stopError } from '../agent/reactOptions.ts'
import type { Message } from '../shared/message.ts'
import type { MarkRecord, ThreadRecord } from '../shared/record.ts'
import { estimateTokens } from '../shared/tokenEstimate.ts'
import { type CompactionPlan, type ContextBudget, planCompaction } from './compactionPlan.ts'
import { type SummaryParts, summarise } from './compactionSummary.ts'
import { contextSize } from './compactionTokens.ts'
import type { Thread } from './thread.ts'
import { latestSummary, modelView } from './view.ts'

export interface CompactionOptions extends SummaryParts {
  /** As the run holds it; `append` keeps it up to date. */
  thread: Pick<Thread, 'key' | 'records'>
  /** Stores the next record and adds it to `thread.records`. */
  append(record: ThreadRecord): Promise<unknown>
  budget: ContextBudget
  /** What `overheadTokens(systemPrompt, tools)` says of the request. Default 0. */
  overheadTokens?: number
  /** The server refused the request as too long (`ModelError` of kind `contextOverflow`). Default false. */
  overflow?: boolean
  /** Milliseconds since the epoch; default `Date.now`. */
  now?: () => number
}

/** What was done to the thread; of several steps the one that took most away: a cut, a summary, pruned results. */
export type Compaction = 'none' | 'pruned' | 'summarised' | 'cut'

/** A summary and a few steps of pruning settle any thread; the bound is there for a summary that is too long itself. */
const MOST_STEPS = 4
/** The summariser's window is taken to be as large as the budget, and half of what overflowed after an overflow. */
const AFTER_OVERFLOW = 0.5
/** A summary larger than this part of what was sent is no summary. */
const LARGEST_SUMMARY = 0.5
const CUT_NOTE =
  '[An earlier part of this conversation was left out because it grew too long, and no summary of it could be made. People can still see it in the thread; ask them if it matters.]'

/**
 * Brings a thread that has grown too long for the model back below its budget, by marks that change what the model is shown;
 * the records stay complete. To be called when no call is open: before a person's message is answered, and once after a
 * context overflow, before the same request is made again; `'none'` then means that nothing helps.
 *
 * The early part is summarised by the model of the role `summarizer`; where that fails twice, it is cut and a note says so.
 * Rejects when `signal` aborts and with what `append` rejects with; a crash between two steps leaves a valid thread.
 */
export async function compactIfNeeded(options: CompactionOptions): Promise<Compaction> {
  const { thread, append, budget, overheadTokens = 0, log, now = Date.now } = options
  const before = contextSize(thread.records, overheadTokens)
  if (before.cutByServer) {
    const text = 'the model server counts far fewer tokens than were sent; it may cut requests silently'
    log.warn({ thread: thread.key, tokens: before.tokens }, text)
  }
  let done: Compaction = 'none'
  let goal = budget
  for (let step = 0; step < MOST_STEPS; step++) {
    const overflow = options.overflow === true && step === 0
    const plan = planCompaction({ records: thread.records, budget: goal, overheadTokens, overflow })
    if (plan.kind === 'none') break
    // Half of what overflowed, in all steps together.
    if (overflow)
      goal = { ...budget, contextTokens: Math.min(budget.contextTokens, Math.floor(plan.tokens * AFTER_OVERFLOW)) }
    const { record, kind } = await markOf(plan, options)
    if (options.signal.aborted) throw stopError(options.signal)
    await append({ v: 1, kind: 'mark', at: now(), ...record })
    done = weightier(done, kind)
    const tokens = contextSize(thread.records, overheadTokens).tokens
    log.info({ thread: thread.key, kind, from: plan.tokens, to: tokens }, 'a thread was compacted')
  }
  return done
}

type Fields<M = MarkRecord> = M extends MarkRecord ? Omit<M, 'v' | 'kind' | 'at'> : never

async function markOf(
  plan: Exclude<CompactionPlan, { kind: 'none' }>,
  options: CompactionOptions,
): Promise<{ record: Fields; kind: Compaction }> {
  const { upTo } = plan
  if (plan.kind === 'prune') return { record: { mark: 'pruned', upTo, keep: plan.keep }, kind: 'pruned' }
  const { earlier, messages } = earlyPart(options.thread, upTo)
  const window = options.overflow ? plan.tokens * AFTER_OVERFLOW : Infinity
  const most = Math.floor(Math.min(options.budget.contextTokens, window))
  const summary = await summarise(earlier, messages, most, options)
  // A summary as long as what it stands for gains nothing; it would be made again with every message.
  if (summary !== null && estimateTokens(summary) < most * LARGEST_SUMMARY) {
    return { record: { mark: 'compacted', upTo, summary }, kind: 'summarised' }
  }
  const kept = earlier?.replaceAll(CUT_NOTE, '').trim()
  return {
    record: { mark: 'compacted', upTo, summary: [kept, CUT_NOTE].filter(Boolean).join('\n\n') },
    kind: 'cut',
  }
}

/** The earlier summary, and what the model sees between it and the border: messages, and notes about stops. */
function earlyPart(
  thread: Pick<Thread, 'records'>,
  upTo: number,
): { earlier: string | undefined; messages: Message[] } {
  const earlier = latestSummary(thread.records)
  const view = modelView(thread)
  const border = view.messages.findIndex((message) => (view.seqOf(message) ?? -1) >= upTo)
  // The view begins with the earlier summary where there is one.
  return { earlier, messages: view.messages.slice(earlier === undefined ? 0 : 1, border < 0 ? undefined : border) }
}

const WEIGHT: readonly Compaction[] = ['none', 'pruned', 'summarised', 'cut']

function weightier(one: Compaction, other: Compaction): Compaction {
  return WEIGHT.indexOf(one) > WEIGHT.indexOf(other) ? one : other
}
