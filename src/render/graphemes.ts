/** Cuts and counts that never tear what people see as one character. */

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** The text, or its beginning with `…`, at most `limit` UTF-16 units long. */
export function cut(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, graphemeBefore(text, limit - 1))}…`
}

/** The last position at or before `at` that lies between two graphemes; the next one after it if there is none. */
export function graphemeBefore(text: string, at: number): number {
  if (at >= text.length) return text.length
  // Graphemes are short; a window before the position decides where the one around it begins.
  const from = Math.max(0, at - 64)
  const start = from > 0 && isLowSurrogate(text.charCodeAt(from)) ? from + 1 : from
  let before = start
  for (const { index, segment } of segmenter.segment(text.slice(start, at + 64))) {
    if (start + index > at) break
    before = start + index
    if (start + index + segment.length > at) break
  }
  return before
}

/** Unicode code points, which is what Discord counts. */
export function codePoints(text: string): number {
  let count = text.length
  for (let at = 0; at < text.length - 1; at++) {
    const unit = text.charCodeAt(at)
    if (unit >= 0xd800 && unit < 0xdc00 && isLowSurrogate(text.charCodeAt(at + 1))) {
      count--
      at++
    }
  }
  return count
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000
}
