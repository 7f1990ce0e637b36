import { cutWindow } from './cutWindow.ts'

/**
 * One splitter for whole and for growing texts. A text becomes pieces, each of which is well-formed Markdown that fits into
 * one message.
 *
 * Where a piece ends depends on the text up to a bounded distance behind its end and on nothing after that, so a streamed
 * text is cut where the whole one is: a piece that has been decided stays.
 */
export interface Piece {
  /** What is shown: `reopened + source.slice(from, to) + closed`. */
  markdown: string
  from: number
  to: number
  /** Put before the source's own text because the cut before it lay inside something: a fence, a table's header. */
  reopened: string
  /** Put behind it because the cut lies inside something. */
  closed: string
  /** What the next piece has to begin with. */
  next: string
}

export interface SplitOptions {
  /** The greatest `size` of a piece. */
  limit: number
  /** Length of what a text becomes on the platform, in the unit of `limit`. */
  size(markdown: string): number
}

/** Where the next piece begins. */
export interface Cursor {
  from: number
  reopened: string
}

export const START: Cursor = { from: 0, reopened: '' }

/** How much more than `limit` has to be known of a text before a piece of it is decided. */
const LOOK_AHEAD = 1.125

/** The texts of the messages that a text becomes: in order, none over the limit, none without content. */
export function splitMarkdown(markdown: string, options: SplitOptions): string[] {
  return splitPieces(markdown, options).map((piece) => piece.markdown)
}

export function splitPieces(source: string, options: SplitOptions): Piece[] {
  const pieces: Piece[] = []
  for (let cursor: Cursor | null = START; cursor; ) {
    const piece: Piece = nextPiece(source, cursor, options, 'whole')!
    if (piece.markdown.trim() !== '') pieces.push(piece)
    cursor = cursorAfter(source, piece)
  }
  return pieces
}

/** The source that pieces were made of: what was added for well-formedness is taken away again. */
export function joinParts(pieces: readonly Piece[]): string {
  return pieces
    .map(({ markdown, reopened, closed }) => markdown.slice(reopened.length, markdown.length - closed.length))
    .join('')
}

/**
 * The piece at `cursor`. Of a text that is still `growing` it is `null` as long as what is known does not decide it; such a
 * piece is the same as it will be in the whole text.
 */
export function nextPiece(
  source: string,
  cursor: Cursor,
  options: SplitOptions,
  state: 'growing' | 'whole',
): Piece | null {
  const { from, reopened } = cursor
  for (let window = Math.ceil(options.limit * LOOK_AHEAD); ; window *= 2) {
    const complete = from + window >= source.length
    if (complete && state === 'growing') return null
    const text = reopened + (complete ? source.slice(from) : source.slice(from, from + window))
    if (text.length > options.limit * 64 || options.size(text) > options.limit) {
      return pieceOf(source, cursor, cutWindow(text, reopened.length, options))
    }
    if (complete) return pieceOf(source, cursor, { at: text.length, closed: '', next: '' })
  }
}

/** `null` when the piece was the last. */
export function cursorAfter(source: string, piece: Piece): Cursor | null {
  return piece.to >= source.length ? null : { from: piece.to, reopened: piece.next }
}

function pieceOf(
  source: string,
  { from, reopened }: Cursor,
  { at, closed, next }: { at: number; closed: string; next: string },
): Piece {
  const end = from + at - reopened.length
  // Blank space at the end of the text makes no piece of its own.
  const to = source.length - end < 1_000 && source.slice(end).trim() === '' ? source.length : end
  return { markdown: reopened + source.slice(from, to) + closed, from, to, reopened, closed, next }
}
