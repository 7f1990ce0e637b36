import type { Usage } from '../shared/message.ts'
import type { Wording } from '../shared/wording/wording.ts'

/** Usage of several calls added up. What no call reported is 0 here; the `without` counts say how much of it is unknown. */
export interface UsageTotals {
  calls: number
  inputTokens: number
  /** Part of `inputTokens`. */
  cachedInputTokens: number
  /** Part of `inputTokens`. */
  cacheWriteTokens: number
  /** Includes reasoning tokens. */
  outputTokens: number
  reasoningTokens: number
  /** US dollars of the calls whose cost is known. */
  costUsd: number
  /** Calls whose server told no counts at all. */
  callsWithoutTokens: number
  /** Calls for which neither the provider nor the configured prices give a cost: the real cost is higher than `costUsd`. */
  callsWithoutCost: number
  /** Calls whose counts are our own estimate. */
  callsEstimated: number
}

export function noUsage(): UsageTotals {
  return {
    calls: 0,
    inputTokens: 0,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    costUsd: 0,
    callsWithoutTokens: 0,
    callsWithoutCost: 0,
    callsEstimated: 0,
  }
}

/** Adds one call to the totals. */
export function addCall(totals: UsageTotals, usage: Usage): void {
  totals.calls += 1
  totals.inputTokens += usage.inputTokens ?? 0
  totals.cachedInputTokens += usage.cachedInputTokens ?? 0
  totals.cacheWriteTokens += usage.cacheWriteTokens ?? 0
  totals.outputTokens += usage.outputTokens ?? 0
  totals.reasoningTokens += usage.reasoningTokens ?? 0
  totals.costUsd += usage.costUsd ?? 0
  if (usage.inputTokens === undefined && usage.outputTokens === undefined) totals.callsWithoutTokens += 1
  if (usage.costUsd === undefined) totals.callsWithoutCost += 1
  if (usage.estimated) totals.callsEstimated += 1
}

/** Adds other totals to the totals. */
export function addTotals(totals: UsageTotals, other: UsageTotals): void {
  for (const key of Object.keys(totals) as (keyof UsageTotals)[]) totals[key] += other[key]
}

/** What the command `usage` says: one line for each of the totals, Markdown. `askedBy` is the name of the person. */
export function usageText(
  { thread, person, today }: { thread: UsageTotals; person: UsageTotals; today: UsageTotals },
  askedBy: string,
  wording: Wording,
): string {
  const row = (label: string, totals: UsageTotals) => `- **${label}**: ${totalsText(totals, wording)}`
  return [
    row(wording.usageThread, thread),
    row(wording.usagePersonToday(askedBy), person),
    row(wording.usageToday, today),
  ].join('\n')
}

function totalsText(totals: UsageTotals, wording: Wording): string {
  const { calls, inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = totals
  if (calls === 0) return wording.usageNone
  const parts = [wording.transcriptCalls(calls)]
  if (totals.callsWithoutTokens < calls) {
    parts.push(wording.usageInput(count(inputTokens), percent(cachedInputTokens, inputTokens)))
    parts.push(wording.usageOutput(count(outputTokens), reasoningTokens > 0 ? count(reasoningTokens) : '0'))
  }
  parts.push(costText(totals, wording))
  if (totals.callsWithoutTokens > 0) parts.push(wording.usageWithoutTokens(totals.callsWithoutTokens))
  if (totals.callsEstimated > 0) parts.push(wording.usageEstimated(totals.callsEstimated))
  return parts.join(' · ')
}

/** Never `$0` for what nobody knows. */
function costText({ calls, costUsd, callsWithoutCost }: UsageTotals, wording: Wording): string {
  if (callsWithoutCost === calls) return wording.usageCostUnknown
  const cost = `~$${costUsd < 0.01 ? Number(costUsd.toPrecision(2)) : costUsd.toFixed(2)}`
  return callsWithoutCost > 0 ? wording.usageCostPartly(cost, callsWithoutCost) : cost
}

function count(tokens: number): string {
  if (tokens < 1_000) return String(tokens)
  return tokens < 999_950 ? `${(tokens / 1_000).toFixed(1)}k` : `${(tokens / 1_000_000).toFixed(1)}M`
}

function percent(part: number, whole: number): string {
  return whole > 0 ? `${Math.round((100 * part) / whole)} %` : '0 %'
}
