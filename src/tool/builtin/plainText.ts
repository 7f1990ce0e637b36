/** A text that comes in pieces, without what only a terminal understands. */
export interface PlainText {
  /** What is certain by now. */
  push(piece: string): string
  /** The rest. */
  end(): string
}

/**
 * Colours, cursor moves, titles and other strings for terminals, character sets, and all single control characters; in a
 * group what ends a line. One pass for both, so that what comes between a return and a line feed never depends on the cut.
 */
const SEQUENCES =
  /\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[ -/]+[0-~]|\u001b[0-OQ-WYZ\\`-~]|[\u0001-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]|(\r\n?|\0)/g
/** What may become one of these, or the end of a line, with the next piece. */
const UNFINISHED = /(?:\u001b(?:\[[0-?]*[ -/]*|[\]PX^_][^\u0007\u001b]*\u001b?|[ -/]*)|\r)$/
/** A sequence that is longer is none. */
const LONGEST_SEQUENCE = 4_096

/** The pieces come to the same text wherever they are cut. Line ends become `\n`, also the returns of progress bars. */
export function createPlainText(): PlainText {
  let held = ''

  return {
    push(piece) {
      const text = held + piece
      const from = Math.max(0, text.length - LONGEST_SEQUENCE)
      const at = text.slice(from).search(UNFINISHED)
      held = at < 0 ? '' : text.slice(from + at)
      return plain(at < 0 ? text : text.slice(0, from + at))
    },
    end() {
      const text = held
      held = ''
      return plain(text)
    },
  }
}

function plain(text: string): string {
  return text.replace(SEQUENCES, (_, end?: string) => (end === undefined ? '' : '\n'))
}
