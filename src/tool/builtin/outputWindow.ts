/** The head and the tail of a text that comes in pieces, in bounded memory however long it gets. */
export interface OutputWindow {
  add(piece: string): void
  /** What is kept, with a note where something is left out. */
  text(): string
}

/** Control sequences of terminals: colours, cursor, titles. */
const SEQUENCES =
  /\u001b\[[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[@-Z\\-_]|[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f]/g

/** Keeps at most `characters`, half of them from the beginning. */
export function createOutputWindow(characters: number): OutputWindow {
  const half = Math.floor(characters / 2)
  let head = ''
  let tail = ''
  let length = 0

  return {
    add(piece) {
      length += piece.length
      const room = half - head.length
      if (room > 0) {
        head += piece.slice(0, room)
        piece = piece.slice(room)
      }
      tail += piece
      // Cut now and then only, so that many small pieces stay cheap.
      if (tail.length > characters * 2) tail = tail.slice(-half)
    },
    text() {
      const end = tail.slice(-half)
      const left = length - head.length - end.length
      const note = left > 0 ? `\n[… ${left} characters left out …]\n` : ''
      return (head + note + end).toWellFormed().replace(SEQUENCES, '').replaceAll('\r\n', '\n')
    },
  }
}
