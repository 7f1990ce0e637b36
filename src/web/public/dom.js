/** Small helpers for building and mending the page. */

/** An element with attributes and children; `null` and `undefined` attributes are left out. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) continue
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value)
    else element.setAttribute(key, value)
  }
  element.append(...children.filter((child) => child !== null && child !== undefined))
  return element
}

/** What the server sent in place of an element that was equipped since. */
export const originals = new WeakMap()

/**
 * Makes `target` hold this HTML and touches only what differs from the first changed block on: growing text keeps its
 * selection, and what is finished is not laid out again with every frame.
 */
export function setHtml(target, html) {
  const template = document.createElement('template')
  template.innerHTML = html
  const wanted = [...template.content.childNodes]
  const present = [...target.childNodes]
  let same = 0
  while (same < wanted.length && same < present.length && isSame(wanted[same], present[same])) same++
  for (const node of present.slice(same)) node.remove()
  target.append(...wanted.slice(same))
}

const isSame = (wanted, present) => wanted.isEqualNode(originals.get(present) ?? present)

const SVG = 'http://www.w3.org/2000/svg'

/** A line drawing on a 20 × 20 grid, hidden from screen readers: words stand beside it. */
export function icon(shape) {
  const svg = document.createElementNS(SVG, 'svg')
  svg.setAttribute('viewBox', '0 0 20 20')
  svg.setAttribute('aria-hidden', 'true')
  const line = document.createElementNS(SVG, 'path')
  line.setAttribute('d', shape)
  svg.append(line)
  return svg
}

export const SHAPES = {
  chevron: 'm8 5 5 5-5 5',
  done: 'm4.5 10.5 3.5 3.5 7.5-8',
  failed: 'm5.5 5.5 9 9m0-9-9 9',
  file: 'M11 3H5v14h10V7l-4-4Zm0 0v4h4',
}
