import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeText, mentions } from '../../src/platform/slack/inboundText.ts'

const names = { bot: 'U0BOT', nameOf: (id: string) => (id === 'U0ANNA' ? 'Anna' : undefined) }
const decode = (text: string) => decodeText(text, names)

describe('text from Slack', () => {
  test.each([
    ['<@U0BOT> run `make &amp;&amp; ./t &lt; in.txt`', 'run `make && ./t < in.txt`'],
    ['<@U0BOT>: do it', 'do it'],
    ['<@U0BOT>, do it', 'do it'],
    ['  <@U0BOT|toycoder>   do it', 'do it'],
    ['do it, <@U0BOT>', 'do it,'],
    ['hey <@U0BOT> do it', 'hey do it'],
    ['ask <@U0ANNA> or <@U0BEN|ben> or <@U0EVE>', 'ask @Anna or @ben or @U0EVE'],
    ['see <#C0DEV|dev> and <#C0OPS>', 'see #dev and #C0OPS'],
    ['<!here> <!channel|@channel> <!subteam^S1|@team> <!subteam^S1>', '@here @channel @team @group'],
    ['<!date^1790000000^{date_short}|Sep 21>', 'Sep 21'],
    ['<https://e.example/?a=1&amp;b=2|the page>', 'the page (https://e.example/?a=1&b=2)'],
    ['<https://e.example/?a=1&amp;b=2>', 'https://e.example/?a=1&b=2'],
    ['<http://e.example|e.example>', 'http://e.example'],
    ['<mailto:a@e.example|a@e.example>', 'a@e.example'],
    ['&lt;@U0BOT&gt; is text', '<@U0BOT> is text'],
    ['&amp;lt; stays', '&lt; stays'],
    ['<@U0BOT>', ''],
    ['<@U0BOT>\n```\n  code\n```', '```\n  code\n```'],
  ])('%j reads %j', (text, expected) => {
    expect(decode(text)).toBe(expected)
  })

  test('whatever somebody types comes out as they typed it', () => {
    const typed = fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\u0000'))
    const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
    fc.assert(
      fc.property(typed, (text) => {
        expect(decode(escaped(text))).toBe(text.trim())
      }),
    )
  })

  test('any text at all is decoded without a trace of the bot’s own mention', () => {
    const part = fc.oneof(fc.string(), fc.constantFrom('<@U0BOT>', '<', '>', '<!', '&amp;', '<https://x|', '\n'))
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const decoded = decode(parts.join(''))
        expect(decoded.includes('\u0000') && !parts.join('').includes('\u0000')).toBe(false)
        expect(decoded).toBe(decoded.trim())
      }),
    )
  })

  test('only an explicit mention names the bot', () => {
    expect(mentions('hi <@U0BOT>', 'U0BOT')).toBe(true)
    expect(mentions('hi <@U0BOT|toycoder>', 'U0BOT')).toBe(true)
    expect(mentions('hi <@U0BOTX> <!here> &lt;@U0BOT&gt;', 'U0BOT')).toBe(false)
  })
})
