import type { Nodes, Parents } from 'mdast'
import { parseMarkdown } from '../render/markdown.ts'

/**
 * The frame of a text that is still being written: well-formed by itself, so that it can be shown as the final text will
 * be. An open fence is closed; emphasis and code that have begun are closed; what may still become something else (half a
 * link, a lone marker, the head of a table) is held back for a moment.
 */
export function liveFrame(markdown: string): string {
  let text = markdown
  // Holding something back can lay bare another unfinished thing before it.
  for (let round = 0; round < 4; round++) {
    const fence = openFence(text)
    if (fence) return fence.empty ? liveFrame(text.slice(0, fence.start)) : closeFence(text, fence)
    const shorter = heldBackLine(text)
    if (shorter === text) break
    text = shorter
  }
  return closeInline(text)
}

/** Longer than this and what looked like the beginning of a link was none. */
const LONGEST_LINK = 300
/** An opening marker this far back has been forgotten by the model or never was one. */
const LONGEST_EMPHASIS = 600

interface OpenFence {
  start: number
  /** `>` and blanks that stand before each line of it. */
  prefix: string
  fence: string
  /** Nothing but its first line, and blanks, is there yet. */
  empty: boolean
}

function openFence(text: string): OpenFence | undefined {
  const path = lastPath(parseMarkdown(text).root)
  const code = path.at(-1)
  if (code?.type !== 'code') return undefined
  const start = code.position!.start.offset!
  const fence = /^(?:`{3,}|~{3,})/.exec(text.slice(start))?.[0]
  if (!fence) return undefined
  const lines = text.slice(start).split('\n')
  const closing = new RegExp(`^[ \\t>]*${fence[0]}{${fence.length},}[ \\t]*$`)
  if (lines.slice(1).some((line) => closing.test(line))) return undefined
  const quotes = path.filter((node) => node.type === 'blockquote').length
  const column = start - (text.lastIndexOf('\n', start - 1) + 1)
  return {
    start,
    fence,
    prefix: quotes > 0 ? '> '.repeat(quotes) : ' '.repeat(column),
    empty: lines.slice(1).every((line) => line.trim() === ''),
  }
}

function closeFence(text: string, { prefix, fence }: OpenFence): string {
  // The last line may be the closing fence on its way.
  const partial = new RegExp(`\\n[ \\t>]*${fence[0]}{1,${fence.length}}$`)
  const kept = text.replace(partial, '\n')
  return `${kept}${kept.endsWith('\n') ? '' : '\n'}${prefix}${fence}`
}

/** Takes away a last line that is only the beginning of some block. */
function heldBackLine(text: string): string {
  const at = text.lastIndexOf('\n') + 1
  const line = text.slice(at).replace(/^[ \t>]+/, '')
  if (
    /^(?:#{1,6}|[-*+]|\d{1,9}[.)]?|(?:[-*+]|\d{1,9}[.)]) \[[ xX]?\]?|[-=*_]+|`{1,2}|~+|(?:`{3,}|~{3,})[^`\n]*)[ \t]*$/.test(
      line,
    )
  ) {
    return text.slice(0, at)
  }
  const last = lastPath(parseMarkdown(text).root).find((node) => node.type === 'paragraph')
  if (!last) return text
  // The head of a table is a paragraph until its second line is complete.
  const from = last.position!.start.offset!
  const head = /(?:^|\n)[ \t>]*\|[^\n]*(?:\n[ \t>]*(?:[|:-][|: \t-]*)?)?$/.exec(text.slice(from))
  return head ? text.slice(0, from + head.index) : text
}

function closeInline(text: string): string {
  const leaf = lastPath(parseMarkdown(text).root).findLast(
    (node) => node.type === 'paragraph' || node.type === 'heading' || node.type === 'tableCell',
  )
  if (!leaf) return text
  const from = leaf.position!.start.offset!
  const { keep, close } = unfinished(text.slice(from))
  const kept = text.slice(0, from + keep)
  return close === '' ? kept : kept.trimEnd() + close
}

