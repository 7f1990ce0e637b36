import type { Parents, Root, RootContent } from 'mdast'
import { graphemeBefore } from './graphemes.ts'
import { joinWindows, type Lead, lineStart, NO_LEAD, shift, withoutLead } from './windowSeams.ts'

/**
 * A long text is parsed a window at a time: the parser's time grows with the square of some texts and with the cube of
 * others, and a text that grows would be parsed from its beginning for every frame.
 *
 * Blocks are decided line by line, so all blocks of a window but the last are what they are in the whole text, and the next
 * window begins with the last one. A list, quote or table that fills a window is cut between its parts, which are put
 * together again. A paragraph, over whose cuts emphasis may lie, is cut only where it is far longer than people write, or
 * is made of little but markers.
 *
 * What a window does not know is whether something that looks like a reference has a definition elsewhere. Where it has, the
 * window is parsed once more behind a definition of that name.
 */
export interface WindowParser {
  parse(source: string): Root
}

/** In UTF-16 units, as all lengths here. */
const WINDOW = 1_000
const LONGEST_PARAGRAPH = 16_000
/** A text with a greater share of `MARKERS` is markers repeated. */
const TANGLED = 0.3
const MARKERS = /[[\]*_~`<&!|]/g
/** How many windows are kept: those of two dozen answers that grow at the same time. */
const REMEMBERED = 200

interface Window {
  text: string
  from: number
  /** The number of its first line, from 1. */
  line: number
  lead: Lead
  /** What of its tree is settled: all, all blocks but the last, or all parts but the last of its one block. */
  settled: 'all' | 'blocks' | 'parts'
}

interface Parsed {
  children: RootContent[]
  /** Identifiers of the definitions in it, those of footnotes behind a `^`. */
  defined: ReadonlySet<string>
}

interface Cut {
  at: number
  settled: Window['settled']
  /** What the next window is parsed behind. */
  lead: Lead
}

/**
 * `parseText` gives the tree of a text by itself. Trees are shared between texts that have windows in common, so they are
 * read-only. `size` is how much is parsed at a time, in UTF-16 units.
 */
export function createWindowParser(parseText: (source: string) => Root, size = WINDOW): WindowParser {
  const remembered = new Map<string, Parsed>()

  function parsed({ text, from, line, lead }: Omit<Window, 'settled'>, definitions = ''): Parsed {
    const key = `${from}:${line}:${lead.kind}:${definitions}${lead.text}\n${text}`
    const known = remembered.get(key)
    if (known) {
      remembered.delete(key)
      remembered.set(key, known)
      return known
    }
    const before = definitions + lead.text
    const children = withoutLead(parseText(before + text).children, definitions.length, lead)
    for (const child of children) shift(child, from - before.length, line - 1 - lineBreaks(before))
    const result = { children, defined: definedIn(children, new Set()) }
    remembered.set(key, result)
    if (remembered.size > REMEMBERED) remembered.delete(remembered.keys().next().value!)
    return result
  }

  function windowsOf(source: string): Window[] {
    const windows: Window[] = []
    let [from, line, lead] = [0, 1, NO_LEAD]
    for (let length = size; from < source.length; ) {
      const text = source.slice(from, windowEnd(source, from, length))
      const isLast = from + text.length >= source.length
      const cut =
        isLast && !isTangled(text)
          ? END
          : (cutOf(parsed({ text, from, line, lead }).children, text, from, lead) ?? (isLast ? END : null))
      if (!cut) {
        length *= 2
        continue
      }
      const at = Math.min(cut.at, text.length)
      const whole = cut.settled === 'all' ? text.slice(0, at) : text
      windows.push({ text: whole, from, line, lead, settled: cut.settled })
      from += at
      line += lineBreaks(text.slice(0, at))
      lead = cut.lead
      length = size
    }
    return windows
  }

  return {
    parse(source) {
      const windows = windowsOf(source)
      const defined = new Set(windows.flatMap((window) => [...parsed(window).defined]))
      const children = joinWindows(
        windows.map((window) => {
          const known = parsed(window)
          const elsewhere = defined.size > known.defined.size ? definitionsFor(window.text, defined, known.defined) : ''
          return { lead: window.lead, children: settledOf(elsewhere ? parsed(window, elsewhere) : known, window) }
        }),
      )
      return { type: 'root', children }
    },
  }
}

const END: Cut = { at: Number.POSITIVE_INFINITY, settled: 'all', lead: NO_LEAD }

/** Whole lines, if there are any. */
function windowEnd(source: string, from: number, length: number): number {
  if (from + length >= source.length) return source.length
  const end = source.lastIndexOf('\n', from + length - 1) + 1
  return end > from ? end : from + length
}

const INDENTED = /^(?: {4}| {0,3}\t)/

/** Where the settled part of a window ends; `null` where more of the text has to be known. */
function cutOf(children: readonly RootContent[], text: string, from: number, lead: Lead): Cut | null {
  const last = children.at(-1)
  if (!last) return text.endsWith('\n') ? { at: text.length, settled: 'all', lead: NO_LEAD } : null
  const startOf = (node: RootContent) => lineStart(text, node.position!.start.offset! - from)
  // Behind a definition such a line is a paragraph, by itself it would be code.
  if (last.type === 'paragraph' && INDENTED.test(text.slice(startOf(last)))) return null
  if (children.length > 1) return { at: startOf(last), settled: 'blocks', lead: NO_LEAD }
  const parts = 'children' in last ? (last.children as RootContent[]) : []
  const at = parts.length > 1 ? startOf(parts.at(-1)!) : 0
  if ((last.type === 'list' || last.type === 'blockquote') && at > 0 && !INDENTED.test(text.slice(at))) {
    return { at, settled: 'parts', lead: { kind: 'parts', text: '' } }
  }
  if (last.type === 'table' && at > 0) {
    const header = lead.kind === 'rows' ? lead.text : /^.*\n.*\n/.exec(text.slice(startOf(last)))?.[0]
    if (header !== undefined && at >= header.length)
      return { at, settled: 'parts', lead: { kind: 'rows', text: header } }
  }
  // These are read in one go, however long they are.
  if (last.type === 'code' || last.type === 'html' || last.type === 'definition') return null
  return text.length >= LONGEST_PARAGRAPH || isTangled(text) ? cutWithin(text) : null
}

/** A cut in the midst of a paragraph: behind a line, before a blank, or anywhere between two graphemes. */
function cutWithin(text: string): Cut {
  if (text.endsWith('\n')) return { at: text.length, settled: 'all', lead: { kind: 'line', text: 'x\n' } }
  const line = text.lastIndexOf('\n') + 1
  if (line > text.length / 2) return { at: line, settled: 'all', lead: { kind: 'line', text: 'x\n' } }
  const blank = text.lastIndexOf(' ')
  const at = blank > text.length / 2 ? blank : graphemeBefore(text, text.length - 1)
  return { at, settled: 'all', lead: { kind: 'word', text: 'x' } }
}

/** Also when only the second half is so. */
function isTangled(text: string): boolean {
  if (text.length < WINDOW) return false
  const share = (part: string) => (part.match(MARKERS)?.length ?? 0) / part.length
  return share(text) > TANGLED || share(text.slice(text.length / 2)) > TANGLED
}

function settledOf({ children }: Parsed, { settled }: Window): RootContent[] {
  if (settled === 'all') return children
  if (settled === 'blocks') return children.slice(0, -1)
  const block = children[0] as RootContent & Parents
  const parts = block.children.slice(0, -1) as RootContent[]
  const position = { ...block.position!, end: parts.at(-1)!.position!.end }
  return [{ ...block, children: parts, position } as RootContent]
}

// Definitions -----------------------------------------------------------------------------------------------------------

function definedIn(nodes: readonly RootContent[], into: Set<string>): Set<string> {
  for (const node of nodes) {
    if (node.type === 'definition') into.add(node.identifier)
    if (node.type === 'footnoteDefinition') into.add(`^${node.identifier}`)
    if ('children' in node) definedIn(node.children as RootContent[], into)
  }
  return into
}

const LABEL = /\[((?:[^\\[\]]|\\.){1,999})\]/gs

/** Definitions of all that a window names and does not define; behind them nothing of them goes on. */
function definitionsFor(text: string, defined: ReadonlySet<string>, own: ReadonlySet<string>): string {
  const wanted = new Map<string, string>()
  for (const [, label = ''] of text.matchAll(LABEL)) {
    const identifier = label
      .replace(/[\t\n\r ]+/g, ' ')
      .trim()
      .toLowerCase()
      .toUpperCase()
      .toLowerCase()
    if (defined.has(identifier) && !own.has(identifier)) wanted.set(identifier, label.replace(/[\n\r]+/g, ' '))
  }
  return wanted.size === 0 ? '' : `${[...wanted.values()].map((label) => `[${label}]: x\n\n`).join('')}***\n`
}

function lineBreaks(text: string): number {
  return text.match(/\r\n|\n|\r/g)?.length ?? 0
}
