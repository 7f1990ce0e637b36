import { liveFrame } from './liveFrame.ts'

/** An unfinished emphasis or link is held back so far at most, in UTF-16 units. */
const LONGEST_HELD_BACK = 300

/**
 * What of a text that is still being written can be shown for good: the printed beginning that stays the same however the
 * text goes on, as far as can be foreseen. Emphasis, code and links are held back until they are whole; a code block is not.
 *
 * A later text may change an earlier part all the same (a list that becomes loose, a definition at the end), so whoever has
 * shown it compares.
 */
export function steadyText(markdown: string, print: (markdown: string) => string): string {
  const [frame = '', ...others] = ['', 'x', '\n\nx'].map((further) => print(liveFrame(markdown + further).trim()))
  let common = frame.length
  for (const other of others) common = commonLength(frame, other, common)
  return wholeInlines(frame.slice(0, common)).trimEnd()
}

function commonLength(one: string, other: string, most: number): number {
  let length = 0
  while (length < most && one[length] === other[length]) length++
  // Not between the halves of a surrogate pair.
  return length > 0 && /[\uD800-\uDBFF]/.test(one[length - 1]!) ? length - 1 : length
}

/** Without the inline markup at its end that is not closed yet. */
function wholeInlines(text: string): string {
  const closed = liveFrame(text)
  if (closed.trimEnd() === text.trimEnd() || isFenceClosed(text, closed)) return text
  const block = text.lastIndexOf('\n\n') + 1
  for (let at = text.length; at > Math.max(block, text.length - LONGEST_HELD_BACK); ) {
    at = text.slice(0, at).search(/\s+\S*$/)
    if (at < block) break
    const last = text.slice(block, at)
    if (liveFrame(last).trimEnd() === last.trimEnd()) return text.slice(0, at)
  }
  // The whole block is unfinished, if it is not too long for that.
  return text.length - block <= LONGEST_HELD_BACK ? text.slice(0, block) : text
}

function isFenceClosed(text: string, closed: string): boolean {
  const beginning = text.trimEnd()
  return closed.startsWith(beginning) && /^\s*[> ]*(?:`{3,}|~{3,})$/.test(closed.slice(beginning.length))
}
