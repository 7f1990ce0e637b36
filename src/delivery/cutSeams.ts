import type { Nodes, Parents, RootContent } from 'mdast'
import { fenceLanguage } from '../render/chatMarkdown.ts'
import { graphemeBefore } from '../render/graphemes.ts'
import { parseMarkdown } from '../render/markdown.ts'

/** What a text needs at a cut so that both sides are well formed by themselves. */

/** A place between two pieces: what the first ends with and the second begins with beyond the source's own text. */
export interface Cut {
  at: number
  closed: string
  next: string
}

/** An info string or a table header longer than this share of the limit is not repeated. */
const REPEATABLE = 0.25
/** Nothing is opened again that would take more than this share of a message, such as a thousand quotes in each other. */
const LONGEST_SEAM = 0.5

/** A cut at exactly this place; `null` where it would fall into a word, a link, or anything else that is one thing. */
export function cutAt(text: string, at: number, limit: number): Cut | null {
  if (graphemeBefore(text, at) !== at) return null
  if (isInWord(text[at - 1]) && isInWord(text[at])) return null
  const isLineStart = text[at - 1] === '\n'
  // What follows would become something else at the head of a message.
  if (
    (isLineStart ? /^(?: {4}|\t)/ : /^[ \t]*(?:[-*+] |#{1,6} |[>|]|[-=]{2}|`{3}|~{3}|\d+[.)] )/).test(
      text.slice(at, at + 20),
    )
  )
    return null
  const { root } = parseMarkdown(text)
  for (const node of pathTo(root, at)) {
    if (!isLineStart && (node.type === 'html' || node.type === 'definition')) return null
    if (WHOLE.has(node.type)) return null
    // The line of a fence is no text.
    if (node.type === 'code' && at <= (lineStarts(text, startOf(node), endOf(node))[0] ?? at)) return null
  }
  return seamAt(root, text, at, limit)
}

/** Letters of scripts that set words apart by blanks. */
const WORD = /[\p{L}\p{N}_]/u
const NO_BLANKS = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u
const WHOLE = new Set(['table', 'link', 'linkReference', 'image', 'imageReference', 'inlineCode', 'footnoteReference'])

export function isInWord(character: string | undefined): boolean {
  return character !== undefined && WORD.test(character) && !NO_BLANKS.test(character)
}

/** What has to be closed before a cut and opened again behind it, if that leaves the next message room for the text. */
export function seamAt(root: Parents, text: string, at: number, limit: number): Cut {
  const seam = wholeSeam(root, text, at, limit)
  return seam.next.length <= limit * LONGEST_SEAM ? seam : { ...seam, next: '' }
}

function wholeSeam(root: Parents, text: string, at: number, limit: number): Cut {
  const atLineStart = text[at - 1] === '\n'
  let quote = ''
  let closed = ''
  let next = ''
  for (const node of pathTo(root, at)) {
    if (node.type === 'blockquote') quote += '> '
    if (node.type === 'code' && isFenced(text, startOf(node))) {
      const written = text.slice(startOf(node), endOf(node))
      const [opening = '```', fence = '```'] = /^(`{3,}|~{3,})[^\n]*/.exec(written) ?? []
      const info = opening.length <= limit * REPEATABLE ? opening : fence + fenceLanguage(node)
      const indent = quote === '' ? ' '.repeat(startOf(node) - lineStart(text, startOf(node))) : quote
      const again = `${quote === '' ? indent.slice(0, 3) : quote}${info}\n`
      return {
        at,
        closed: `${atLineStart ? '' : '\n'}${indent}${fence}`,
        next: again + (atLineStart ? '' : quote),
      }
    }
    if (node.type === 'table') {
      const header = text.slice(lineStart(text, startOf(node)), lineEnd(text, lineEnd(text, startOf(node))))
      return { at, closed: '', next: atLineStart && header.length <= limit * REPEATABLE ? header : '' }
    }
    if (node.type === 'strong' || node.type === 'emphasis' || node.type === 'delete') {
      const marker = /^([*_~])\1?/.exec(text.slice(startOf(node)))?.[0].slice(0, node.type === 'emphasis' ? 1 : 2) ?? ''
      // A marker after a blank closes nothing; a zero-width space between them is no blank.
      closed = (closed || (/\s$/.test(text.slice(0, at)) ? '\u200b' : '')) + marker
      next += marker
    }
    if (node.type === 'inlineCode') {
      const ticks = /^`+/.exec(text.slice(startOf(node)))?.[0] ?? '`'
      closed = ticks + closed
      next += ticks
    }
  }
  return { at, closed, next: (atLineStart ? '' : quote) + next }
}

/** The nodes around a position, outermost first. */
export function pathTo(root: Parents, at: number): RootContent[] {
  const path: RootContent[] = []
  let children: readonly RootContent[] = root.children
  for (;;) {
    const inside = children.find((node) => node.position && startOf(node) < at && endOf(node) > at)
    if (!inside) return path
    path.push(inside)
    if (!('children' in inside)) return path
    children = inside.children
  }
}

export function startOf(node: Nodes): number {
  return node.position?.start.offset ?? 0
}

export function endOf(node: Nodes): number {
  return node.position?.end.offset ?? 0
}

export function lineStart(text: string, at: number): number {
  return text.lastIndexOf('\n', at - 1) + 1
}

/** The position behind the line break that ends the line of `at`. */
function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at)
  return end < 0 ? text.length : end + 1
}

/** Starts of the lines after the first. */
export function lineStarts(text: string, from: number, to: number): number[] {
  const starts: number[] = []
  for (let at = text.indexOf('\n', from); at >= 0 && at < to; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

export function isFenced(text: string, start: number): boolean {
  return text.startsWith('```', start) || text.startsWith('~~~', start)
}

export function isClosed(text: string, node: Nodes): boolean {
  const [fence = '```'] = /^(?:`{3,}|~{3,})/.exec(text.slice(startOf(node), startOf(node) + 200)) ?? []
  const last = text.slice(lineStart(text, endOf(node)), endOf(node))
  return (
    lineStart(text, endOf(node)) > startOf(node) &&
    new RegExp(`^[ \\t>]*${fence[0]}{${fence.length},}[ \\t]*$`).test(last)
  )
}
