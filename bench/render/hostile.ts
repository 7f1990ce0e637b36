import { liveFrame } from '../../src/delivery/liveFrame.ts'
import { splitMarkdown } from '../../src/delivery/splitMarkdown.ts'
import { DISCORD_LIMITS, discordSize, renderDiscord } from '../../src/render/discord.ts'
import { renderHtml } from '../../src/render/html.ts'
import { renderPlain } from '../../src/render/plain.ts'
import { renderSlack, SLACK_LIMITS, slackSize } from '../../src/render/slack.ts'
import { cpuMs } from './growing.ts'

/** Texts of one construct of Markdown, repeated. */

const UNITS = [
  ...['[', '![', ']', '][', '[a](', '[a](b)', '![a][', '[^1]', '[^1]: a\n', '[x]: y\n', '[a]: <', '[[a]]('],
  ...['*', '_', '*_', '*a', 'a*', '**a ', '**_ ', '_a ', '~~a ', '字**', 'a**b', '`', '`a``', '`` `', '```\n', '~~~\n'],
  ...['>', '> ', '>\n', '> a\n\n', '> - ', '-', '- ', '- a\n', '  - a\n', '- [ ] ', '* * ', '1. ', '1) a\n', '+ '],
  ...['|', '| a ', '|a|\n|-|\n', '|-', '# ', '#', '=\n', 'a\n=\n', '<', '<a ', '<b>', '<!--', '<?', '</', '<@U1>'],
  ...['&', '&amp;', '&#0;', '&a', '\\', '\\|', 'http://a.b/', 'www.a.b ', 'a@b.c ', '@everyone '],
  ...['x', '\t', ' ', '\n', '\r', '    a\n', '\u0301', '👨‍👩‍👧‍👦'],
]

const WAYS: Record<string, (text: string) => unknown> = {
  html: renderHtml,
  text: renderPlain,
  slack: (text) => renderSlack({ markdown: text, kind: 'answer' }),
  discord: (text) => renderDiscord({ markdown: text, kind: 'answer' }),
  'slack messages': (text) => splitMarkdown(text, { limit: SLACK_LIMITS.text, size: slackSize }),
  'discord messages': (text) => splitMarkdown(text, { limit: DISCORD_LIMITS.content, size: discordSize }),
  // No live message has a longer text.
  'live frame': (text) => liveFrame(text.slice(0, 2 * SLACK_LIMITS.text)),
}

export interface Hostile {
  unit: string
  /** Milliseconds of computing for a text of `LENGTH`, by what it was made into; each parses it anew. */
  cpuMs: Record<string, number>
}

export const LENGTH = 100_000

export function hostile(): Hostile[] {
  return UNITS.map((unit) => {
    const text = unit.repeat(Math.ceil(LENGTH / unit.length)).slice(0, LENGTH)
    const times = Object.entries(WAYS).map(([name, way], number) => {
      const before = cpuMs()
      // Not the same text twice, whose tree is remembered.
      way(`${number}\n\n${text}`)
      return [name, Math.round(cpuMs() - before)] as const
    })
    return { unit, cpuMs: Object.fromEntries(times) }
  })
}
