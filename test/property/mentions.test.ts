import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { splitMarkdown } from '../../src/delivery/splitMarkdown.ts'
import { discordPlain, discordSize, renderDiscord } from '../../src/render/discord.ts'
import type { MessageView } from '../../src/render/messageView.ts'
import { renderSlack, slackSize } from '../../src/render/slack.ts'

/** Tokens that would notify somebody or name what nobody meant to name, and what could put one together or hide it. */
const token = fc.constantFrom(
  '@everyone',
  '@here',
  '@channel',
  '<!channel>',
  '<!here>',
  '<!everyone>',
  '<!subteam^S1|@team>',
  '<!subteam^S1>',
  '<!date^1790000000^{date}|x>',
  '<@U2>',
  '<@U2|two>',
  '<@222>',
  '<@!222>',
  '<@&333>',
  '<#C1>',
  '<#C1|general>',
  '<#444>',
  '</plan:555>',
  '<:smile:666>',
  '<t:1790000000:R>',
  '<id:customize>',
  // Allowed in these tests.
  '<@U1>',
  '<@111>',
)
const piece = fc.constantFrom(
  ...['<', '>', '@', '!', '#', '&', '|', '^', '\\', '\\\\', 'everyone', 'here', 'every', 'one', 'channel>', '!channel'],
  ...[
    '&lt;',
    '&gt;',
    '&LT;',
    '&#60;',
    '&#x3c;',
    '&#64;',
    '&commat;',
    '&excl;',
    '&amp;lt;',
    '&#x21;',
    '&#8203;',
    '&zwj;',
  ],
  ...['[', ']', '](', ')', '[]()', '![', '](x)', '](javascript:x)', '](https://e.example/', ' "', '"', '[^1]', '[r]: '],
  ...['`', '``', '```', '\n```\n', '*', '**', '_', '__', '~~', '\n', '\n\n', '\n> ', '\n- ', '\n1. ', '\n# ', '    '],
  ...['| a | b |\n|---|---|\n| ', ' | ', '\n***\n', '<b>', '</b>', '<!--', '-->', '<a href="', '<https://e.example>'],
  ...['\u200b', '\u200d', '\u2060', '\ufeff', '\u00ad', '\u202e', 'a', ' ', '字', '😀', 'https://e.example/'],
)
const hostile = fc.array(fc.oneof(token, piece), { maxLength: 24, size: 'max' }).map((parts) => parts.join(''))

const kind = fc.constantFrom('answer' as const, 'activity' as const, 'notice' as const, 'card' as const)
const view = fc.record({ markdown: hostile, kind, live: fc.boolean(), footer: hostile, label: hostile }).map(
  ({ label, ...rest }): MessageView => ({
    ...rest,
    mentions: ['U1', '111'],
    buttons: [{ action: 'a', label, style: 'plain', value: 'v' }],
  }),
)

/** What Slack reads as a mention, a group, a channel or a date: never in code only, since it reads them there, too. */
const SLACK_TOKEN = /<[!@#]/g

/** Without code blocks and inline code, in which Discord reads no mentions, and without addresses. */
function proseOf(content: string): string {
  return content
    .replace(/^(?:[> ]|[-*] |\d+\. )*```[^\n]*\n[\s\S]*?```$/gm, ' ')
    .replace(/(?<![\\`])(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)/g, ' ')
    .replace(/https?:\S*/g, ' ')
}
const DISCORD_TOKEN = /@(?:everyone|here)|<(?:@|#|:|a:|t:\d|id:|\/[^>\n]*:\d)/g

const ALLOWED = /<@(?:U1|111)>/g

const PARAMETERS = { seed: 4242, numRuns: 1_500 }

describe('whatever a text, a name, an error or a button says', () => {
  it('no payload for Slack names anybody but who may be named', () => {
    fc.assert(
      fc.property(view, (body) => {
        const { text, blocks } = renderSlack(body)
        const said = [text, ...blocks.map((block) => JSON.stringify(block))].join('\n').replaceAll(ALLOWED, ' ')
        expect(said.match(SLACK_TOKEN)).toBeNull()
        expect(JSON.stringify(renderSlack({ ...body, mentions: [] })).match(SLACK_TOKEN)).toBeNull()
      }),
      PARAMETERS,
    )
  })

  it('no payload for Discord may notify anybody but who may be named, and prose has no mention at all', () => {
    fc.assert(
      fc.property(view, (body) => {
        const message = renderDiscord(body)
        expect(message.allowed_mentions).toEqual({ parse: [], users: ['U1', '111'], replied_user: false })
        expect(proseOf(message.content).replaceAll(ALLOWED, ' ').match(DISCORD_TOKEN)).toBeNull()
        const nobody = renderDiscord({ ...body, mentions: [] })
        expect(nobody.allowed_mentions.users).toEqual([])
        expect(proseOf(nobody.content).match(DISCORD_TOKEN)).toBeNull()
        expect(discordPlain(body.footer!).match(DISCORD_TOKEN)).toBeNull()
      }),
      PARAMETERS,
    )
  })

  it('no cut puts a mention together', () => {
    fc.assert(
      fc.property(hostile, fc.integer({ min: 30, max: 80 }), (markdown, limit) => {
        for (const piece of splitMarkdown(markdown, { limit, size: slackSize })) {
          expect(JSON.stringify(renderSlack({ markdown: piece.trim(), kind: 'answer' })).match(SLACK_TOKEN)).toBeNull()
        }
        for (const piece of splitMarkdown(markdown, { limit, size: (text) => discordSize(text) - 120 })) {
          const { content } = renderDiscord({ markdown: piece.trim(), kind: 'answer' })
          expect(proseOf(content).match(DISCORD_TOKEN)).toBeNull()
        }
      }),
      { ...PARAMETERS, numRuns: 150 },
    )
  })
})

describe('mentions that only show when parts meet', () => {
  it.each([
    '<[!channel]()>',
    '<![!channel]()>',
    '<[!subteam^S1]()>',
    '<[@U2]()>',
    '@[everyone]()',
    '@[every]()one',
    '@![here]()',
    '[@]()everyone',
    '<[@222]()>',
    '**<[!here]()>**',
    '# <[!here]()>',
    '| a |\n|---|\n| <[!here]()> @[here]() |',
    '[<[!here]()>](https://e.example)',
  ])('%j is no mention', (markdown) => {
    expect(JSON.stringify(renderSlack({ markdown, kind: 'answer' }))).not.toMatch(SLACK_TOKEN)
    expect(proseOf(renderDiscord({ markdown, kind: 'answer' }).content)).not.toMatch(DISCORD_TOKEN)
  })

  it('an entity becomes no link', () => {
    expect(renderDiscord({ markdown: '&#91;x&#93;(https://e.example)', kind: 'answer' }).content).toBe(
      '\\[x\\](https://e.example)',
    )
  })

  it('code on Discord stays as it is: nobody is notified of it', () => {
    const { content, allowed_mentions } = renderDiscord({
      markdown: 'Use `@everyone` or\n\n```\n<@222>\n```',
      kind: 'answer',
    })
    expect(content).toBe('Use `@everyone` or\n\n```\n<@222>\n```')
    expect(allowed_mentions).toEqual({ parse: [], users: [], replied_user: false })
  })
})
