import { READ_RESULT } from '../tool/resultKeeper.ts'

/** The note that a result carries where it was too long already when it came: it names the id of the whole. */
const KEPT_WHOLE = new RegExp(`${READ_RESULT} with call "([^"\\n]{1,100})"`)
/** Such a note stands at one end of the result; elsewhere it would be part of what the tool said. */
const NOTE_WITHIN = 300

/**
 * An old result as the model is shown it: its beginning and its end, `keep` characters together, with a note of what is
 * missing and, where the whole was kept, of how to read it. A result that is no longer than that (or that the note would
 * make no shorter) stays as it is. The same result and limit always give the same text.
 */
export function prunedResult(content: string, keep: number): string {
  if (content.length <= keep) return content
  const head = content.slice(0, unitsBefore(content, Math.ceil(keep / 2)))
  const tail = content.slice(unitsAfter(content, content.length - Math.floor(keep / 2)))
  const missing = content.length - head.length - tail.length
  const note = `[${missing} of ${content.length} characters of this earlier result are left out; ${howToReadOn(content)}]`
  const pruned = [head, note, tail].filter(Boolean).join('\n')
  return pruned.length < content.length ? pruned : content
}

function howToReadOn(content: string): string {
  const note = KEPT_WHOLE.exec(content.slice(-NOTE_WITHIN)) ?? KEPT_WHOLE.exec(content.slice(0, NOTE_WITHIN))
  return note ? `${READ_RESULT} with call "${note[1]}" shows the whole` : 'call the tool again if you need them'
}

/** Positions that don't split a surrogate pair. */
function unitsBefore(text: string, at: number): number {
  return splitsPair(text, at) ? at - 1 : at
}

function unitsAfter(text: string, at: number): number {
  return splitsPair(text, at) ? at + 1 : at
}

function splitsPair(text: string, at: number): boolean {
  return at > 0 && (text.codePointAt(at - 1) ?? 0) > 0xffff
}
