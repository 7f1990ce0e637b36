import type { Nodes, Parents, Table } from 'mdast'
import { footnoteMark, parseMarkdown } from './markdown.ts'
import { fixedWidthTable } from './textTable.ts'

/** Markdown as plain text: every word of it, no markup. For notifications, screen readers, terminals and mails. */
export function renderPlain(markdown: string): string {
  return plainBlock(parseMarkdown(markdown).root)
}

/** Text of a node and everything in it. Blocks are set apart by lines as their source was. */
export function plainBlock(node: Nodes): string {
  switch (node.type) {
    case 'root':
    case 'footnoteDefinition':
    case 'listItem':
      return (
        (node.type === 'footnoteDefinition' ? `${footnoteMark(node.label ?? node.identifier)} ` : '') + stacked(node)
      )
    case 'blockquote':
      return prefixed(stacked(node), '> ')
    case 'list':
      return node.children
        .map((item, index) => {
          const bullet = node.ordered ? `${(node.start ?? 1) + index}. ` : '- '
          const box = item.checked === true ? '[x] ' : item.checked === false ? '[ ] ' : ''
          return indented(box + plainBlock(item), bullet)
        })
        .join('\n')
    case 'code':
      return node.value
    case 'table':
      return fixedWidthTable(tableCells(node), node.align ?? [])
    case 'thematicBreak':
      return '---'
    case 'definition':
      return ''
    default:
      return plainInline(node)
  }
}

/** Text of inline content. A link keeps its address behind its label. */
export function plainInline(node: Nodes): string {
  switch (node.type) {
    case 'break':
      return '\n'
    case 'image':
      return node.alt ? `${node.alt} (${node.url})` : node.url
    case 'imageReference':
      return node.alt ?? ''
    case 'footnoteReference':
      return footnoteMark(node.label ?? node.identifier)
    case 'link': {
      const label = node.children.map(plainInline).join('')
      const address = node.url.replace(/^mailto:/, '')
      return label === '' || label === address || node.url.endsWith(`//${label}`)
        ? label || address
        : `${label} (${address})`
    }
    default:
      if ('value' in node) return node.value
      return 'children' in node ? node.children.map(plainInline).join('') : ''
  }
}

/** The cells of a table as plain text on one line each, header first. */
export function tableCells(table: Table): string[][] {
  return table.children.map((row) => row.children.map((cell) => plainInline(cell).replace(/\s+/g, ' ').trim()))
}

function stacked(parent: Parents): string {
  let text = ''
  let endLine = 0
  for (const child of parent.children) {
    const piece = plainBlock(child)
    if (piece === '') continue
    const gap = text === '' ? '' : (child.position?.start.line ?? 0) <= endLine + 1 ? '\n' : '\n\n'
    text += gap + piece
    endLine = child.position?.end.line ?? endLine
  }
  return text
}

/** Puts `bullet` before the first line and as much room before the others. */
export function indented(text: string, bullet: string): string {
  return bullet + text.replace(/\n(?!\n|$)/g, `\n${' '.repeat(bullet.length)}`)
}

export function prefixed(text: string, prefix: string): string {
  return text
    .split('\n')
    .map((line) => (prefix + line).trimEnd())
    .join('\n')
}
