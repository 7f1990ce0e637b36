import { describe, expect, it } from 'vitest'
import { en } from '../../src/shared/wording/en.ts'
import { wordingFor } from '../../src/shared/wording/wording.ts'
import { zh } from '../../src/shared/wording/zh.ts'

type Sentence = string | ((...args: never[]) => string)
const languages: [string, Record<string, Sentence>][] = [
  ['en', en],
  ['zh', zh],
]
const functions = (wording: Record<string, Sentence>) =>
  Object.entries(wording).filter(
    (entry): entry is [string, (...args: unknown[]) => string] => typeof entry[1] === 'function',
  )

/** Values that can be found again in a sentence, of every kind that sentences take: texts, numbers, lists. */
const TEXTS = ['«one»', '«two»', '«three»', '«four»']
const NUMBERS = [7_001, 7_002, 7_003, 7_004]
const LISTS = TEXTS.map((text) => [text, `${text}+`])

/** The sentence with each kind of values that it can be made with. */
function made(sentence: (...args: unknown[]) => string): { given: unknown[]; text: string }[] {
  return [TEXTS, NUMBERS, LISTS].flatMap((values) => {
    const given = values.slice(0, sentence.length)
    try {
      return [{ given, text: String(sentence(...given)) }]
    } catch {
      return []
    }
  })
}

describe('the wording', () => {
  it('has the same sentences in every language', () => {
    expect(Object.keys(zh).toSorted()).toEqual(Object.keys(en).toSorted())
  })

  it('takes the same number of values for a sentence in every language', () => {
    for (const [key, sentence] of Object.entries<Sentence>(en)) {
      const translated = (zh as Record<string, Sentence>)[key]
      expect(typeof translated, key).toBe(typeof sentence)
      if (typeof sentence === 'function') expect((translated as () => string).length, key).toBe(sentence.length)
    }
  })

  it.each(languages)('in %s has no empty sentence and no stray spaces', (_, wording) => {
    const plain = Object.entries(wording).filter(([, sentence]) => typeof sentence === 'string') as [string, string][]
    const withValues = functions(wording).map(([key, sentence]) => [key, made(sentence)[0]?.text ?? ''] as const)
    for (const [key, text] of [...plain, ...withValues]) {
      expect(text.trim(), key).not.toBe('')
      expect(text, key).toBe(text.trim())
      expect(text, key).not.toMatch(/undefined|\[object|\$\{|NaN| {2}/)
    }
  })

  it.each(languages)('in %s uses every value that it is given', (_, wording) => {
    for (const [key, sentence] of functions(wording)) {
      const sentences = made(sentence)
      expect(sentences, key).not.toEqual([])
      for (const { given, text } of sentences) {
        for (const value of given.flat()) expect(text.replaceAll(',', ''), `${key}(${given})`).toContain(String(value))
      }
    }
  })

  it('in Chinese is Chinese, down to the full stops', () => {
    for (const [key, sentence] of Object.entries<Sentence>(zh)) {
      if (typeof sentence !== 'string') continue
      expect(sentence, key).toMatch(/\p{Script=Han}/u)
      expect(sentence, key).not.toMatch(/\p{Script=Han}[,.;:!?]/u)
    }
  })

  it('is chosen by the language tag, English where there is no translation', () => {
    expect(wordingFor('zh-CN')).toBe(zh)
    expect(wordingFor('ZH')).toBe(zh)
    for (const tag of [undefined, '', 'en-GB', 'de', 'x-zh']) expect(wordingFor(tag)).toBe(en)
  })
})
