/** The longest thread name that Discord takes, and the length up to which lists show it whole; in code points. */
const READABLE = 60
export const DEFAULT_THREAD_NAME = 'ToyCoder'

/**
 * A thread's name from what was asked: the first line that has a letter or digit, without markup, cut between graphemes to 60
 * code points; the default if there is none. Always 1 to 100 well-formed characters.
 */
export function threadName(text: string): string {
  const line = text
    .toWellFormed()
    .split('\n')
    .map((each) => plain(each))
    .find((each) => /[\p{L}\p{N}]/u.test(each))
  return line === undefined ? DEFAULT_THREAD_NAME : cut(line)
}

function plain(line: string): string {
  return line
    .replace(/^\s*(`{3,}|~{3,})\s*\w*/, '')
    .replace(/^\s*(#{1,6}|>|[-*+]|\d+\.)\s+/, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]|~~|__/g, '')
    .replaceAll(/[\p{Cc}\p{Cf}](?<!\u200d)/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

function cut(line: string): string {
  if ([...line].length <= READABLE) return line
  let kept = ''
  let length = 0
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(line)) {
    length += [...segment].length
    if (length > READABLE - 1) break
    kept += segment
  }
  return `${kept.trimEnd() || DEFAULT_THREAD_NAME}…`
}
