const LONGEST = 80

/** A thread's name in the list: the first line of what began it, without Markdown's marks, at most 80 characters. */
export function titleOf(markdown: string): string {
  const line = markdown
    .replace(/^\/(plan|toycoder)\s+/i, '')
    .split('\n')
    .map(plain)
    .find((text) => text !== '')
  return line === undefined ? '…' : shorten(line)
}

function plain(line: string): string {
  return line
    .replace(/^\s*(#{1,6}|>|[-*+]|```\w*)\s*/, '')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[*_~`]+/g, '')
    .trim()
}

function shorten(text: string): string {
  // Bounded before it is cut into graphemes: one of them may be as long as somebody likes.
  const segments = [...new Intl.Segmenter().segment(text.slice(0, LONGEST * 16))]
  const graphemes = segments.map(({ segment }) => segment)
  if (graphemes.length <= LONGEST) return graphemes.join('')
  return `${graphemes
    .slice(0, LONGEST - 1)
    .join('')
    .trimEnd()}…`
}
