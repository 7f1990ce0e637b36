import type { ToolSchema } from '../client/baseClient.ts'
import { estimateTokens, messageTokens, PER_MESSAGE } from '../shared/tokenEstimate.ts'
import type { NumberedRecord } from './thread.ts'
import { modelView } from './view.ts'

/**
 * Bounds of reported to estimated tokens. A server that reports much less than the estimate has cut the request silently
 * (Ollama does); believing it would keep the thread from ever being compacted.
 */
const LEAST_RATIO = 0.75
const MOST_RATIO = 4

/** Tokens of what goes along with every request beside the records. */
export function overheadTokens(systemPrompt: string, tools: readonly ToolSchema[]): number {
  return PER_MESSAGE + estimateTokens(systemPrompt) + estimateTokens(JSON.stringify(tools))
}

export interface ContextSize {
  /** The next request in tokens, as far as can be told. */
  tokens: number
  /** Tokens that the server counts for each one of our estimate; 1 until a response has told. */
  ratio: number
  /** True where the server reported so few tokens that it must have cut the request. */
  cutByServer: boolean
}

/**
 * How large the next request is. The usage of the last response says how far our estimate is off for this thread's model and
 * kind of text; so calibrated, the estimate of what the model sees now is that usage plus what came after it, and it holds
 * after results were pruned or a summary took their place, too.
 *
 * `overhead` is what `overheadTokens` says of the system prompt and the tools.
 */
export function contextSize(records: readonly NumberedRecord[], overhead: number): ContextSize {
  const { ratio, cutByServer } = calibration(records, overhead)
  const tokens = Math.ceil(ratio * (overhead + viewTokens(records)))
  return { tokens, ratio, cutByServer }
}

/** What the model sees of the records, in estimated tokens that nothing has calibrated. */
export function viewTokens(records: readonly NumberedRecord[]): number {
  return modelView({ records }).messages.reduce((sum, message) => sum + messageTokens(message), 0)
}

function calibration(records: readonly NumberedRecord[], overhead: number): Omit<ContextSize, 'tokens'> {
  for (let at = records.length - 1; at >= 0; at--) {
    const { record } = records[at]!
    if (record.kind !== 'message' || record.usage?.estimated) continue
    const reported = record.usage?.inputTokens
    if (!reported || answersCommand(records.slice(0, at))) continue
    // The request that this was the answer to is what the model saw of the records before it.
    const before = records.slice(0, at)
    if (!isWhole(before)) break
    const estimated = overhead + viewTokens(before)
    if (estimated === 0) break
    const ratio = reported / estimated
    return {
      ratio: Math.min(MOST_RATIO, Math.max(LEAST_RATIO, ratio)),
      cutByServer: ratio < LEAST_RATIO / 2 && reported >= SMALLEST_WINDOW / 2,
    }
  }
  return { ratio: 1, cutByServer: false }
}

/** The answer to a command is a specialist's, who did not see the thread: its usage says nothing of the thread's size. */
function answersCommand(before: readonly NumberedRecord[]): boolean {
  const asked = before.findLast(
    ({ record }) =>
      record.kind === 'message' && record.message.role === 'user' && !record.steered && !record.background,
  )?.record
  return asked?.kind === 'message' && asked.command !== undefined
}

/** Whether the records hold all that the model saw then: a thread is loaded from its latest summary on. */
function isWhole(records: readonly NumberedRecord[]): boolean {
  const first = records[0]?.seq ?? 0
  for (const { record } of records.toReversed()) {
    if (record.kind === 'mark' && record.mark === 'boundary') return true
    if (record.kind === 'mark' && record.mark === 'compacted') return first <= record.upTo
  }
  return first === 0
}

/** Below half of this many tokens a low count says nothing: no server has a smaller window. */
const SMALLEST_WINDOW = 4_096
