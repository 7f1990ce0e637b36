import { existsSync, readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import type { Code, Nodes } from 'mdast'
import { describe, expect, it } from 'vitest'
import {
  type Cursor,
  cursorAfter,
  joinParts,
  nextPiece,
  type Piece,
  START,
  splitPieces,
} from '../../src/delivery/splitMarkdown.ts'
import { discordSize } from '../../src/render/discord.ts'
import { parseMarkdown } from '../../src/render/markdown.ts'
import { slackSize } from '../../src/render/slack.ts'

const platforms = [
  { name: 'Slack', limit: 4_000, size: slackSize },
  { name: 'Discord', limit: 2_000, size: discordSize },
]

const word = fc.constantFrom(
  'word',
  '字',
  '手順',
  'مرحبا',
  '👨‍👩‍👧‍👦',
  '😀',
  'a_b',
  '**bold**',
  '`code`',
  '[l](https://e.example/a_(b))',
  'x & y',
  '<b>',
  '|',
  'e\u0301',
)
const line = fc.array(word, { minLength: 1, maxLength: 30, size: 'max' }).map((words) => words.join(' '))
const fence = fc
  .tuple(
    fc.constantFrom('```', '````', '~~~'),
    fc.constantFrom('', 'js', 'py'),
    fc.array(line, { maxLength: 25, size: 'max' }),
  )
  .map(([mark, language, lines]) => `${mark}${language}\n${lines.map((one) => `${one}\n`).join('')}${mark}`)
const table = fc
  .array(fc.tuple(fc.constantFrom('a', '字', '**b**', 'long cell text'), fc.constantFrom('1', '`c`')), {
    minLength: 1,
    maxLength: 30,
  })
  .map((rows) => ['| Name | Qty |', '|:--|--:|', ...rows.map(([a, b]) => `| ${a} | ${b} |`)].join('\n'))
const block = fc.oneof(
  { weight: 3, arbitrary: fc.array(line, { minLength: 1, maxLength: 4 }).map((lines) => lines.join('\n')) },
  fence,
  table,
  fc.array(line, { minLength: 1, maxLength: 8 }).map((lines) => lines.map((one) => `- ${one}`).join('\n')),
  fc.array(line, { minLength: 1, maxLength: 5 }).map((lines) => lines.map((one) => `> ${one}`).join('\n')),
  line.map((one) => `## ${one}`),
  fc.integer({ min: 1, max: 900 }).map((length) => 'x'.repeat(length)),
)
const document = fc.array(block, { minLength: 1, maxLength: 8, size: 'max' }).map((blocks) => blocks.join('\n\n'))

function codeIn(markdown: string): Code[] {
  const found: Code[] = []
  const walk = (node: Nodes) => {
    if (node.type === 'code') found.push(node)
    if ('children' in node) node.children.forEach(walk)
  }
  walk(parseMarkdown(markdown).root)
  return found
}

/** The pieces that a text gives while it grows; what is decided stays decided. */
function streamed(source: string, step: number, options: { limit: number; size(markdown: string): number }): Piece[] {
  const pieces: Piece[] = []
  let cursor: Cursor | null = START
  for (let length = step; cursor && length < source.length + step; length += step) {
    for (;;) {
      const piece = nextPiece(source.slice(0, length), cursor, options, 'growing')
      if (!piece) break
      pieces.push(piece)
      cursor = cursorAfter(source, piece)
      if (!cursor) break
    }
  }
  while (cursor) {
    const piece: Piece = nextPiece(source, cursor, options, 'whole')!
    pieces.push(piece)
    cursor = cursorAfter(source, piece)
  }
  return pieces.filter(({ markdown }) => markdown.trim() !== '')
}

describe('pieces of a text', () => {
  it('join to the source, fit, tear nothing, keep fences, and are the same when streamed', () => {
    fc.assert(
      fc.property(
        document,
        fc.integer({ min: 200, max: 900 }),
        fc.integer({ min: 7, max: 300 }),
        (source, limit, step) => {
          const options = { limit, size: (markdown: string) => discordSize(markdown) - 120 }
          const pieces = splitPieces(source, options)
          expect(joinParts(pieces)).toBe(source)
          for (const { markdown } of pieces) {
            expect(options.size(markdown)).toBeLessThanOrEqual(limit)
            expect(markdown.isWellFormed()).toBe(true)
          }
          const languages = new Set(codeIn(source).map(({ lang }) => lang))
          for (const { markdown } of pieces) for (const code of codeIn(markdown)) expect(languages).toContain(code.lang)
          const letters = (text: string) => text.replace(/\s/g, '')
          expect(letters(pieces.flatMap(({ markdown }) => codeIn(markdown).map(({ value }) => value)).join(''))).toBe(
            letters(
              codeIn(source)
                .map(({ value }) => value)
                .join(''),
            ),
          )
          expect(streamed(source, step, options).map(({ markdown }) => markdown)).toEqual(
            pieces.map(({ markdown }) => markdown),
          )
        },
      ),
      { seed: 4242, numRuns: 40 },
    )
  })

  it('make progress with any text and any limit', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), fc.integer({ min: 1, max: 60 }), (source, limit) => {
        const pieces = splitPieces(source, { limit, size: (markdown) => markdown.length })
        if (source.trim() !== '') expect(pieces.length).toBeGreaterThan(0)
        expect(joinParts(pieces).replace(/\s/g, '')).toBe(source.replace(/\s/g, ''))
      }),
      { seed: 4242, numRuns: 200 },
    )
  })
})

