import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { inboundText, namesBot } from '../../src/platform/discord/inboundText.ts'
import { nonceOf, readId } from '../../src/platform/discord/payload.ts'
import { DEFAULT_THREAD_NAME, threadName } from '../../src/platform/discord/threadName.ts'
import { createRecent } from '../../src/shared/recent.ts'

const BOT = '100000000000000001'
const names = {
  botId: BOT,
  user: (id: string) => (id === '200000000000000002' ? 'Dana' : undefined),
  role: () => 'ops',
  channel: () => 'general',
}

describe('text from Discord', () => {
  test.each([
    [`<@${BOT}> why?`, 'why?'],
    [`<@!${BOT}> why?`, 'why?'],
    [`hey <@${BOT}>, why?`, 'hey, why?'],
    [`<@${BOT}>`, ''],
    [`<@${BOT}>   \n\t`, ''],
    ['ask <@200000000000000002> or <@300000000000000003>', 'ask @Dana or @300000000000000003'],
    ['<@&400000000000000004> in <#500000000000000005>', '@ops in #general'],
    ['</plan:600000000000000006> <a:wave:700000000000000007>', '/plan :wave:'],
    ['at <t:1767225600:F>', 'at 2026-01-01T00:00:00.000Z'],
    ['a < b && c > d &amp; e', 'a < b && c > d &amp; e'],
    ['`<@200000000000000002>`', '`<@200000000000000002>`'],
    [`\`\`\`\n<@${BOT}>\n\`\`\``, `\`\`\`\n<@${BOT}>\n\`\`\``],
  ])('reads %j', (content, expected) => {
    expect(inboundText(content, names)).toBe(expected)
  })

  test.each([
    [`<@${BOT}> hi`, true],
    [`hi\n<@!${BOT}>`, true],
    [`\`<@${BOT}>\` is the bot`, false],
    [`\`\`\`\n<@${BOT}>\n\`\`\``, false],
    [`\`x\` <@${BOT}>`, true],
    [`<@${BOT}1>`, false],
    ['@toycoder', false],
  ])('%j names the bot: %s', (content, expected) => {
    expect(namesBot(content, BOT)).toBe(expected)
  })
})

describe('thread names', () => {
  test.each([
    ['', DEFAULT_THREAD_NAME],
    ['   \n\t', DEFAULT_THREAD_NAME],
    ['////@@##::', DEFAULT_THREAD_NAME],
    ['```js\nlet a=1;\n```', 'let a=1;'],
    ['# The **plan** for `2.0`\nmore', 'The plan for 2.0'],
    ['> [the docs](https://example.com/a) are old', 'the docs are old'],
    ['1. first', 'first'],
    ['👩‍🚀 go', '👩‍🚀 go'],
    ['计划 2.0 版本', '计划 2.0 版本'],
  ])('%j becomes %j', (text, expected) => {
    expect(threadName(text)).toBe(expected)
  })

  test('are 1 to 100 well-formed characters without blanks at the ends, whatever the text', () => {
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme', maxLength: 300 }), fc.lorem())
    fc.assert(
      fc.property(text, (given) => {
        const name = threadName(given)
        expect(name.isWellFormed()).toBe(true)
        expect(name).toBe(name.trim())
        expect([...name].length).toBeGreaterThan(0)
        expect([...name].length).toBeLessThanOrEqual(100)
      }),
    )
  })

  test('cut between graphemes, never through one', () => {
    const name = threadName(`${'n'.repeat(57)}👩‍🚀👩‍🚀👩‍🚀`)
    expect(name).toBe(`${'n'.repeat(57)}…`)
  })
})

describe('keys and buttons', () => {
  test('a nonce has at most 25 characters, is the same for a key, and differs between keys', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        expect(nonceOf(a)).toMatch(/^[\w-]{24}$/)
        expect(nonceOf(a) === nonceOf(b)).toBe(a === b)
      }),
    )
  })

  test('a button of ours is read back, any other is not', () => {
    expect(readId('toycoder:approve:a:b')).toEqual({ action: 'approve', value: 'a:b' })
    expect(readId('toycoder:stop:')).toEqual({ action: 'stop', value: '' })
    expect(readId('other:approve:1')).toBeUndefined()
    expect(readId('toycoder:')).toBeUndefined()
  })

  test('a short memory keeps the newest entries', () => {
    const recent = createRecent<number>(2)
    recent.set('a', 1)
    recent.set('b', 2)
    recent.set('a', 3)
    recent.set('c', 4)
    expect(['a', 'b', 'c'].map((key) => recent.get(key))).toEqual([3, undefined, 4])
  })
})
