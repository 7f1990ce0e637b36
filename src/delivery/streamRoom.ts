import { type Cut, cutAt } from './cutSeams.ts'
import { type CutOptions, cutWindow } from './cutWindow.ts'

/** How much of a text may be shown in a message that grows by additions, and where the message ends, if that is decided. */
export interface Room {
  seen: number
  cut: Cut | null
}

/** Up to this share of the limit everything is shown as it comes. */
const ROOMY = 0.8
/** How full the message has to be for any place but one between two graphemes. */
const FULL_ENOUGH = 0.9
/** Behind a line or a sentence. */
const ENDS = /\n|[.!?…]["'”’)\]*_`]*[ \t]|[。！？]/g
/** Behind a blank line. */
const BLOCK_ENDS = /\n[ \t]*\n+/g

/**
 * What is shown can't be taken back, so the end of a message is found while its text is written: when it is nearly full,
 * only whole sentences and lines are shown, and it ends with a block if there is one, else with the last of those that fit.
 * `start` is the length of what was put before the source's text, `seen` what may be shown already.
 */
export function roomFor(tail: string, start: number, seen: number, options: CutOptions): Room {
  const { limit, size } = options
  const length = size(tail)
  if (length <= limit * ROOMY) return { seen: tail.length, cut: null }
  const fits = length <= limit ? tail.length : longestFit(tail, start, options)
  const block = lastEnd(tail, BLOCK_ENDS, seen, fits)
  const atBlock = block === undefined || tail.slice(block).trim() === '' ? null : cutAt(tail, block, limit)
  if (atBlock && atBlock.closed === '' && atBlock.next === '') return { seen: atBlock.at, cut: atBlock }
  const end = lastEnd(tail, ENDS, seen, fits) ?? seen
  if (length <= limit) return { seen: end, cut: null }
  const atEnd = size(tail.slice(0, end)) > limit / 2 ? cutAt(tail, end, limit) : null
  const isFitting = atEnd && size(tail.slice(0, end) + atEnd.closed) <= limit
  const cut = isFitting ? atEnd : cutWindow(tail, start, { ...options, within: fits, fullEnough: FULL_ENOUGH })
  return { seen: Math.max(seen, cut.at), cut }
}

function lastEnd(text: string, pattern: RegExp, behind: number, until: number): number | undefined {
  const from = Math.max(0, behind - 1)
  const ends = [...text.slice(from, until).matchAll(pattern)].map((match) => from + match.index + match[0].length)
  return ends.findLast((end) => end > behind)
}

function longestFit(text: string, start: number, { limit, size }: CutOptions): number {
  let low = start
  let high = text.length
  while (high - low > limit / 100) {
    const middle = Math.floor((low + high) / 2)
    if (size(text.slice(0, middle)) <= limit) low = middle
    else high = middle
  }
  return low
}
