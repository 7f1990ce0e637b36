import type { AlignType, Nodes, Parents, PhrasingContent, Table } from 'mdast'
import { definitionsOf, footnoteMark, isSafeUrl, parseMarkdown } from './markdown.ts'

/**
 * Markdown as HTML for the console and for transcripts. Safe by construction: the only tags are those written here, every
 * text and attribute is escaped, HTML in the source is shown as text, links lead to the web or to mail and nowhere else.
 */
export function renderHtml(markdown: string): string {
  const { root } = parseMarkdown(markdown)
  const definitions = definitionsOf(root)

  function blocks(parent: Parents): string {
    return parent.children.map((child) => block(child)).join('\n')
  }

  function block(node: Nodes): string {
    switch (node.type) {
      case 'paragraph':
        return `<p>${inlines(node.children)}</p>`
      case 'heading':
        return `<h${node.depth}>${inlines(node.children)}</h${node.depth}>`
      case 'thematicBreak':
        return '<hr>'
      case 'blockquote':
        return `<blockquote>\n${blocks(node)}\n</blockquote>`
      case 'list': {
        const tag = node.ordered ? 'ol' : 'ul'
        const start = node.ordered && typeof node.start === 'number' && node.start !== 1 ? ` start="${node.start}"` : ''
        const items = node.children.map((item) => {
          const box =
            typeof item.checked === 'boolean'
              ? `<input type="checkbox" disabled${item.checked ? ' checked' : ''}> `
              : ''
          return `<li>${box}${itemContent(item, node.spread === true)}</li>`
        })
        return `<${tag}${start}>\n${items.join('\n')}\n</${tag}>`
      }
      case 'code': {
        const language = /^[\w+#.-]{1,32}$/.test(node.lang ?? '') ? ` class="language-${escapeHtml(node.lang!)}"` : ''
        return `<pre tabindex="0"><code${language}>${escapeHtml(node.value)}\n</code></pre>`
      }
      case 'table':
        return table(node)
      case 'html':
        return `<p>${escapeHtml(node.value)}</p>`
      case 'footnoteDefinition':
        return `<div class="footnote">${escapeHtml(footnoteMark(node.label ?? node.identifier))} ${blocks(node)}</div>`
      case 'definition':
        return ''
      default:
        return inline(node as PhrasingContent)
    }
  }

  /** A tight list shows its paragraphs without room around them. */
  function itemContent(item: Parents, loose: boolean): string {
    return item.children
      .map((child) => (child.type === 'paragraph' && !loose ? inlines(child.children) : block(child)))
      .join('\n')
  }

  function table(node: Table): string {
    const [header, ...rows] = node.children.map((row, index) => {
      const tag = index === 0 ? 'th' : 'td'
      const cells = row.children.map((cell, column) => {
        const scope = index === 0 ? ' scope="col"' : ''
        return `<${tag}${scope}${alignment(node.align?.[column])}>${inlines(cell.children)}</${tag}>`
      })
      return `<tr>${cells.join('')}</tr>`
    })
    const body = rows.length > 0 ? `\n<tbody>\n${rows.join('\n')}\n</tbody>` : ''
    return `<table>\n<thead>\n${header ?? ''}\n</thead>${body}\n</table>`
  }

  function inlines(nodes: readonly PhrasingContent[]): string {
    return nodes.map(inline).join('')
  }

  function inline(node: PhrasingContent): string {
    switch (node.type) {
      case 'text':
      case 'html':
        return escapeHtml(node.value)
      case 'strong':
        return `<strong>${inlines(node.children)}</strong>`
      case 'emphasis':
        return `<em>${inlines(node.children)}</em>`
      case 'delete':
        return `<del>${inlines(node.children)}</del>`
      case 'inlineCode':
        return `<code>${escapeHtml(node.value)}</code>`
      case 'break':
        return '<br>\n'
      case 'link':
        return link(inlines(node.children), node.url)
      case 'image':
        return link(escapeHtml(node.alt ?? ''), node.url)
      case 'linkReference':
        return link(inlines(node.children), definitions.get(node.identifier)?.url ?? '')
      case 'imageReference':
        return link(escapeHtml(node.alt ?? ''), definitions.get(node.identifier)?.url ?? '')
      case 'footnoteReference':
        return escapeHtml(footnoteMark(node.label ?? node.identifier))
    }
  }

  return blocks(root)
}

/** Escapes a text for use between tags and inside of quoted attributes. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}

function link(label: string, url: string): string {
  const address = escapeHtml(url)
  if (!isSafeUrl(url)) return label === '' ? address : address === '' ? label : `${label} (${address})`
  return `<a href="${address}" rel="noopener noreferrer nofollow">${label || address}</a>`
}

function alignment(align: AlignType | undefined): string {
  return align ? ` class="align-${align}"` : ''
}
