import type { Nodes, Parents, RootContent } from 'mdast'
import { graphemeBefore } from '../render/graphemes.ts'
import { parseMarkdown } from '../render/markdown.ts'
import { type Cut, endOf, isClosed, isFenced, lineStart, lineStarts, pathTo, seamAt, startOf } from './cutSeams.ts'

/** Finds the best place to end a message in a text that is too long for it. */

export interface CutOptions {
  limit: number
  size(markdown: string): number
  /** How full a message has to be for any kind of place, as a share of what would fit. Default: depends on the kind. */
  fullEnough?: number
  /** The cut lies here or before it. Default: as far on as the text fits. */
  within?: number
}

/** Kinds of places, best first, and how full a message has to be (as a share of what would fit) for the kind to be taken. */
const KINDS = ['block', 'item', 'line', 'softBreak', 'sentence', 'word', 'nestedWord'] as const
type Kind = (typeof KINDS)[number]
const FULL_ENOUGH: Record<Kind, number> = {
  block: 0.5,
  item: 0.5,
  line: 0.45,
  softBreak: 0.5,
  sentence: 0.5,
  word: 0.5,
  nestedWord: 0.5,
}
/** Below this share any better-looking place is given up for a cut between two graphemes. */
const TOO_EMPTY = 0.2
/** `start` is the length of what was put before the source's text: the cut lies behind it. */
export function cutWindow(text: string, start: number, options: CutOptions): Cut {
  const root = parseMarkdown(text).root
  const places = placesOf(root, text, start)
  let fits = options.within ?? longestFit(text, start, options)
  for (;;) {
    const overflow = fits
    const at =
      tableStart(root, text, overflow, start, options) ??
      choose(places, overflow, start, options.fullEnough) ??
      graphemeCut(root, text, overflow, start)
    const cut = seamAt(root, text, at, options.limit)
    const size = options.size(text.slice(0, at) + cut.closed)
    if (size <= options.limit) return cut
    // Not even one grapheme fits: progress comes before the limit.
    if (overflow <= start + 1) return { at: graphemeAfter(text, start), closed: '', next: '' }
    // What closes the piece did not fit, or the text grows when it is cut here: look earlier, by a little or by as much as
    // it is too long. Each look parses the text, so there must be few of them.
    const room = fits - start
    const step = Math.ceil(Math.max(options.limit, room) / 100)
    fits = Math.max(start + 1, Math.min(at - 1, fits - step, start + Math.floor((room * options.limit) / size)))
  }
}

/** The greatest length, to within a fiftieth of the limit, whose beginning of the text fits. */
function longestFit(text: string, start: number, { limit, size }: CutOptions): number {
  let low = start
  let high = text.length
  let guess = Math.min(high - 1, Math.floor((limit * high) / Math.max(1, size(text))))
  for (let round = 0; round < 40 && high - low > Math.max(1, Math.floor(limit / 50)); round++) {
    const at = guess > low && guess < high ? guess : Math.floor((low + high) / 2)
    const length = size(text.slice(0, at))
    if (length <= limit) low = at
    else high = at
    if (length <= limit && length >= limit * 0.98) break
    // Twice by rule of three, then halving: sizes may jump where a table begins.
    guess = round < 3 ? Math.floor((at * limit * (length > limit ? 0.99 : 0.995)) / Math.max(1, length)) : -1
  }
  return low
}

// Places ----------------------------------------------------------------------------------------------------------------

type Places = Record<Kind, number[]>

function placesOf(root: Parents, text: string, start: number): Places {
  const places: Places = { block: [], item: [], line: [], softBreak: [], sentence: [], word: [], nestedWord: [] }
  const add = (kind: Kind, at: number) => {
    if (at > start && at < text.length) places[kind].push(at)
  }
  for (const [index, block] of root.children.entries()) {
    // A heading stays with what it heads.
    add(root.children[index - 1]?.type === 'heading' ? 'softBreak' : 'block', lineStart(text, startOf(block)))
    collect(block as RootContent, text, start, 0, add)
  }
  for (const kind of KINDS) places[kind].sort((a, b) => a - b)
  return places
}

