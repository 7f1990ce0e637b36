import { type CutOptions, cutWindow } from './cutWindow.ts'
import type { ForcedCut } from './outbox.ts'
import { type Cursor, cursorAfter, nextPiece, type Piece, START } from './splitMarkdown.ts'

/**
 * Cuts that a short budget forces: a text goes on in a new message although the one before has room, because posts have a
 * budget of their own. Such a message ends with what is visible in it already, so that nobody waits for an edit of it.
 */

/** Less than this of a text, in UTF-16 units, is not worth a message of its own. */
const LEAST_SHOWN = 100
/** How full the message has to be for a good-looking place, as a share of what is visible in it. */
const FULL_ENOUGH = 0.8
/** How much behind what is visible is looked at to know what stands there, as a share of the limit. */
const LOOK_BEHIND = 0.25

/** The best place to end a message that begins at `cursor` and shows `shown`; `null` where too little of the text is shown. */
export function cutBehindShown(
  source: string,
  { from, reopened }: Cursor,
  shown: string,
  options: CutOptions,
): ForcedCut | null {
  const tail = reopened + source.slice(from)
  const end = shownEnd(tail, shown)
  if (end - reopened.length < LEAST_SHOWN) return null
  const text = tail.slice(0, end + Math.ceil(options.limit * LOOK_BEHIND))
  if (text.length === end) return null
  const { at, closed, next } = cutWindow(text, reopened.length, { ...options, within: end, fullEnough: FULL_ENOUGH })
  return at > end || at - reopened.length < LEAST_SHOWN / 2 ? null : { at: from + at - reopened.length, closed, next }
}

/** Whether all of `markdown`, but for what was added to close it, stands in the message that shows `shown`. */
export function isVisible(markdown: string, closed: string, shown: string): boolean {
  const own = closed !== '' && markdown.endsWith(closed) ? markdown.slice(0, -closed.length) : markdown
  return shown.startsWith(own.trim())
}

/** The pieces of a text with cuts that were forced. Without any they are those of `splitPieces`. */
export function piecesWithCuts(source: string, options: CutOptions, cuts: readonly ForcedCut[]): Piece[] {
  const pieces: Piece[] = []
  for (let cursor: Cursor | null = START; cursor; ) {
    const { from, reopened }: Cursor = cursor
    const natural: Piece = nextPiece(source, cursor, options, 'whole')!
    const cut = cuts.find(({ at }) => at > from && at < natural.to)
    const piece: Piece = cut
      ? { ...cut, from, to: cut.at, reopened, markdown: reopened + source.slice(from, cut.at) + cut.closed }
      : natural
    if (piece.markdown.trim() !== '') pieces.push(piece)
    cursor = cursorAfter(source, piece)
  }
  return pieces
}

/** Where in the text the visible part of it ends. A frame is trimmed, and behind its end it has what closes it. */
function shownEnd(tail: string, shown: string): number {
  const lead = tail.length - tail.trimStart().length
  let same = 0
  while (same < shown.length && shown[same] === tail[lead + same]) same++
  return lead + same
}
