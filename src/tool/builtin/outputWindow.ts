import { createPlainText } from './plainText.ts'

/** The head and the tail of a text that comes in pieces, in bounded memory however long it gets. */
export interface OutputWindow {
  add(piece: string): void
  /** What is kept, with a note where something is left out. To be asked for once, at the end. */
  text(): string
}

/** What is not text is told apart by so many characters at the beginning. */
const SAMPLE_CHARACTERS = 64 * 1024

/** Keeps at most `characters`, half of them from the beginning. They count without control sequences of terminals. */
export function createOutputWindow(characters: number): OutputWindow {
  const half = Math.floor(characters / 2)
  const plain = createPlainText()
  const sample = { length: 0, zeros: 0, broken: 0 }
  let head = ''
  let tail = ''
  let length = 0

  function keep(piece: string): void {
    length += piece.length
    const room = half - head.length
    if (room > 0) {
      head += piece.slice(0, room)
      piece = piece.slice(room)
    }
    tail += piece
    // Cut now and then only, so that many small pieces stay cheap.
    if (tail.length > characters * 2) tail = tail.slice(-half)
  }

  function look(piece: string): void {
    const part = piece.slice(0, SAMPLE_CHARACTERS - sample.length)
    sample.length += part.length
    for (const sign of part) {
      if (sign === '\0') sample.zeros++
      else if (sign === '\ufffd') sample.broken++
    }
  }

  /** Names that end with a zero (`find -print0`) are text; much that is not UTF-8, or zeros everywhere, is not. */
  function isBinary(): boolean {
    const { zeros, broken } = sample
    return (broken > 0 && zeros + broken > sample.length * 0.15) || zeros > sample.length * 0.4
  }

  return {
    add(piece) {
      if (sample.length < SAMPLE_CHARACTERS) look(piece)
      keep(plain.push(piece))
    },
    text() {
      keep(plain.end())
      if (isBinary()) return '(binary output, not shown)'
      if (length <= characters) return (head + tail).toWellFormed()
      // Half of a character at the cut is no character.
      const start = head.replace(/[\ud800-\udbff]$/, '')
      const end = tail.slice(-half).replace(/^[\udc00-\udfff]/, '')
      const note = `\n[… ${length - start.length - end.length} characters left out …]\n`
      return `${start}${note}${end}`.toWellFormed()
    },
  }
}
