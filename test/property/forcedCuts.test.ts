import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutBehindShown, frameEnd, isVisible, piecesWithCuts } from '../../src/delivery/forcedCuts.ts'
import { liveFrame } from '../../src/delivery/liveFrame.ts'
import { joinParts, splitPieces } from '../../src/delivery/splitMarkdown.ts'

const options = { limit: 400, size: (markdown: string) => markdown.length }

const block = fc.oneof(
  fc.constantFrom(
    'Plain words that say something. And **bold words** too, with `code` and [a link](https://e.example/a_(b)).',
    '- one\n- two\n  - nested\n- [x] three',
    '1. first\n2. second\n10. tenth',
    '> quoted **text**\n> goes on',
    '```js\nconst a = 1\n\nconst b = [a, 2]\ncall(b)\n```',
    '| Name | Qty |\n|:--|--:|\n| pear | 1 |\n| fig | 22 |',
    '## A heading with *emphasis*',
    '手順を**強調**します。次の文です。',
    'see https://e.example/some/long/path?with=query#and-more and go on',
    '2 * 3 * 4 = 24, snake_case_word, a - b, # no heading',
  ),
  fc.string({ minLength: 1, maxLength: 60, unit: 'grapheme' }),
)
const text = fc.array(block, { minLength: 1, maxLength: 9, size: 'max' }).map((blocks) => blocks.join('\n\n'))

/** What stands in a live message that holds the beginning of a text. */
function frame(source: string, share: number, soon: boolean): string {
  const known = source.slice(0, Math.min(options.limit, Math.floor((source.length * share) / 100)))
  return liveFrame(known.slice(0, frameEnd(known, soon))).trim()
}

describe('a text that goes on below what is visible', () => {
  it('loses and doubles nothing, fits, and its first message is visible already', () => {
    let cuts = 0
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 99 }), fc.boolean(), (source, share, soon) => {
        const shown = frame(source, share, soon)
        const cut = cutBehindShown(source, { from: 0, reopened: '' }, shown, { ...options, least: 1 })
        if (!cut) return
        cuts++
        const pieces = piecesWithCuts(source, options, [cut])
        expect(joinParts(pieces).trim()).toBe(source.trim())
        expect(pieces[0]!.to).toBe(cut.at)
        expect(isVisible(pieces[0]!.markdown, cut.closed, shown)).toBe(true)
        for (const { markdown } of pieces) expect(markdown.length).toBeLessThanOrEqual(options.limit)
      }),
      { seed: 3, numRuns: 700 },
    )
    expect(cuts).toBeGreaterThan(300)
  })

  it('is cut as a whole one is where nothing forces a cut', () => {
    fc.assert(
      fc.property(text, (source) => {
        expect(piecesWithCuts(source, options, [])).toEqual(splitPieces(source, options))
      }),
      { seed: 3, numRuns: 200 },
    )
  })

  it.each([
    ['One sentence here. And anoth', true, 'One sentence here. And '],
    ['One sentence here. And anoth', false, 'One sentence here. '],
    ['Hel', true, 'Hel'],
    ['see https://e.example/a', true, 'see '],
    ['done.', true, 'done.'],
    ['手順を強', true, '手順を強'],
    ['a list\n- with an it', false, 'a list\n'],
    ['a table\n\n| a | b |\n|--|--|\n| 1 |', false, 'a table\n\n'],
    ['| a | b |\n|--|--|\n| 1 | 2', false, '| a | b |\n|--|--|\n'],
  ])('the frame of %j (next one soon: %j) ends as %j', (tail, soon, expected) => {
    expect(tail.slice(0, frameEnd(tail, soon))).toBe(expected)
  })

  it('goes on right behind the last visible character, within bold words and code blocks too', () => {
    const bold = 'Some words and **bold words that go on** here.'
    const cut = cutBehindShown(bold, { from: 0, reopened: '' }, 'Some words and **bold words**', {
      ...options,
      least: 1,
    })!
    expect(piecesWithCuts(bold, options, [cut]).map(({ markdown }) => markdown.trim())).toEqual([
      'Some words and **bold words \u200b**',
      '**that go on** here.',
    ])
  })
})