function collect(node: Nodes, text: string, start: number, depth: number, add: (kind: Kind, at: number) => void): void {
  switch (node.type) {
    case 'list':
    case 'blockquote':
    case 'listItem':
      for (const child of node.children) {
        const at = lineStart(text, startOf(child))
        // An item indented by four would become indented code at the head of a message.
        if (at > startOf(node) && !/^(?:> ?)*(?: {4}|\t)/.test(text.slice(at, at + 40))) {
          add(depth <= 1 && node.type !== 'listItem' ? 'item' : 'softBreak', at)
        }
        collect(child, text, start, depth + 1, add)
      }
      break
    case 'code':
    case 'html': {
      const lines = lineStarts(text, startOf(node), endOf(node))
      // The first line of code stays with its fence, and the closing fence with the last.
      const fenced = node.type === 'code' && isFenced(text, startOf(node))
      for (const at of fenced ? lines.slice(1, isClosed(text, node) ? -1 : undefined) : lines) add('line', at)
      break
    }
    case 'table':
      // Only looked at where the table can't be moved into the next message as a whole.
      for (const row of node.children.slice(2)) add('line', lineStart(text, startOf(row)))
      break
    case 'paragraph':
    case 'heading':
      for (const child of node.children) collectWords(child, text, depth === 0 && node.type === 'paragraph', false, add)
      break
    default:
  }
}

function collectWords(
  node: Nodes,
  text: string,
  top: boolean,
  nested: boolean,
  add: (kind: Kind, at: number) => void,
): void {
  if (node.type === 'break') add('softBreak', endOf(node))
  if (node.type === 'strong' || node.type === 'emphasis' || node.type === 'delete') {
    for (const child of node.children) collectWords(child, text, top, true, add)
  }
  if (node.type !== 'text' || !node.position) return
  const from = startOf(node)
  const written = text.slice(from, endOf(node))
  for (const found of written.matchAll(/(\n)[ \t>]*|([.!?…]["'”’)\]]*[ \t]+|[。！？；])|([ \t]+|[，、])/g)) {
    const [match, newline, sentence] = found
    const at = from + found.index + (newline ? 1 : match.length)
    if (nested) add('nestedWord', at)
    else if (newline) add(top ? 'softBreak' : 'sentence', at)
    else add(sentence ? 'sentence' : 'word', at)
  }
}

/** The best kind of place that leaves the message full enough; else the fullest of any kind. */
function choose(places: Places, fits: number, start: number, fullEnough?: number): number | undefined {
  const room = fits - start
  let fullest: number | undefined
  for (const kind of KINDS) {
    const at = places[kind].findLast((place) => place <= fits)
    if (at === undefined) continue
    if (at - start >= (fullEnough ?? FULL_ENOUGH[kind]) * room) return at
    fullest = Math.max(fullest ?? 0, at)
  }
  return fullest !== undefined && fullest - start >= TOO_EMPTY * room ? fullest : undefined
}

/**
 * A table that does not end within the message goes into the next one as a whole, with the heading above it, unless what is
 * known of it is already too long for any message.
 */
function tableStart(
  root: Parents,
  text: string,
  overflow: number,
  start: number,
  options: CutOptions,
): number | undefined {
  const index = root.children.findIndex(
    (node) => node.type === 'table' && startOf(node) < overflow && endOf(node) > overflow,
  )
  if (index < 0 || options.size(text.slice(startOf(root.children[index]!))) > options.limit) return undefined
  const heading = root.children[index - 1]?.type === 'heading' ? startOf(root.children[index - 1]!) : 0
  const at = lineStart(text, heading > start ? heading : startOf(root.children[index]!))
  return at > start && text.slice(start, at).trim() !== '' ? at : undefined
}

/** Anywhere between two graphemes, but outside of links and of the lines of fences where that is possible. */
function graphemeCut(root: Parents, text: string, fits: number, start: number): number {
  let at = graphemeBefore(text, fits)
  for (const node of pathTo(root, at)) {
    const atomic =
      node.type === 'link' ||
      node.type === 'image' ||
      (node.type === 'code' &&
        isFenced(text, startOf(node)) &&
        at <= (lineStarts(text, startOf(node), endOf(node))[0] ?? 0))
    if (atomic && startOf(node) > start) at = startOf(node)
  }
  return at > start ? at : graphemeAfter(text, start)
}

function graphemeAfter(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && graphemeBefore(text, at) <= start) at++
  return at
}
