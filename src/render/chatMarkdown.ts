import type { Code, Nodes, Parents, PhrasingContent, RootContent, Table, TableCell } from 'mdast'
import { definitionsOf, footnoteMark, isSafeUrl, parseMarkdown, sourceOf } from './markdown.ts'
import { indented, prefixed } from './plain.ts'

/**
 * Prints a parsed text as the Markdown of a chat platform. Blocks are written anew, so that every text is well formed by
 * itself (an open fence is closed) and nothing a platform does not know gets through; inside a paragraph the author's own
 * spelling is kept wherever the platform understands it.
 */
export interface Dialect {
  /** Prose as it was written, escapes included: makes harmless what the platform would take for more than text. */
  text(written: string): string
  /** A value that must be shown as it is. */
  literal(value: string): string
  inlineCode(value: string): string
  /**
   * Printed parts of a paragraph in a row, without code: where they meet, what each is harmless by itself may have become a
   * mention. Applied to what it has given before, it changes nothing.
   */
  joined(printed: string): string
  code(node: Code, written: string): string
  heading(depth: number, content: string): string
  /** `print` gives the content of a cell in this dialect, on one line. */
  table(node: Table, print: (cell: TableCell) => string): string
  link(label: string, url: string): string
  hardBreak: string
  rule: string
  /** What stands before the text of a task list item. */
  task(checked: boolean): string
  /** Set around emphasis and code that touch a letter of a script without blanks. */
  cjkGap: string
}

export function printChatMarkdown(markdown: string, dialect: Dialect): string {
  const document = parseMarkdown(markdown)
  const definitions = definitionsOf(document.root)
  const referenced = referencesOf(document.root)

  /** Children of a container, as far apart as they were written: on the next line, or with one blank line between. */
  function blocks(parent: Parents, quoteDepth: number): string {
    let text = ''
    let endLine = 0
    for (const child of parent.children) {
      const piece = block(child as RootContent, quoteDepth)
      if (piece === '') continue
      const startLine = child.position?.start.line ?? 0
      text += (text === '' ? '' : startLine <= endLine + 1 ? '\n' : '\n\n') + piece
      endLine = child.position?.end.line ?? endLine
    }
    return text
  }

  function block(node: RootContent, quoteDepth: number): string {
    switch (node.type) {
      case 'paragraph':
        return inlines(node.children, quoteDepth)
      case 'heading': {
        const content = node.children.flatMap((child) => (child.type === 'strong' ? child.children : [child]))
        return dialect.heading(node.depth, inlines(content, quoteDepth).replace(/\s*\n\s*/g, ' '))
      }
      case 'thematicBreak':
        return dialect.rule
      case 'blockquote':
        return prefixed(blocks(node, quoteDepth + 1), '> ')
      case 'list':
        return node.children
          .map((item, index) => {
            const bullet = node.ordered ? `${(node.start ?? 1) + index}. ` : '- '
            const task = typeof item.checked === 'boolean' ? dialect.task(item.checked) : ''
            return indented(task + blocks(item, quoteDepth), bullet)
          })
          .join(node.spread ? '\n\n' : '\n')
      case 'code':
        return dialect.code(node, sourceOf(document, node))
      case 'table':
        return dialect.table(node, (cell) => inlines(cell.children, quoteDepth).replace(/\s*\n\s*/g, ' '))
      case 'footnoteDefinition':
        return `${dialect.literal(footnoteMark(node.label ?? node.identifier))} ${blocks(node, quoteDepth)}`
      case 'definition':
        return referenced.has(node.identifier)
          ? ''
          : `${dialect.literal(node.label ?? node.identifier)}: ${dialect.literal(node.url)}`
      default:
        return dialect.text(unquoted(sourceOf(document, node), quoteDepth))
    }
  }

  /** Code stands for itself; all between is joined. */
  function inlines(nodes: readonly PhrasingContent[], quoteDepth: number): string {
    let text = ''
    let run = ''
    for (const node of nodes) {
      const printed = inline(node, quoteDepth)
      if (node.type !== 'inlineCode') run += printed
      else {
        text += dialect.joined(run) + printed
        run = ''
      }
    }
    return text + dialect.joined(run)
  }

  function inline(node: PhrasingContent, quoteDepth: number): string {
    switch (node.type) {
      case 'text':
        return node.position
          ? dialect.text(unquoted(sourceOf(document, node), quoteDepth))
          : dialect.literal(node.value)
      case 'strong':
        return setOff(node, `**${inlines(node.children, quoteDepth)}**`)
      case 'emphasis': {
        const marker = sourceOf(document, node)[0] ?? '*'
        return setOff(node, marker + inlines(node.children, quoteDepth) + marker)
      }
      case 'delete':
        return setOff(node, `~~${inlines(node.children, quoteDepth)}~~`)
      case 'inlineCode':
        return setOff(node, dialect.inlineCode(node.value))
      case 'break':
        return dialect.hardBreak
      case 'link':
        return link(inlines(node.children, quoteDepth), node.url)
      case 'image':
        return link(dialect.literal(node.alt ?? ''), node.url)
      case 'linkReference':
        return link(inlines(node.children, quoteDepth), definitions.get(node.identifier)?.url ?? '')
      case 'imageReference':
        return link(dialect.literal(node.alt ?? ''), definitions.get(node.identifier)?.url ?? '')
      case 'footnoteReference':
        return dialect.literal(footnoteMark(node.label ?? node.identifier))
      default:
        return dialect.text(unquoted(sourceOf(document, node), quoteDepth))
    }
  }

  /** A link that people can click, or its label and address as text. Titles are dropped: no chat shows them. */
  function link(label: string, address: string): string {
    const url = address.replace(/[\s<>|]/g, (found) => encodeURIComponent(found))
    if (isSafeUrl(url)) return dialect.link(label, url)
    if (url === '' || label === '') return label || dialect.literal(url)
    return `${label} (${dialect.literal(url)})`
  }

  /** Keeps markers off a neighbouring letter of a script without blanks, where platforms fail to see them. */
  function setOff(node: PhrasingContent, printed: string): string {
    const { cjkGap } = dialect
    if (cjkGap === '' || !node.position) return printed
    const before = document.source.slice(0, node.position.start.offset!).slice(-2)
    const after = document.source.slice(node.position.end.offset!, node.position.end.offset! + 2)
    return (CJK_END.test(before) ? cjkGap : '') + printed + (CJK_START.test(after) ? cjkGap : '')
  }

  return blocks(document.root, 0)
}

