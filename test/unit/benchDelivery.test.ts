import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { ANSWER_MS, PIECES, type Telling } from '../../bench/delivery/model.ts'
import { LENGTH, makeSource, read } from '../../bench/delivery/source.ts'
import { figuresOf, isWhole, look, type Watched } from '../../bench/delivery/watch.ts'

const source = makeSource(3)

/** An answer told in even pieces from the moment 1,000 on. */
function told(): Telling {
  return { source, toldAt: Array.from({ length: PIECES }, (_, n) => 1_000 + (n * ANSWER_MS) / (PIECES - 1)) }
}

/** What was to be seen at which moments. */
function watched(...sights: [at: number, ...texts: string[]][]): Watched {
  const answer: Watched = { telling: told(), sights: [] }
  for (const [at, ...texts] of sights) {
    look(answer, texts)
    answer.sights.at(-1)!.at = at
  }
  return answer
}

describe('the texts of the delivery benchmark', () => {
  test('have 4,000 characters, and no word twice', () => {
    for (const seed of [0, 1, 99]) {
      const { text, words } = makeSource(seed)
      expect(text.length).toBe(LENGTH)
      expect(new Set(words.map(({ word }) => word)).size).toBe(words.length)
      expect(words.reduce((sum, { length }) => sum + length, 0)).toBe(LENGTH)
      expect(words.every(({ word, end }) => text.slice(end - word.length, end) === word)).toBe(true)
    }
  })

  test('are known again in any markup', () => {
    const marked = source.text.replaceAll('**', '*').replaceAll('|', ' ').replaceAll('```ts', '```')
    expect(read(source, `toycoder: ${marked} · 20 s`)).toEqual({
      shown: LENGTH,
      next: source.words.length,
      repeated: 0,
      misplaced: 0,
    })
  })

  test('are seen to be cut, repeated or out of order', () => {
    const cut = read(source, `${source.text.slice(0, 1_997)}...`)
    expect(cut.shown).toBeGreaterThan(1_970)
    expect(cut.shown).toBeLessThanOrEqual(2_010)
    const twice = read(source, source.text + source.text.slice(0, 1_000))
    expect(twice.repeated).toBeGreaterThan(950)
    const turned = read(source, source.text.slice(2_000) + source.text.slice(0, 2_000))
    expect(turned.misplaced).toBeGreaterThan(100)
    expect(read(source, makeSource(4).text).shown).toBeLessThan(100)
  })
})

describe('the figures of the delivery benchmark', () => {
  test('of an answer in two messages: first text, lag and final are those of what was seen', () => {
    const half = source.text.slice(0, 2_000)
    const answer = watched(
      [900, '...'],
      [1_250, source.text.slice(0, 40)],
      [11_000, half],
      [21_600, half, source.text.slice(2_000)],
      [22_000, half, `${source.text.slice(2_000)} test-model · 20 s`],
    )
    const figures = figuresOf([answer])
    expect(figures).toMatchObject({ whole: 1, lostCharacters: 0, repeatedCharacters: 0, misplacedWords: 0 })
    expect(figures.firstTextMs).toEqual({ p50: 250, p95: 250 })
    expect(figures.finalMs).toEqual({ p50: 600, p95: 600 })
    // Nothing came between the edits, each ten seconds after the one before.
    expect(figures.lagMs.p50).toBeGreaterThan(4_000)
    expect(figures.lagMs.p95).toBeGreaterThan(8_500)
    expect(figures.lagMs.p95).toBeLessThan(10_000)
  })

  test('of an answer that is cut or stands there twice: it is never final', () => {
    const cut = watched([1_100, source.text.slice(0, 1_997)])
    const twice = watched([21_100, source.text, source.text])
    expect([isWhole(cut), isWhole(twice)]).toEqual([false, false])
    const figures = figuresOf([cut, twice])
    expect(figures.finalMs).toEqual({ p50: null, p95: null })
    expect(figures.lostCharacters).toBeGreaterThan(1_980)
    expect(figures.repeatedCharacters).toBe(LENGTH)
  })

  test('of a text that was whole, then doubled for a while: final is when it stands once for good', () => {
    const doubled = watched([21_100, source.text], [21_200, source.text, source.text], [23_000, source.text])
    expect(figuresOf([doubled]).finalMs.p95).toBe(2_000)
  })
})

test('the peers are pinned, and their lock names no registry', () => {
  const peers = new URL('../../bench/peers/', import.meta.url)
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', peers), 'utf8'))
  expect(Object.keys(dependencies)).toContain('chat')
  expect(Object.values(dependencies).filter((version) => !/^\d+\.\d+\.\d+$/.test(String(version)))).toEqual([])
  expect(readFileSync(new URL('package-lock.json', peers), 'utf8')).not.toMatch(/"resolved": "http/)
})
