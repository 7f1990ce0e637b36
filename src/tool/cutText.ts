/** Which part of a long text stands, and how much there was. `from` and `to` are line numbers, counted from 1. */
export interface Cut {
  text: string
  from: number
  to: number
  lines: number
  bytes: number
  /** True when a line itself had to be cut because it alone is longer than the limit. */
  insideLine: boolean
}

/**
 * The head or the tail of a text within a number of lines and of UTF-8 bytes, cut between lines; a single line that is too
 * long is cut between graphemes. `null` when the whole text fits.
 */
export function cutText(text: string, keep: 'head' | 'tail', limits: { lines: number; bytes: number }): Cut | null {
  const bytes = Buffer.byteLength(text)
  const all = text.split('\n')
  // A final line break ends the last line; it does not begin another one.
  if (all.length > 1 && all.at(-1) === '') all.pop()
  if (bytes <= limits.bytes && all.length <= limits.lines) return null

  const inOrder = keep === 'head' ? all : all.toReversed()
  let used = 0
  let count = 0
  for (const line of inOrder) {
    used += Buffer.byteLength(line) + 1
    if (count === limits.lines || used - 1 > limits.bytes) break
    count++
  }
  const kept = keep === 'head' ? all.slice(0, count) : all.slice(all.length - count)
  const from = keep === 'head' ? 1 : all.length - count + 1
  if (count > 0)
    return { text: kept.join('\n'), from, to: from + count - 1, lines: all.length, bytes, insideLine: false }

  const line = keep === 'head' ? all[0]! : all.at(-1)!
  const piece = keep === 'head' ? headOf(line, limits.bytes) : tailOf(line, limits.bytes)
  const at = keep === 'head' ? 1 : all.length
  return { text: piece, from: at, to: at, lines: all.length, bytes, insideLine: true }
}

/** The longest beginning of a text that has at most `bytes` UTF-8 bytes and ends between two graphemes. */
export function headOf(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes))
  return read === text.length ? text : text.slice(0, graphemeBorder(text, read).before)
}

/** The longest end of a text that has at most `bytes` UTF-8 bytes and starts between two graphemes. */
export function tailOf(text: string, bytes: number): string {
  const encoded = Buffer.from(text)
  if (encoded.length <= bytes) return text
  let start = encoded.length - bytes
  while (start < encoded.length && (encoded[start]! & 0xc0) === 0x80) start++
  const units = encoded.subarray(start).toString().length
  return text.slice(graphemeBorder(text, text.length - units).after)
}

/** A text of at most `characters` UTF-16 units, cut between graphemes, with a mark where it was cut. */
export function shortLine(line: string, characters: number): string {
  if (line.length <= characters) return line
  return `${line.slice(0, graphemeBorder(line, characters).before)}… [line cut]`
}

/** Graphemes longer than this are cut inside; otherwise a text of one endless cluster could not be cut at all. */
const WINDOW = 512

/** The grapheme borders at or around a position: `before <= at <= after`. Looks at a window only, so its cost is constant. */
function graphemeBorder(text: string, at: number): { before: number; after: number } {
  const start = Math.max(0, at - WINDOW)
  const window = text.slice(start, at + WINDOW)
  const found = new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(window).containing(at - start)
  if (!found) return { before: at, after: at }
  const before = start + found.index
  if (before === at) return { before: at, after: at }
  const after = before + found.segment.length
  // A cluster that fills the window: only surrogate pairs are kept whole.
  if (before === start && start > 0) return pairBorder(text, at)
  return { before, after }
}

function pairBorder(text: string, at: number): { before: number; after: number } {
  const inPair = (text.codePointAt(at - 1) ?? 0) > 0xffff
  return inPair ? { before: at - 1, after: at + 1 } : { before: at, after: at }
}
