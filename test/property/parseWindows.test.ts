import fc from 'fast-check'
import type { Nodes, Root } from 'mdast'
import { fromMarkdown } from 'mdast-util-from-markdown'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { gfm } from 'micromark-extension-gfm'
import { describe, expect, it } from 'vitest'
import { createWindowParser } from '../../src/render/parseWindows.ts'

const inOneGo = (source: string): Root =>
  fromMarkdown(source, { extensions: [gfm({ singleTilde: false })], mdastExtensions: [gfmFromMarkdown()] })

/** Columns are not promised: nothing looks at them. */
const known = (root: Root) =>
  JSON.parse(JSON.stringify(root.children, (key, value) => (key === 'column' ? undefined : value)))

function textOf(node: Nodes): string {
  return 'value' in node ? node.value : 'children' in node ? node.children.map(textOf).join('') : ''
}

const word = fc.constantFrom(
  'word',
  '**bold**',
  '*em*',
  '`code`',
  '[l](u)',
  '[r][ref]',
  '[ref]',
  '[Two\nlines]',
  '[^1]',
  '![i][ref]',
  'a_b',
  '\\*',
  '&amp;',
  '<b>',
  '字',
)
const line = fc.array(word, { minLength: 1, maxLength: 8 }).map((words) => `So ${words.join(' ')}`)
const lines = (before: string, after = before) =>
  fc.array(line, { minLength: 1, maxLength: 6 }).map((all) => all.map((one) => before + one).join(`\n${after}\n`))
const block = fc.oneof(
  { weight: 3, arbitrary: fc.array(line, { minLength: 1, maxLength: 3 }).map((all) => all.join('\n')) },
  line.map((one) => `## ${one}`),
  line.map((one) => `${one}\n---`),
  line.map((one) => `\`\`\`js\n${one}\n\n- ${one}\n\`\`\``),
  line.map((one) => `~~~\n# ${one}\n\n> ${one}\n~~~`),
  lines('- ', ''),
  fc
    .array(line, { minLength: 1, maxLength: 6 })
    .map((all) => all.map((one) => `- ${one}\n  1. ${one}\n     > ${one}`).join('\n')),
  lines('> ', '>'),
  fc
    .array(line, { minLength: 1, maxLength: 8 })
    .map((all) => `| a | b |\n|---|--:|\n${all.map((one) => `| ${one.replace(/\n/g, ' ')} | x |`).join('\n')}`),
  fc.constantFrom('[ref]: https://e.example "t"', '[two lines]: <a b>', '[^1]: note', '    code\n\n    more', '***'),
  line.map((one) => `<div>\n${one}\n</div>`),
  line.map((one) => `- \`\`\`\n  ${one}\n  \`\`\`\n- z`),
)
const document = fc.array(block, { minLength: 1, maxLength: 12, size: 'max' }).map((blocks) => blocks.join('\n\n'))

describe('a text that is parsed in windows', () => {
  it('has the same tree, at the same positions, as one that is parsed in one go', () => {
    fc.assert(
      fc.property(document, fc.integer({ min: 30, max: 600 }), (source, size) => {
        expect(known(createWindowParser(inOneGo, size).parse(source))).toEqual(known(inOneGo(source)))
      }),
      { seed: 4242, numRuns: 80 },
    )
  })

  it('keeps every character of a paragraph that is far too long, and keeps it one paragraph', () => {
    const pieces = fc.constantFrom('word ', '字', 'x'.repeat(400), '😀', 'line\n', '# ', '- ', '1. ', '> ', '    ')
    fc.assert(
      fc.property(fc.array(pieces, { minLength: 400, maxLength: 800, size: 'max' }), (parts) => {
        const source = `a${parts.join('').replace(/\n+[\s#>\-\d.]*/g, '\nb')}`.trimEnd()
        const { children } = createWindowParser(inOneGo).parse(source)
        expect(children.map(({ type }) => type)).toEqual(['paragraph'])
        expect(textOf(children[0]!).replace(/\s/g, '')).toBe(source.replace(/\s/g, ''))
        expect(children[0]!.position).toMatchObject({ start: { offset: 0 }, end: { offset: source.length } })
      }),
      { seed: 4242, numRuns: 15 },
    )
  })

  it.each([
    ['items', '- a\n', 'list'],
    ['rows', '| a | b |\n', 'table'],
    ['quoted paragraphs', '> a\n>\n', 'blockquote'],
  ])('puts the %s of a block together again, however many there are', (_, part, type) => {
    const head = type === 'table' ? '| x | y |\n|---|---|\n' : ''
    const source = head + part.repeat(5_000)
    const { children } = createWindowParser(inOneGo).parse(source)
    expect(children.map((child) => child.type)).toEqual([type])
    expect((children[0] as { children: unknown[] }).children).toHaveLength(5_000 + (type === 'table' ? 1 : 0))
  })

  it('gives the parser no long text that is made of markers, so that its time grows with the text alone', () => {
    for (const marker of [
      '[',
      '![',
      '*',
      '_',
      '*_',
      '*a',
      ']',
      '<',
      '&',
      '[x]: y\n',
      '[^1]: a\n',
      '- a\n',
      '> a\n\n',
    ]) {
      const asked: number[] = []
      const parser = createWindowParser((source) => {
        asked.push(source.length)
        return inOneGo(source)
      })
      const source = marker.repeat(6_000 / marker.length)
      parser.parse(source)
      expect(Math.max(...asked), marker).toBeLessThanOrEqual(4_100)
      expect(
        asked.reduce((sum, length) => sum + length, 0),
        marker,
      ).toBeLessThan(4 * source.length)
    }
  })

  it('parses a text that grows from its last windows, not from its beginning', () => {
    let asked = 0
    const parser = createWindowParser((source) => {
      asked += source.length
      return inOneGo(source)
    })
    const source = 'A paragraph of **some** words that is as long as such a paragraph may well be.\n\n'.repeat(200)
    parser.parse(source.slice(0, 12_000))
    asked = 0
    for (let length = 12_000; length < 13_000; length += 10) parser.parse(source.slice(0, length))
    expect(asked / 100).toBeLessThan(2 * 2_000)
  })
})