const CJK = '[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}]'
const CJK_END = new RegExp(`${CJK}$`, 'u')
const CJK_START = new RegExp(`^${CJK}`, 'u')

/** Lines after the first of an inline text still carry the markers of the quotes around it, and meaningless indentation. */
function unquoted(written: string, quoteDepth: number): string {
  if (!written.includes('\n')) return written
  const markers = quoteDepth === 0 ? /\n[ \t]+/g : new RegExp(`\\n[ \\t]*(?:>[ \\t]?){0,${quoteDepth}}[ \\t]*`, 'g')
  return written.replace(markers, '\n')
}

/** Identifiers of the definitions that something in the text refers to. */
function referencesOf(node: Nodes, into = new Set<string>()): Set<string> {
  if (node.type === 'linkReference' || node.type === 'imageReference') into.add(node.identifier)
  if ('children' in node) for (const child of node.children) referencesOf(child, into)
  return into
}

/** A fence of backticks that nothing in `code` can close, at least as long as the one it was written with. */
export function fenceFor(code: string, written = ''): string {
  const own = /^(?:`{3,}|~{3,})/.exec(written)?.[0].length ?? 3
  let longest = 0
  for (const [run] of code.matchAll(/`{3,}/g)) longest = Math.max(longest, run.length)
  return '`'.repeat(Math.max(own, longest + 1, 3))
}

/** The language of a fence as platforms take it: one short word, or none. */
export function fenceLanguage(node: Code): string {
  const language = node.lang ?? ''
  return /^[\w+#.-]{1,32}$/.test(language) ? language : ''
}

/** Inline code between backticks that nothing in it can end. */
export function backticked(value: string): string {
  const runs = new Set([...value.matchAll(/`+/g)].map((run) => run[0].length))
  let length = 1
  while (runs.has(length)) length++
  const ticks = '`'.repeat(length)
  const pad = /^`|`$/.test(value) || (/^ .* $/.test(value) && value.trim() !== '') ? ' ' : ''
  return ticks + pad + value + pad + ticks
}

/** A preview ends with a block cursor: people see that the text is still being written. */
export function withLiveMark(text: string): string {
  return text + (text === '' ? '' : /(?:^|\n)[> ]*`{3,}$/.test(text) ? '\n' : ' ') + LIVE_MARK
}
export const LIVE_MARK = '▍'

/** Parentheses in an address stay as they are where they are balanced; else they would end the link. */
export function balanced(url: string): string {
  let open = 0
  for (const character of url) {
    if (character === '(') open++
    if (character === ')' && --open < 0) break
  }
  return open === 0 ? url : url.replaceAll('(', '%28').replaceAll(')', '%29')
}
