import type { Usage } from '../shared/message.ts'

/** What one turn cost, for the small print under its answer. */
export interface TurnTotals {
  model: string
  durationMs: number
  steps: number
  usage: Usage
  /** Calls whose cost nobody told: the whole cost is higher than what is known. */
  callsWithoutCost: number
}

export function noTotals(): TurnTotals {
  return { model: '', durationMs: 0, steps: 0, usage: {}, callsWithoutCost: 0 }
}

/** Adds one model call. A count that was not reported stays absent instead of becoming 0. */
export function addCall(
  totals: TurnTotals,
  call: { model?: string | undefined; durationMs?: number | undefined; usage?: Usage | undefined },
): void {
  totals.steps += 1
  totals.durationMs += call.durationMs ?? 0
  if (call.model) totals.model = call.model
  if (call.usage?.costUsd === undefined) totals.callsWithoutCost += 1
  if (!call.usage) return
  for (const key of ['inputTokens', 'cachedInputTokens', 'outputTokens', 'reasoningTokens', 'costUsd'] as const) {
    const count = call.usage[key]
    if (count !== undefined) totals.usage[key] = (totals.usage[key] ?? 0) + count
  }
  if (call.usage.estimated) totals.usage.estimated = true
}

/** For example `gpt-5 · 12.3 s · 3 steps · 12.3k in (82 % cached) · 1.1k out · ~$0.021`. Parts that are not known are left out. */
export function footerText({ model, durationMs, steps, usage, callsWithoutCost }: TurnTotals): string {
  const parts = [model, `${(durationMs / 1000).toFixed(1)} s`]
  if (steps > 1) parts.push(`${steps} steps`)
  if (usage.inputTokens !== undefined) {
    const cached = usage.cachedInputTokens
      ? ` (${Math.round((100 * usage.cachedInputTokens) / usage.inputTokens)} % cached)`
      : ''
    parts.push(`${count(usage.inputTokens)} in${cached}`)
  }
  if (usage.outputTokens !== undefined) parts.push(`${count(usage.outputTokens)} out`)
  if (usage.costUsd !== undefined) parts.push(`${callsWithoutCost > 0 ? '≥ ' : '~'}$${usage.costUsd.toPrecision(2)}`)
  return parts.filter(Boolean).join(' · ')
}

function count(tokens: number): string {
  return tokens < 1000 ? String(tokens) : `${(tokens / 1000).toFixed(1)}k`
}
