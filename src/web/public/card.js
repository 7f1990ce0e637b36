import { el } from './dom.js'
import { words } from './words.js'

/** The frame of a card within its place in the list. */
export function cardFrame(...children) {
  return el('section', { class: 'card-frame', tabindex: '-1' }, ...children)
}

export const isOpenCard = ({ kind, buttons }) => kind === 'card' && buttons.length > 0

/**
 * Names a card by what it asks, after its text was brought up to date. One with buttons is a landmark, and the keyboard comes
 * to it before them. One without was decided, or asks for an answer in words; either way its last words say which.
 */
export function nameCard(frame, message) {
  const open = isOpenCard(message)
  const asks = subjectOf(frame.querySelectorAll('.prose > *'))
  frame.setAttribute('role', open ? 'region' : 'group')
  frame.setAttribute('aria-label', open ? `${words.cardOpen} ${asks}` : `${asks} ${lastWords(frame)}`)
  frame.setAttribute('tabindex', open ? '0' : '-1')
  frame.classList.toggle('open', open)
}

/** The first line, and what follows it where it only leads there. */
function subjectOf([first, second]) {
  // biome-ignore lint/performance/useDomNodeTextContent: lines have to stay apart
  const lineOf = (block) => block?.innerText.trim().split('\n', 1)[0] ?? ''
  const line = lineOf(first)
  return /[:：]$/.test(line) ? `${line} ${lineOf(second)}` : line
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

/** The end of a card's text: of one that was settled, who and when. */
export function lastWords(frame) {
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
