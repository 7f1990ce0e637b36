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

/** Values for the arguments: texts that can be found again, or, where a sentence counts, numbers. */
const TEXTS = ['«one»', '«two»', '«three»', '«four»']
const NUMBERS = [7_001, 7_002, 7_003, 7_004]

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
    for (const [key, sentence] of Object.entries(wording)) {
      const text = typeof sentence === 'function' ? (sentence as (...args: string[]) => string)(...TEXTS) : sentence
      expect(text.trim(), key).not.toBe('')
      expect(text, key).toBe(text.trim())
      expect(text, key).not.toMatch(/undefined|\[object|\$\{|NaN| {2}/)
    }
  })

  it.each(languages)('in %s uses every value that it is given', (_, wording) => {
    for (const [key, sentence] of functions(wording)) {
      for (const values of [TEXTS, NUMBERS]) {
        const given = values.slice(0, sentence.length)
        const text = String(sentence(...given))
        for (const value of given) expect(text.replaceAll(',', ''), `${key}(${given})`).toContain(String(value))
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
