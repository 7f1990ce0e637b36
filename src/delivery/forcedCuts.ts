import { cutAt, isInWord } from './cutSeams.ts'
import { type CutOptions, cutWindow } from './cutWindow.ts'
import type { ForcedCut } from './outbox.ts'
import { type Cursor, cursorAfter, nextPiece, type Piece, START } from './splitMarkdown.ts'

/**
 * Cuts that a short budget forces: a text goes on in a new message although the one before has room, because posts have a
 * budget of their own. Such a message ends with what is visible in it already, so that nobody waits for an edit of it.
 */

/** How full the message has to be for a good-looking place, as a share of what is visible in it. */
const FULL_ENOUGH = 0.8
/** How much behind what is visible is looked at to know what stands there, as a share of the limit. */
const LOOK_BEHIND = 0.25
/** How far before the end of a frame it is looked for a line or a sentence that it can end with. */
const SENTENCE = 200
/** So many characters of a table are kept for a later frame, which may show it whole. */
const LONGEST_TABLE = 600
/** What is longer without a blank is no word, or no address of a page. */
const WORD = 40
const LONGEST_ADDRESS = 300

/**
 * The place to end a message that begins at `cursor` and shows `shown`: right where the visible text ends if that can be, so
 * that no word stands there twice, else before it. `null` where less than `least` characters of the text are visible.
 */
export function cutBehindShown(
  source: string,
  { from, reopened }: Cursor,
  shown: string,
  { least, ...options }: CutOptions & { least: number },
): ForcedCut | null {
  const tail = reopened + source.slice(from)
  const end = shownEnd(tail, shown)
  const text = tail.slice(0, end + Math.ceil(options.limit * LOOK_BEHIND))
  if (end - reopened.length < least || text.length === end) return null
  const { at, closed, next } =
    cutAt(text, end, options.limit) ??
    cutWindow(text, reopened.length, { ...options, within: end, fullEnough: FULL_ENOUGH })
  return at > end || at - reopened.length < least / 2 ? null : { from, at: from + at - reopened.length, closed, next }
}

/**
 * Where a frame ends best, so that the text could go on in another message: with a word, not within one that is still being
 * written; with a line or a sentence, and before a table, when the next frame will not come `soon`.
 */
export function frameEnd(tail: string, soon: boolean): number {
  const table = soon ? undefined : startOfLastTable(tail)
  if (table) return table
  const sentence = soon ? undefined : lastEnd(tail, SENTENCE, /\n|[.!?…]["'”’)\]*_`]*[ \t]|[。！？]/g)
  if (sentence !== undefined) return sentence
  const [run = ''] = /\S*$/.exec(tail.slice(-LONGEST_ADDRESS)) ?? []
  const isUnfinished = run.includes('://') || (run.length <= WORD && isInWord(run.at(-1)))
  const end = isUnfinished ? tail.length - run.length : tail.length
  return tail.slice(0, end).trim() === '' ? tail.length : end
}

/** Whether all of `markdown`, but for what was added to close it, stands in the message that shows `shown`. */
export function isVisible(markdown: string, closed: string, shown: string): boolean {
  const own = closed !== '' && markdown.endsWith(closed) ? markdown.slice(0, -closed.length) : markdown
  return shown.startsWith(own.trim())
}

/** The pieces of a text, some of which end with cuts that were forced. Without any they are those of `splitPieces`. */
export function piecesWithCuts(source: string, options: CutOptions, cuts: readonly ForcedCut[]): Piece[] {
  const pieces: Piece[] = []
  for (let cursor: Cursor | null = START; cursor; ) {
    const { from, reopened }: Cursor = cursor
    const cut = cuts.find((one) => one.from === from)
    const piece: Piece = cut
      ? { ...cut, to: cut.at, reopened, markdown: reopened + source.slice(from, cut.at) + cut.closed }
      : nextPiece(source, cursor, options, 'whole')!
    if (piece.markdown.trim() !== '') pieces.push(piece)
    cursor = cursorAfter(source, piece)
  }
  return pieces
}

/**
 * Where in the text the visible part of it ends, with the blanks or line breaks behind it. A frame is trimmed, and behind its
 * end it has what closes it.
 */
function shownEnd(tail: string, shown: string): number {
  const lead = tail.length - tail.trimStart().length
  let same = 0
  while (same < shown.length && shown[same] === tail[lead + same]) same++
  const [blank = ''] = /^(?:(?:[ \t]*\n)+|[ \t]+)/.exec(tail.slice(lead + same)) ?? []
  return lead + same + blank.length
}

/** Where the rows begin that a text ends with, unless there is nothing before them or they are many. */
function startOfLastTable(tail: string): number | undefined {
  const [rows = ''] = /(?:^|(?<=\n))(?: {0,3}\|[^\n]*(?:\n|$))+$/.exec(tail.slice(-LONGEST_TABLE)) ?? []
  const start = tail.length - rows.length
  return rows !== '' && tail.slice(0, start).trim() !== '' ? start : undefined
}

/** Behind the last match near the end of the text, if there is one and not all would be left out. */
function lastEnd(text: string, within: number, pattern: RegExp): number | undefined {
  const from = Math.max(0, text.length - within)
  const last = [...text.slice(from).matchAll(pattern)].at(-1)
  const end = last && from + last.index + last[0].length
  return end && text.slice(0, end).trim() !== '' ? end : undefined
}
