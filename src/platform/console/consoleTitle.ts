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
  const graphemes = [...new Intl.Segmenter().segment(text.slice(0, LONGEST * 8))]
  if (graphemes.length <= LONGEST) return text
  return `${graphemes
    .slice(0, LONGEST - 1)
    .map(({ segment }) => segment)
    .join('')
    .trimEnd()}…`
}
