import { el } from './dom.js'
import { words } from './words.js'

/** The frame of a card within its place in the list. */
export function cardFrame(...children) {
  return el('section', { class: 'card-frame', tabindex: '-1' }, ...children)
}

export const isOpenCard = ({ kind, buttons }) => kind === 'card' && buttons.length > 0

/**
 * Names a card by how it stands and by its first line, after its text was brought up to date. One that waits is a landmark,
 * and the keyboard comes to it before its buttons.
 */
export function nameCard(frame, message) {
  const open = isOpenCard(message)
  // biome-ignore lint/performance/useDomNodeTextContent: lines have to stay apart
  const [first = ''] = (frame.querySelector('.prose > :first-child')?.innerText ?? '').trim().split('\n')
  frame.setAttribute('role', open ? 'region' : 'group')
  frame.setAttribute('aria-label', `${open ? words.cardOpen : words.cardSettled} ${first}`)
  frame.setAttribute('tabindex', open ? '0' : '-1')
  frame.classList.toggle('open', open)
}

/** Changes something within `frame`. A focus that goes down with it comes to its successor, or to the frame. */
export function keepFocus(frame, change) {
  const before = document.activeElement
  const within = frame.contains(before)
  change()
  if (!within || frame.contains(document.activeElement)) return
  const { action } = before.dataset
  const successor = action && [...frame.querySelectorAll('[data-action]')].find((one) => one.dataset.action === action)
  const target = successor || frame
  target.focus({ preventScroll: true })
}

/** How a card was settled, in its own words: who and when. */
export function settlement(frame) {
  return frame.querySelector('.prose > :last-child')?.textContent.trim() ?? ''
}

/** The lines of a diff as what they are, to eyes and ears; the text with its signs stays as it was. */
export function markDiff(code) {
  const lines = code.textContent.replace(/\n$/, '').split('\n')
  const names = { '+': 'ins', '-': 'del' }
  code.replaceChildren(
    ...lines.map((line) =>
      el(names[line[0]] ?? 'span', { class: line.startsWith('@@') ? 'line hunk' : 'line' }, `${line}\n`),
    ),
  )
}
