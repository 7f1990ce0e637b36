/**
 * The answers of the benchmark: Markdown of exactly `LENGTH` characters in which no word comes twice, so that whatever a
 * platform shows of it, in whatever markup, can be told by its words.
 */
export interface Source {
  text: string
  /** Its own words in order; other letters in it (`const`, a language) belong to the word before. */
  words: readonly Word[]
  indexOf: ReadonlyMap<string, number>
}

export interface Word {
  word: string
  /** Where it ends in the text. */
  end: number
  /** Characters from its start to the start of the next word. */
  length: number
}

export const LENGTH = 4_000
const CONSONANTS = 'bdfgklmnprstvz'
const VOWELS = 'aeiou'
const SYLLABLES = [...CONSONANTS].flatMap((first) => [...VOWELS].map((second) => first + second))

export function makeSource(seed: number): Source {
  const made: string[] = []
  const known = new Set<string>()
  let state = seed * 7919 + 17
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state >>> 8
  }
  /** A new word of six letters or eight. */
  const word = (): string => {
    const syllables = next() % 3 === 0 ? 4 : 3
    const one = Array.from({ length: syllables }, () => SYLLABLES[next() % SYLLABLES.length]).join('')
    if (known.has(one)) return word()
    known.add(one)
    made.push(one)
    return one
  }
  const some = (count: number) => Array.from({ length: count }, word).join(' ')
  const sections = [
    () => `## ${some(3)}\n\n`,
    () => `${some(14)}, **${some(2)}**, ${some(9)} \`${word()}\` ${some(6)}.\n\n`,
    () => `${[1, 2, 3].map((number) => `${number}. ${some(5)}\n`).join('')}\n`,
    () => `${some(12)} [${some(2)}](https://example.com/a_(b)) ${some(16)}.\n\n`,
    () => `\`\`\`ts\nconst ${word()} = ${word()}(${word()})\nreturn ${word()}\n\`\`\`\n\n`,
    () => `- ${some(6)}\n  - ${some(4)}\n- ${some(5)}\n\n`,
    () => `| ${word()} | ${word()} |\n| --- | --- |\n| ${word()} | ${word()} |\n| ${word()} | ${word()} |\n\n`,
    () => `> ${some(9)}.\n\n`,
  ]
  let text = ''
  for (let number = 0; text.length < LENGTH - 500; number++) text += sections[number % sections.length]!()
  while (text.length < LENGTH - 20) text += `${word()} `
  // The last word takes up what is left before the full stop.
  const last = word()
    .padEnd(LENGTH, 'q')
    .slice(0, LENGTH - text.length - 1)
  made[made.length - 1] = last
  text += `${last}.`
  return { text, words: placed(text, made), indexOf: new Map(made.map((one, index) => [one, index])) }
}

function placed(text: string, made: readonly string[]): Word[] {
  const starts: number[] = []
  let from = 0
  for (const one of made) {
    const at = text.indexOf(one, from)
    starts.push(at)
    from = at + one.length
  }
  starts[0] = 0
  return made.map((word, index) => {
    const end = text.indexOf(word, starts[index]!) + word.length
    return { word, end, length: (starts[index + 1] ?? text.length) - starts[index]! }
  })
}

/** How much of a source can be read in a text. */
export interface Reading {
  /** Characters whose word is there. */
  shown: number
  /** Index of the first word that is not; the number of words when all are. */
  next: number
  /** Characters of words that are there more than once, without their first time. */
  repeated: number
  /** Words that stand after one that follows them in the source. */
  misplaced: number
}

export function read(source: Source, text: string): Reading {
  const seen = new Uint8Array(source.words.length)
  const reading: Reading = { shown: 0, next: 0, repeated: 0, misplaced: 0 }
  let furthest = -1
  for (const [letters] of text.matchAll(/[a-z]{6,}/g)) {
    const index = source.indexOf.get(letters)
    if (index === undefined) continue
    const { length } = source.words[index]!
    if (seen[index]) reading.repeated += length
    else {
      seen[index] = 1
      reading.shown += length
      if (index < furthest) reading.misplaced++
    }
    furthest = Math.max(furthest, index)
  }
  while (seen[reading.next]) reading.next++
  return reading
}
