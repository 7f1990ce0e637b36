import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { createDiscordPlatform } from '../../src/platform/discord/discordPlatform.ts'
import { createSlackPlatform } from '../../src/platform/slack/slackPlatform.ts'
import { silentLog } from '../../src/shared/log.ts'
import { type LoadResult, type Rule, runLoad } from './deliveryLoad.ts'

const log = silentLog
/** How the real ones measure a text is dear, and makes no difference here. */
const size = (markdown: string) => markdown.length
const slack = createSlackPlatform({ botToken: 'xoxb-1', signingSecret: 's', log })
const discord = createDiscordPlatform({ token: 't', log })

/** What is documented (facts/slack.md A.0 and 0.5), with bursts of four posts in a channel. */
const SLACK: Rule[] = [
  { calls: ['edit'], most: 50, perMs: 60_000, scope: 'bot' },
  { calls: ['remove'], most: 50, perMs: 60_000, scope: 'bot' },
  { calls: ['post'], most: 4, perMs: 4_000, scope: 'channel' },
  { calls: ['post'], most: 300, perMs: 60_000, scope: 'bot' },
]
/** What was seen (facts/discord.md b): a thread is a channel of its own. */
const DISCORD: Rule[] = [
  { calls: ['edit'], most: 5, perMs: 5_000, scope: 'thread' },
  { calls: ['post'], most: 5, perMs: 5_000, scope: 'thread' },
  { calls: ['post', 'edit', 'remove'], most: 50, perMs: 1_000, scope: 'bot' },
]

/** Markdown of 4,000 characters in which no word comes twice. */
function text(n: number): string {
  let made = `## Answer ${n}\n\n`
  for (let at = 0; made.length < 4_000; at++) {
    const words = Array.from({ length: 7 }, (_, word) => `w${at}x${word}`)
    if (at % 9 === 4) made += `\n\n- ${words.join(' ')}\n- **${words[0]}a** ${words[1]}a\n\n`
    else if (at % 9 === 7) made += `\n\n\`\`\`js\nconst ${words[0]} = ${words[1]}\n${words[2]}()\n\`\`\`\n\n`
    else made += `${words.slice(0, 4).join(' ')} \`${words[4]}\` **${words[5]} ${words[6]}**. `
  }
  return made.slice(0, 4_000)
}

const words = (markdown: string) => markdown.match(/w\d+x\w+/g) ?? []
const at = (share: number, all: number[]) => all.toSorted((a, b) => a - b)[Math.ceil(all.length * share) - 1]

function expectWhole({ seen, live, refused, violations }: LoadResult) {
  expect(refused).toBe(0)
  expect(violations).toEqual([])
  expect(live).toBe(0)
  for (const [n, messages] of seen.entries()) expect(words(messages.join('\n'))).toEqual(words(text(n)))
}

describe('answers of 4,000 characters over 20 seconds, at once, in ten channels', () => {
  it.each([
    { answers: 1, first: 300, final: 500 },
    { answers: 20, first: 2_000, final: 3_000 },
    { answers: 50, first: 5_000, final: 10_000 },
    { answers: 100, first: 10_000, final: 20_000 },
  ])('$answers on Slack: all whole, none refused, the final after $final ms', async ({ answers, first, final }) => {
    const result = await runLoad({ answers, of: { ...slack, size }, rules: SLACK, text })
    expectWhole(result)
    expect(at(0.95, result.firstMs)).toBeLessThanOrEqual(first)
    expect(at(0.95, result.finalMs)).toBeLessThanOrEqual(final)
    // Posts make up for edits, but nobody is flooded with messages.
    for (const messages of result.seen) expect(messages.length).toBeLessThanOrEqual(3)
  })

  it.each([
    { answers: 1, first: 300, final: 1_000 },
    { answers: 20, first: 1_000, final: 1_000 },
    { answers: 100, first: 4_000, final: 3_000 },
  ])('$answers on Discord: all whole, none refused, the final after $final ms', async ({ answers, first, final }) => {
    const result = await runLoad({ answers, of: { ...discord, size }, rules: DISCORD, text })
    expectWhole(result)
    expect(at(0.95, result.firstMs)).toBeLessThanOrEqual(first)
    expect(at(0.95, result.finalMs)).toBeLessThanOrEqual(final)
  })
})

it('the limits in the example of the settings are those that the platforms have by themselves', () => {
  const { slackLimits, discordLimits } = loadConfig({ env: {}, cwd: '/none', readFile: () => null }).delivery
  const set = createSlackPlatform({ botToken: 'xoxb-1', signingSecret: 's', log, rates: slackLimits })
  expect(set.limits).toEqual(slack.limits)
  expect(createDiscordPlatform({ token: 't', log, rates: discordLimits }).limits).toEqual(discord.limits)
})
