import { describe, expect, it } from 'vitest'
import type { CallLimit, LimitedCall } from '../../src/platform/platform.ts'
import { createSlackPlatform, type SlackOptions } from '../../src/platform/slack/slackPlatform.ts'
import { silentLog } from '../../src/shared/log.ts'

const MINUTE = 60_000

function limitsOf(overrides: Partial<SlackOptions> = {}): readonly CallLimit[] {
  return createSlackPlatform({ botToken: 'xoxb-x', appToken: 'xapp-x', log: silentLog, ...overrides }).limits.calls
}
const of = (call: LimitedCall, limits = limitsOf()) => limits.filter(({ calls }) => calls.includes(call))

describe('what the bot may call on Slack', () => {
  it.each<[LimitedCall, string, number]>([
    ['edit', 'chat.update, tier 3', 50],
    ['remove', 'chat.delete, tier 3', 50],
    ['startStream', 'chat.startStream, tier 2', 20],
    ['endStream', 'chat.stopStream, tier 2', 20],
    ['addToStream', 'chat.appendStream, tier 4', 100],
  ])('%s has a bucket of its own, for the workspace (%s: %i a minute)', (call, _, most) => {
    const limits = of(call)
    expect(limits).toHaveLength(1)
    expect(limits[0]).toMatchObject({ calls: [call], most, perMs: MINUTE, scope: 'account' })
    // A minute that begins within a burst must not hold more than Slack counts.
    expect(limits[0]!.burst).toBeLessThanOrEqual(most * 0.4)
  })

  it('posts are counted by channel, one a second, and by workspace', () => {
    expect(of('post').map(({ scope, most, perMs }) => [scope, (most / perMs) * MINUTE])).toEqual([
      ['channel', 60],
      ['account', 300],
    ])
  })

  it('reactions and signs of work stay below what their methods may do, two calls each', () => {
    for (const call of ['react', 'status'] as const) expect(of(call)[0]!.most * 2).toBeLessThanOrEqual(50)
  })

  it('keeps some of the edits, posts and additions for what people wait for', () => {
    for (const call of ['edit', 'addToStream', 'startStream'] as const) {
      expect(of(call)[0]!.reserve, call).toBeGreaterThan(0)
    }
    expect(of('post').find(({ scope }) => scope === 'account')!.reserve).toBeGreaterThan(0)
  })

  it('is a share of that where the bot runs several times', () => {
    const limits = limitsOf({ rates: { edits: { most: 10, perMs: MINUTE } } })
    expect(of('edit', limits)[0]).toMatchObject({ most: 10, burst: 2, reserve: 1 })
  })
})
