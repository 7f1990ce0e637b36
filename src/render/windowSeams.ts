import type { Parents, RootContent } from 'mdast'
import type { Position } from 'unist'

/** Where windows of a text (`parseWindows.ts`) meet: what one is parsed behind, and how trees are put together again. */

/** What a window is parsed behind because the cut before it lies within a block. */
export interface Lead {
  /** Behind a `line` of a paragraph, within one (`word`), behind `parts` of a list or quote, or behind `rows` of a table. */
  kind: 'none' | 'line' | 'word' | 'parts' | 'rows'
  /** A letter that makes the window go on as a paragraph, or the head of the table. */
  text: string
}

export const NO_LEAD: Lead = { kind: 'none', text: '' }

/** The children of a window without the first `definitions` characters and the lead, positions unchanged. */
export function withoutLead(parsed: RootContent[], definitions: number, { kind }: Lead): RootContent[] {
  const children = parsed.filter((node) => node.position!.end.offset! > definitions)
  const [first] = children
  if (kind === 'rows' && first?.type === 'table') first.children.shift()
  if (kind !== 'line' && kind !== 'word') return children
  if (first?.type !== 'paragraph' && first?.type !== 'heading') return children
  const [letter] = first.children
  if (letter?.type === 'text') {
    letter.value = letter.value.slice(1)
    if (letter.position) letter.position.start.offset! += 1
    if (letter.value === '') first.children.shift()
  }
  if (first.children.length === 0) return children.slice(1)
  const { children: inside, position } = first
  return [{ type: 'paragraph', children: inside, ...(position && { position }) }, ...children.slice(1)]
}

/** Moves a tree to where it stands in the whole text. */
export function shift(node: RootContent, offset: number, line: number): void {
  if (node.position) {
    const moved = (point: Position['start']) => ({ ...point, line: point.line + line, offset: point.offset! + offset })
    node.position = { start: moved(node.position.start), end: moved(node.position.end) }
  }
  if ('children' in node) for (const child of node.children) shift(child, offset, line)
}

/** One list of blocks. Trees of windows are shared: what grows here is copied first. */
export function joinWindows(windows: readonly { lead: Lead; children: readonly RootContent[] }[]): RootContent[] {
  const all: RootContent[] = []
  const copies = new Set<RootContent>()

  /** The last of `siblings`, in its place, as one that may be changed. */
  function lastOf(siblings: RootContent[]): RootContent | undefined {
    const last = siblings.at(-1)
    if (!last || copies.has(last)) return last
    const copy = { ...last, ...(last.position && { position: { ...last.position } }) }
    if ('children' in copy) copy.children = [...copy.children] as never
    copies.add(copy)
    siblings[siblings.length - 1] = copy
    return copy
  }

  function goesOn({ kind }: Lead, first: RootContent): boolean {
    const last = all.at(-1)
    if (!last || kind === 'none') return false
    if (kind === 'parts' || kind === 'rows') {
      if (last.type !== first.type || !('children' in first)) return false
      const block = lastOf(all) as RootContent & Parents
      if (block.type === 'list' && first.type === 'list') block.spread ||= first.spread || isApart(block, first)
      append(block, first)
      return true
    }
    if (first.type !== 'paragraph') return false
    const path: (RootContent & Parents)[] = []
    for (let node = lastOf(all); node && 'children' in node; node = lastOf(node.children as RootContent[])) {
      path.push(node)
      if (node.type === 'paragraph' || node.type === 'heading') break
    }
    const leaf = path.at(-1)
    if (leaf?.type !== 'paragraph' && leaf?.type !== 'heading') return false
    append(leaf, first)
    for (const node of path) if (node.position && first.position) node.position.end = first.position.end
    return true
  }

  for (const { lead, children } of windows) {
    const [first] = children
    const rest = first && goesOn(lead, first) ? children.slice(1) : children
    for (const child of rest) all.push(child)
  }
  return all
}

function append(to: RootContent & Parents, from: RootContent & Parents): void {
  for (const child of from.children) to.children.push(child as never)
  if (to.position && from.position) to.position.end = from.position.end
}

function isApart(before: RootContent, after: RootContent): boolean {
  return (after.position?.start.line ?? 0) > (before.position?.end.line ?? 0) + 1
}

export function lineStart(text: string, at: number): number {
  return at <= 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1
}
