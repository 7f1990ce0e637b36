import { expect, it } from 'vitest'
import { addCall, footerText, noTotals } from '../../src/conversation/footer.ts'

const footer = (...usages: Parameters<typeof addCall>[1]['usage'][]) => {
  const totals = noTotals()
  for (const usage of usages) addCall(totals, { model: 'gpt-x', durationMs: 1_000, usage })
  return footerText(totals)
}

it('tells model, time, steps, tokens and cost, and leaves out what is not known', () => {
  const usage = { inputTokens: 1_000, cachedInputTokens: 500, outputTokens: 20, costUsd: 0.01 }
  expect(footer(usage, usage)).toBe('gpt-x · 2.0 s · 2 steps · 2.0k in (50 % cached) · 40 out · ~$0.020')
  expect(footer({})).toBe('gpt-x · 1.0 s')
})

it('says that a cost is a lower bound where a call did not tell its own', () => {
  expect(footer({ costUsd: 0.01 }, {})).toContain('≥ $0.010')
})