it('a text of quotes in quotes becomes few messages: what is opened again leaves room for the text', () => {
  for (const { limit, size } of platforms) {
    const pieces = splitPieces('> '.repeat(3_000), { limit, size })
    expect(pieces.length).toBeLessThanOrEqual(Math.ceil((3 * 6_000) / limit))
    for (const { markdown } of pieces) expect(size(markdown)).toBeLessThanOrEqual(limit)
  }
})

const cases = new URL('../../../shared/cases/md/', import.meta.url)
describe.skipIf(!existsSync(cases))('the reported texts', () => {
  const read = (name: string) => readFileSync(new URL(name, cases), 'utf8')
  const names = existsSync(cases) ? readdirSync(cases).filter((name) => !name.endsWith('.json')) : []

  it.each(names.flatMap((name) => platforms.map((platform) => ({ file: name, ...platform }))))(
    '$file fits on $name and joins to the source, in well under a second',
    ({ file, limit, size }) => {
      const source = read(file)
      const started = performance.now()
      const pieces = splitPieces(source, { limit, size })
      expect(performance.now() - started).toBeLessThan(1_000)
      expect(joinParts(pieces)).toBe(source)
      for (const { markdown } of pieces) {
        expect(size(markdown)).toBeLessThanOrEqual(limit)
        expect(markdown.isWellFormed()).toBe(true)
      }
    },
  )

  it('a long fence is re-opened with its language, and its joined code is the source (SP-01)', () => {
    const source = read('long_fence_300_lines.md')
    const pieces = splitPieces(source, { limit: 2_000, size: discordSize })
    const codes = pieces.flatMap(({ markdown }) => codeIn(markdown))
    expect(codes.length).toBeGreaterThan(3)
    expect(new Set(codes.map(({ lang }) => lang))).toEqual(new Set(codeIn(source).map(({ lang }) => lang)))
    expect(codes.map(({ value }) => value).join('\n')).toBe(codeIn(source)[0]!.value)
  })

  it('no piece exceeds the limit by its closing fence (SP-02)', () => {
    const sweep: { markdown: string }[] = JSON.parse(read('fence_edge_sweep.json'))
    for (const { markdown } of sweep) {
      for (const { limit, size } of platforms) {
        for (const piece of splitPieces(markdown, { limit, size }))
          expect(size(piece.markdown)).toBeLessThanOrEqual(limit)
      }
    }
  })

  it('fences within fences stay content (SP-05)', () => {
    const source = read('nested_fences.md')
    const pieces = splitPieces(source, { limit: 1_000, size: slackSize })
    const value = (markdown: string) =>
      codeIn(markdown)
        .map((code) => code.value)
        .join('\n')
    expect(pieces.length).toBeGreaterThan(3)
    expect(value(source)).toBe(
      pieces
        .map(({ markdown }) => value(markdown))
        .filter(Boolean)
        .join('\n'),
    )
  })

  it('a table that fits stays whole; one that does not has its header in every piece (SP-11)', () => {
    const whole = splitPieces(read('prose_then_table.md'), { limit: 2_000, size: discordSize })
    expect(whole.filter(({ markdown }) => markdown.includes('| id | host |'))).toHaveLength(1)
    expect(whole.at(-1)!.markdown).toMatch(/^\| id \| host [\s\S]*That is all\./)
    const huge = splitPieces(read('huge_table_120_rows.md'), { limit: 2_000, size: discordSize })
    for (const { markdown } of huge) expect(markdown).toMatch(/(?:^|\n)\| id \| host \| state \| note \|\n\|---:\|/)
  })
})
