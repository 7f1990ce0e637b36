/** Ways to put foreign text into a Markdown document so that it stays in its place, whatever it holds. */
import type { Nodes } from 'mdast'
import { fromMarkdown } from 'mdast-util-from-markdown'

/** Beyond this many characters a text is shown as it is written instead of being searched for HTML. */
const LONGEST_PARSED = 200_000
const MOST_ROUNDS = 5

/**
 * What somebody said, as a block quote: a fence or list that is left open ends with the quote, and a heading inside of it
 * can't be taken for one of the document. HTML is shown as it is written.
 */
export function quoted(markdown: string): string {
  const text = markdown.trim()
  const safe = text.length > LONGEST_PARSED ? fenced(text) : (withoutHtml(text) ?? fenced(text))
  return linesOf(safe)
    .map((line) => (line === '' ? '>' : `> ${line}`))
    .join('\n')
}

/** Text word for word in a fence that is longer than any within it. */
export function fenced(text: string, language = ''): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${linesOf(text).join('\n')}\n${fence}`
}

/**
 * A name or a title as a line or within one: without any power to format, link or break the line. Signs that have no power
 * where they stand are left as they are, because not everything that shows Markdown takes a backslash for what it is.
 */
export function plainInline(text: string): string {
  const line = oneLine(text)
  const mayLink = /www\.|:\/\/|@/i.test(line)
  const signs = mayLink ? /[\\`*_{}[\]()#+!|<>~&@:.-]/g : /[\\`*_{}[\]|<>~&]|^[-+#]|#(?=#*\s*$)|(?<=^\d+)[.)]/g
  return line.replaceAll(signs, (sign) => (/[<>&]/.test(sign) ? ENTITIES[sign]! : `\\${sign}`))
}

/** Text inside of an HTML element. */
export function htmlText(text: string): string {
  return oneLine(text).replaceAll(/[<>&"]/g, (sign) => ENTITIES[sign]!)
}

const ENTITIES: Record<string, string> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' }

const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim()

/** CommonMark knows these three line ends; a bare carriage return would get out of a quote otherwise. */
const linesOf = (text: string) => text.split(/\r\n|\r|\n/)

/**
 * Taking the power from one tag can change how the rest is read (a fence inside of a comment becomes a fence), so it is read
 * again until no HTML is left; `null` where that takes too long.
 */
function withoutHtml(markdown: string): string | null {
  let text = markdown
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const tags: { start: number; end: number }[] = []
    collectHtml(fromMarkdown(text), tags)
    if (tags.length === 0) return text
    for (const { start, end } of tags.toReversed()) {
      text = text.slice(0, start) + text.slice(start, end).replaceAll('<', '&lt;') + text.slice(end)
    }
  }
  return null
}

function collectHtml(node: Nodes, found: { start: number; end: number }[]): void {
  if (node.type === 'html') found.push({ start: node.position!.start.offset!, end: node.position!.end.offset! })
  if ('children' in node) for (const child of node.children) collectHtml(child, found)
}
