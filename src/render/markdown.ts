import type { Definition, Parents, PhrasingContent, Root, RootContent, Table } from 'mdast'
import { fromMarkdown } from 'mdast-util-from-markdown'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { gfm } from 'micromark-extension-gfm'
import { createWindowParser } from './parseWindows.ts'

/**
 * One parser for everything that is shown: GitHub-flavoured Markdown to an mdast tree. All renderers and the splitter work
 * on this tree, so that what was measured is what is sent.
 */

/** A parsed text together with its source: printers copy what a platform understands from it unchanged. */
export interface Document {
  source: string
  root: Root
}

/** Trees of the texts parsed last: a text is measured and then rendered, and parsing is the dear part of both. */
const REMEMBERED = 6
const remembered = new Map<string, Document>()

/** Parses GFM. The result is shared between callers: treat it as read-only. */
export function parseMarkdown(source: string): Document {
  const known = remembered.get(source)
  if (known) return known
  const document = { source, root: windows.parse(source) }
  remembered.set(source, document)
  if (remembered.size > REMEMBERED) remembered.delete(remembered.keys().next().value!)
  return document
}

const windows = createWindowParser((text) => {
  const root = parseOrQuote(text)
  flatten(root, text)
  mend(root, text)
  return root
})

/** What a node was written as; empty for a node that `parseMarkdown` made itself, whose value is meant literally. */
export function sourceOf(document: Pick<Document, 'source'>, node: RootContent): string {
  const { position } = node
  return position ? document.source.slice(position.start.offset, position.end.offset) : ''
}

/** Link definitions by their normalised identifier; the first of a name counts. */
export function definitionsOf(root: Root): Map<string, Definition> {
  const found = new Map<string, Definition>()
  const walk = (node: Parents) => {
    for (const child of node.children) {
      if (child.type === 'definition' && !found.has(child.identifier)) found.set(child.identifier, child)
      else if ('children' in child) walk(child)
    }
  }
  walk(root)
  return found
}

/** True for an address that may be clicked: web and mail, nothing that runs code or depends on where the page lies. */
export function isSafeUrl(url: string): boolean {
  return /^(?:https?:\/\/|mailto:)[^\s]/i.test(url)
}

/** Digits as superscript, other labels in brackets: the label of a footnote where there are no footnotes. */
export function footnoteMark(label: string): string {
  return /^\d{1,3}$/.test(label) ? [...label].map((digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(digit)]).join('') : `[${label}]`
}

/** Made once: putting them together costs as much as parsing some hundred characters. */
const DIALECT = {
  // A single tilde is far more often "about" than strikethrough in what models write.
  extensions: [gfm({ singleTilde: false })],
  mdastExtensions: [gfmFromMarkdown()],
}

function parse(source: string): Root {
  return fromMarkdown(source, DIALECT)
}

/** Quotes and lists begun on one line; the parser takes seconds for some thousand of them and then runs out of stack. */
const ENDLESS_PREFIX = /^(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])[ \t])){400}/m

/** The tree of a text; one paragraph, as it was written, of a text that is no document but one marker repeated. */
function parseOrQuote(source: string): Root {
  try {
    if (!ENDLESS_PREFIX.test(source)) return parse(source)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
  }
  const position = {
    start: { line: 1, column: 1, offset: 0 },
    end: { line: source.split('\n').length, column: 1, offset: source.length },
  }
  return { type: 'root', children: [{ type: 'paragraph', children: [{ type: 'text', value: source }], position }] }
}

/** Nodes within each other. Nobody means more, and whatever walks the tree must not run out of stack. */
const DEEPEST = 60

/** What lies too deep is the text that it was written as: a model that repeats `> ` without end writes no quotes. */
function flatten(root: Root, source: string): void {
  let level: Parents[] = [root]
  for (let depth = 1; level.length > 0; depth++) {
    const below: Parents[] = []
    for (const parent of level) {
      const children = parent.children as RootContent[]
      for (const [at, node] of children.entries()) {
        if (!('children' in node)) continue
        if (depth < DEEPEST || node.type === 'paragraph' || node.type === 'listItem') below.push(node)
        else children[at] = asWritten(node, source)
      }
    }
    level = below
  }
}

/** As a paragraph where blocks stand, as text within a line. */
function asWritten(node: RootContent & Parents, source: string): RootContent {
  const position = node.position!
  const text: RootContent = { type: 'text', value: sourceOf({ source }, node), position }
  return node.type === 'blockquote' || node.type === 'list' || node.type === 'heading' || node.type === 'table'
    ? { type: 'paragraph', children: [text], position }
    : text
}

/** Two readings of the standard that nobody means in a text about software. New nodes have no position: see `sourceOf`. */
function mend(parent: Parents, source: string): void {
  const children = parent.children as RootContent[]
  for (let at = 0; at < children.length; at++) {
    const node = children[at]!
    if (node.type === 'table') joinCodeCells(node, source)
    if ('children' in node) mend(node, source)
    if (isPartOfPath(node, source)) {
      const marker: PhrasingContent = { type: 'text', value: node.type === 'strong' ? '__' : '_' }
      children.splice(at, 1, marker, ...node.children, marker)
      at += node.children.length + 1
    }
  }
}

/** `src/my_pkg/__init__.py` is a path and not a bold "init": underscores that touch a path or a call are text. */
function isPartOfPath(
  node: RootContent,
  source: string,
): node is Extract<RootContent, { type: 'strong' | 'emphasis' }> {
  if ((node.type !== 'strong' && node.type !== 'emphasis') || !node.position) return false
  const start = node.position.start.offset!
  const end = node.position.end.offset!
  if (source[start] !== '_') return false
  const before = /[\p{L}\p{N}/\\.@-]$/u.test(source.slice(0, start).slice(-1))
  const after = /^(?:[/\\(]|[.-][\p{L}\p{N}])/u.test(source.slice(end, end + 2))
  return before || after
}

/** A pipe between backticks ends a table cell by the standard, and the row loses its last cell. Models mean the pipe. */
function joinCodeCells(table: Table, source: string): void {
  const columns = table.children[0]?.children.length ?? 0
  for (const row of table.children) {
    for (let at = 0; at + 1 < row.children.length && row.children.length > columns; ) {
      const [left, right] = [row.children[at]!, row.children[at + 1]!]
      const from = left.position?.start.offset
      const to = right.position?.end.offset
      if (from === undefined || to === undefined || !hasOpenCode(sourceOf({ source }, left))) {
        at++
        continue
      }
      const written = source.slice(from, to).replace(/^\s*\|?\s*|\s*\|?\s*$/g, '')
      const [paragraph] = parse(written).children
      const content = paragraph?.type === 'paragraph' ? paragraph.children : []
      for (const node of content) forgetPositions(node)
      row.children.splice(at, 2, {
        type: 'tableCell',
        children: content,
        position: { ...left.position!, end: right.position!.end },
      })
    }
  }
}

function hasOpenCode(written: string): boolean {
  return written.replace(/\\`/g, '').split('`').length % 2 === 0
}

function forgetPositions(node: RootContent): void {
  delete node.position
  if ('children' in node) for (const child of node.children) forgetPositions(child)
}
