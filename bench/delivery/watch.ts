import { type Telling, toldBy } from './model.ts'
import { type Reading, read } from './source.ts'

/** What could be seen of one answer since a moment. */
interface Sight extends Reading {
  at: number
}

/** One answer of a bot, watched from the platform's side. */
export interface Watched {
  telling: Telling
  sights: Sight[]
}

export interface Figures {
  answers: number
  /** Answers that stand whole: all words once. */
  whole: number
  /** Milliseconds from the first token to the first visible text. */
  firstTextMs: Spread
  /** Milliseconds by which the visible text was behind the model, over the time of the answer. */
  lagMs: Spread
  /** Milliseconds from the last token until the text was whole for good. */
  finalMs: Spread
  lostCharacters: number
  repeatedCharacters: number
  misplacedWords: number
}

/** `null`: not before the end of the benchmark. */
export interface Spread {
  p50: number | null
  p95: number | null
}

/** How often the lag is looked at, in milliseconds. */
const SAMPLE_MS = 100

/** Takes down what can be seen now. */
export function look(watched: Watched, texts: readonly string[]): void {
  const { source } = watched.telling
  const reading = read(source, texts.join('\n'))
  watched.sights.push({ at: performance.now(), ...reading })
}

export function isWhole({ telling, sights }: Watched): boolean {
  const last = sights.at(-1)
  return last !== undefined && last.next === telling.source.words.length && last.repeated === 0
}

export function figuresOf(all: readonly Watched[]): Figures {
  const ends = all.map(({ sights }) => sights.at(-1) ?? { shown: 0, next: 0, repeated: 0, misplaced: 0 })
  return {
    answers: all.length,
    whole: all.filter(isWhole).length,
    firstTextMs: spread(all.map(firstTextMs)),
    lagMs: spread(all.flatMap(lags)),
    finalMs: spread(all.map(finalMs)),
    lostCharacters: all.reduce((sum, { telling }, n) => sum + telling.source.text.length - ends[n]!.shown, 0),
    repeatedCharacters: ends.reduce((sum, { repeated }) => sum + repeated, 0),
    misplacedWords: ends.reduce((sum, { misplaced }) => sum + misplaced, 0),
  }
}

function firstTextMs({ telling, sights }: Watched): number {
  const first = sights.find(({ shown }) => shown > 0)
  return first && telling.toldAt.length > 0 ? first.at - telling.toldAt[0]! : Number.POSITIVE_INFINITY
}

/** From when on nothing was missing and nothing was there twice. */
function finalMs(watched: Watched): number {
  const { telling, sights } = watched
  if (!isWhole(watched)) return Number.POSITIVE_INFINITY
  const lacking = sights.findLastIndex(({ next, repeated }) => next < telling.source.words.length || repeated > 0)
  return sights[lacking + 1]!.at - telling.toldAt.at(-1)!
}

/** While the model tells: how old the oldest text is that cannot be seen yet. */
function lags({ telling, sights }: Watched): number[] {
  const { source, toldAt } = telling
  const found: number[] = []
  let at = 0
  const [start = Number.POSITIVE_INFINITY] = toldAt
  for (let now = start; now <= toldAt.at(-1)!; now += SAMPLE_MS) {
    while (at < sights.length && sights[at]!.at <= now) at++
    const missing = source.words[sights[at - 1]?.next ?? 0]
    const told = missing ? toldBy(telling, missing.end) : null
    found.push(told === null ? 0 : Math.max(0, now - told))
  }
  return found
}

function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => {
    const value = sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)]
    return value === undefined || value === Number.POSITIVE_INFINITY ? null : Math.round(value)
  }
  return { p50: at(0.5), p95: at(0.95) }
}