/** How much of a paragraph stands for itself, and what closes the rest. */
function unfinished(text: string): { keep: number; close: string } {
  const open: { marker: string; at: number }[] = []
  const closers = (to: number) =>
    open
      .filter(({ at }) => to - at <= LONGEST_EMPHASIS)
      .map(({ marker }) => marker)
      .reverse()
      .join('')
  const hold = (keep: number) => {
    // A marker that has nothing behind it any more is held back too.
    while (open.length > 0 && text.slice(open.at(-1)!.at + open.at(-1)!.marker.length, keep).trim() === '') {
      keep = open.pop()!.at
    }
    return { keep, close: closers(keep) }
  }
  for (let at = 0; at < text.length; ) {
    const rest = text.slice(at)
    const character = text[at]!
    if (character === '\\') {
      if (rest.length < 2) return hold(at)
      at += 2
    } else if (character === '`') {
      const ticks = /^`+/.exec(rest)![0]
      const end = new RegExp(`(?<!\`)\`{${ticks.length}}(?!\`)`).exec(rest.slice(ticks.length))
      if (end) at += ticks.length + end.index + ticks.length
      else {
        const content = rest.slice(ticks.length).replace(/`+$/, '')
        if (content.trim() === '') return hold(at)
        if (content.length > LONGEST_EMPHASIS) at += ticks.length
        else return { keep: at + ticks.length + content.length, close: ticks + closers(text.length) }
      }
    } else if (character === '[' || (character === '!' && rest[1] === '[')) {
      const length = linkLength(rest)
      if (length === 0 && rest.length <= LONGEST_LINK) return hold(at)
      at += Math.max(1, length)
    } else if (character === '<' && /^<[A-Za-z/!@#:][^>\n]{0,200}$/.test(rest)) {
      return hold(at)
    } else if (character === '&' && /^&#?\w{0,31}$/.test(rest)) {
      return hold(at)
    } else if (character === '*' || character === '_' || character === '~') {
      const run = /^(\*+|_+|~+)/.exec(rest)![0]
      const before = text[at - 1] ?? ' '
      const after = text[at + run.length] ?? ''
      const atEnd = after === ''
      if (opensOrCloses(run, before, after, open)) {
        const last = open.at(-1)
        if (atEnd && (!last || last.marker[0] !== character || run.length < last.marker.length)) return hold(at)
        balance(open, run, at, before, after)
      } else if (atEnd) return hold(at)
      at += run.length
    } else {
      at++
    }
  }
  return hold(text.length)
}

type Open = { marker: string; at: number }[]

function opensOrCloses(run: string, before: string, after: string, open: Open): boolean {
  if (run[0] === '~' && run.length !== 2) return false
  return mayClose(run, before, after) ? open.length > 0 || mayOpen(run, before, after) : mayOpen(run, before, after)
}

/** Takes off the markers that a run closes and puts on those that it opens. */
function balance(open: Open, run: string, at: number, before: string, after: string): void {
  let left = run.length
  if (mayClose(run, before, after)) {
    while (left > 0 && open.length > 0) {
      const index = open.findLastIndex(({ marker }) => marker[0] === run[0] && marker.length <= left)
      if (index < 0) break
      left -= open[index]!.marker.length
      open.length = index
    }
  }
  if (left > 0 && mayOpen(run, before, after)) {
    if (left % 2 === 1 && run[0] !== '~') open.push({ marker: run[0]!, at: at + run.length - left })
    for (let pair = left - (left % 2); pair > 0; pair -= 2)
      open.push({ marker: run[0]!.repeat(2), at: at + run.length - pair })
  }
}

/** CommonMark's rules of flanking; a star inside a word is more often a product than emphasis while it stands alone. */
function mayOpen(run: string, before: string, after: string): boolean {
  if (after === '' || /\s/.test(after)) return false
  if (/[\p{P}\p{S}]/u.test(after) && !/[\s\p{P}\p{S}]/u.test(before)) return false
  return run[0] === '_' || run === '*' ? !/[A-Za-z0-9]/.test(before) : true
}

function mayClose(run: string, before: string, after: string): boolean {
  if (/\s/.test(before)) return false
  if (/[\p{P}\p{S}]/u.test(before) && !(after === '' || /[\s\p{P}\p{S}]/u.test(after))) return false
  return run[0] !== '_' || !/[\p{L}\p{N}]/u.test(after)
}

/** Length of the complete link, image or bracketed text at the beginning; 0 while it may still grow into a link. */
function linkLength(text: string): number {
  const label = bracketed(text, text.indexOf('['), '[', ']')
  if (label < 0 || label === text.length) return 0
  if (text[label] === '[') return Math.max(0, bracketed(text, label, '[', ']'))
  if (text[label] !== '(') return label
  return Math.max(0, bracketed(text, label, '(', ')'))
}

/** Behind this many characters no bracket is looked for: a thousand open ones would each be looked for to the end. */
const FARTHEST_BRACKET = 2_000

/** The position behind the bracket that closes the one at `at`, or -1. */
function bracketed(text: string, at: number, opening: string, closing: string): number {
  let depth = 0
  for (let index = at; index < Math.min(text.length, at + FARTHEST_BRACKET); index++) {
    if (text[index] === '\\') index++
    else if (text[index] === opening) depth++
    else if (text[index] === closing && --depth === 0) return index + 1
  }
  return -1
}

/** The last node of each level, outermost first. */
function lastPath(root: Parents): Nodes[] {
  const path: Nodes[] = []
  for (let node: Nodes | undefined = root.children.at(-1); node; ) {
    path.push(node)
    node = 'children' in node ? node.children.at(-1) : undefined
  }
  return path
}
