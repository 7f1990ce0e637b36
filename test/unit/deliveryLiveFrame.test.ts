import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { liveFrame } from '../../src/delivery/liveFrame.ts'
import { renderDiscord } from '../../src/render/discord.ts'
import { renderPlain } from '../../src/render/plain.ts'
import { reportedIn } from '../reported.ts'

const file = new URL('../../../shared/cases/deltas/partial_markdown.json', import.meta.url)

/** Every beginning of a text, one character longer each time. */
const growing = (text: string) => Array.from({ length: text.length }, (_, length) => text.slice(0, length + 1))

const RICH = [
  '**Result** is `a_b` and **bold *and italic* text** here.',
  '## Heading with **bold**',
  '- item with [docs](https://e.example/a_(b)) and ~~old~~ *new*',
  '- [x] done\n- [ ] open',
  '| Name | Qty |\n|:-----|----:|\n| **pear** | `x` |',
  '```js\nlet x = 1;\nlet y = [1, 2]\n```',
  '> quoted **text** with `code`',
  '````md\n~~~js\na\n~~~\n````',
  'The end, 2 * 3 * 4 = 24 &amp; ![alt](https://img.example/x.png).',
].join('\n\n')

describe('a frame of growing text', () => {
  it.each([
    ['**Res', '**Res**'],
    ['**Result** is `a', '**Result** is `a`'],
    ['text **', 'text '],
    ['text **bold *', 'text **bold**'],
    ['a ***b', 'a ***b***'],
    ['see [do', 'see '],
    ['see [docs](https://e.exam', 'see '],
    ['see ![alt](htt', 'see '],
    ['see [docs](https://e.example/a_(b))', 'see [docs](https://e.example/a_(b))'],
    ['text\n\n``', 'text\n\n'],
    ['text\n\n```j', 'text\n\n'],
    ['```js\nlet x', '```js\nlet x\n```'],
    ['```js\nlet x\n``', '```js\nlet x\n```'],
    ['> ```js\n> let x', '> ```js\n> let x\n> ```'],
    ['text\n\n| a | b', 'text\n\n'],
    ['text\n\n| a | b |\n|--', 'text\n\n'],
    ['text\n-', 'text\n'],
    ['text\n\n##', 'text\n\n'],
    ['2 * 3', '2 * 3'],
    ['5*3 is', '5*3 is'],
    ['snake_case', 'snake_case'],
    ['a &am', 'a '],
    ['a <@U1', 'a '],
  ])('%j is shown as %j', (text, frame) => {
    expect(liveFrame(text)).toBe(frame)
  })

  it('never shows a marker that the whole text does not show', () => {
    for (const text of growing(RICH)) {
      const frame = liveFrame(text)
      const shown = renderPlain(frame).replace(/~~~(?:js)?|~~?$/gm, '')
      expect(shown, JSON.stringify(text.slice(-40))).not.toMatch(/\*\*|~~|`|\]\(|\|/)
      expect(
        (renderDiscord({ markdown: frame, kind: 'answer', live: true }).content.match(/```/g) ?? []).length % 2,
      ).toBe(0)
    }
  })

  it('holds back little, and nothing but the unfinished end', () => {
    const whole = renderPlain(RICH)
    for (const text of growing(RICH)) {
      const words = renderPlain(liveFrame(text))
        .split(/\s+/)
        .slice(0, -3)
        .filter((word) => !/^-+$/.test(word))
      for (const word of words) expect(whole).toContain(word)
      expect(liveFrame(text).length).toBeGreaterThanOrEqual(text.length - 60)
    }
  })

  it.each(['> ', '>', '+ ', '*', '['])('a marker that is repeated without end (%j) brings nobody down', (repeated) => {
    expect(() => liveFrame(`${repeated.repeat(4_000)}a`)).not.toThrow()
  })

  reportedIn(file)('is well formed for the reported deltas (SE-09)', () => {
    const deltas: string[] = JSON.parse(readFileSync(file, 'utf8'))
    let text = ''
    for (const delta of deltas) {
      for (const one of growing(delta)) {
        const { content } = renderDiscord({ markdown: liveFrame(text + one), kind: 'answer' })
        expect(renderPlain(liveFrame(text + one))).not.toContain('**')
        expect((content.match(/\*\*/g) ?? []).length % 2).toBe(0)
        expect((content.match(/```/g) ?? []).length % 2).toBe(0)
      }
      text += delta
    }
    expect(liveFrame(text)).toBe(text)
  })
})
