import { fileAddress } from './api.js'
import { showButtons } from './buttons.js'
import { cardFrame, keepFocus, markDiff, nameCard } from './card.js'
import { el, icon, originals, SHAPES, setHtml } from './dom.js'
import { locale, words } from './words.js'

const clock = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' })
const moment = new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeStyle: 'medium' })

/** A new, empty place for a message of this kind. */
export function createMessageElement(message) {
  const element = el('li', { class: `message ${message.kind}`, id: `m-${message.id}` })
  if (message.kind === 'activity' && !message.file) element.append(activityFrame())
  else if (message.kind === 'card') element.append(cardFrame(heading(message), el('div', { class: 'prose' })))
  else element.append(heading(message), el('div', { class: message.kind === 'person' ? 'bubble' : 'prose' }))
  return element
}

/** Brings a message's element up to date. `onPress(button)` is called for its buttons and resolves when they may work again. */
export function showMessage(element, message, threadId, onPress) {
  const frame = element.querySelector(':scope > .card-frame')
  if (frame) {
    keepFocus(frame, () => showParts(frame, message, threadId, onPress))
    nameCard(frame, message)
    return
  }
  element.classList.toggle('live', message.live)
  showParts(element, message, threadId, onPress)
}

function showParts(element, message, threadId, onPress) {
  if (element.querySelector(':scope > .row')) showActivity(element, message)
  else if (message.kind === 'person') element.querySelector('.bubble').textContent = message.text
  else showProse(element.querySelector('.prose'), message)
  showBelow(element, 'file', message.file && fileLink(message, threadId))
  showButtons(element, message.buttons, onPress)
  showBelow(element, 'below', message.footer && !message.live && footer(message))
}

function heading({ kind, author, at }) {
  const date = new Date(at)
  return el(
    'p',
    { class: 'heading' },
    el('span', { class: 'author' }, kind === 'person' ? words.you : author),
    el('time', { datetime: date.toISOString(), title: moment.format(date) }, clock.format(date)),
  )
}

/** The HTML that stands finished in an element, so that a change of reaction or footer leaves the text alone. */
const finished = new WeakMap()

function showProse(prose, { html, live }) {
  prose.setAttribute('aria-busy', String(live))
  if (!live && finished.get(prose) === html) return
  setHtml(prose, html)
  finished.set(prose, live ? null : html)
  // Put in only now: growing text is compared with what the server sends, block by block.
  if (!live) equip(prose)
}

/** What finished text gets: code that has a name, scrolls by keyboard and can be copied. */
function equip(prose) {
  for (const block of prose.querySelectorAll('pre')) {
    if (block.parentElement.classList.contains('code')) continue
    const frame = el('div', { class: 'code' })
    originals.set(frame, block.cloneNode(true))
    nameCode(block)
    block.replaceWith(frame)
    frame.append(
      block,
      copyButton('copy-code', () => block.textContent),
    )
  }
}

function nameCode(block) {
  const code = block.firstElementChild
  const kind = /^language-(diff|sh)$/.exec(code?.className ?? '')?.[1]
  block.setAttribute('role', 'group')
  block.setAttribute('aria-label', { diff: words.changesBlock, sh: words.commandBlock }[kind] ?? words.codeBlock)
  if (kind === 'diff') markDiff(code)
}

function activityFrame() {
  return el(
    'details',
    { class: 'row' },
    el(
      'summary',
      {},
      el('span', { class: 'state' }),
      el('span', { class: 'unseen state-word' }),
      el('span', { class: 'call' }),
      icon(SHAPES.chevron),
    ),
    el('div', { class: 'prose details' }),
  )
}

function showActivity(element, { summary, html, state }) {
  const row = element.querySelector('.row')
  if (row.dataset.state !== state) {
    row.dataset.state = state
    row.querySelector('.state').replaceChildren(...(state === 'running' ? [] : [icon(SHAPES[state])]))
    row.querySelector('.state-word').textContent = `${words[state]}: `
  }
  setHtml(row.querySelector('.call'), summary)
  setHtml(row.querySelector('.details'), html)
  row.classList.toggle('bare', html === '')
}

function showBelow(element, name, content) {
  const present = element.querySelector(`:scope > .${name}`)
  if (!content) return present?.remove()
  // Replacing equal content would take the focus away from a link in it.
  if (present?.isEqualNode(content)) return
  if (present) present.replaceWith(content)
  else element.append(content)
}

function fileLink({ id, file }, threadId) {
  return el(
    'a',
    { class: 'file', href: fileAddress(threadId, id), download: file.name },
    icon(SHAPES.file),
    el('span', { class: 'file-name' }, file.name),
    el('span', { class: 'file-size' }, sizeOf(file.bytes)),
    el('span', { class: 'unseen' }, words.download),
  )
}

/** The small print stands under what ends a turn, and that is what people copy. */
function footer({ footer, kind, text }) {
  const copy = kind === 'answer' ? copyButton('copy-answer', () => text) : null
  return el('div', { class: 'below' }, copy, el('span', {}, footer))
}

function copyButton(name, text) {
  const button = el('button', { type: 'button', class: name }, words.copy)
  button.addEventListener('click', async () => {
    await navigator.clipboard?.writeText(text())
    button.textContent = words.copied
    setTimeout(() => {
      button.textContent = words.copy
    }, 1500)
  })
  return button
}

function sizeOf(bytes) {
  const unit = bytes < 1024 ? 'byte' : bytes < 1024 * 1024 ? 'kilobyte' : 'megabyte'
  const amount = bytes / { byte: 1, kilobyte: 1024, megabyte: 1024 * 1024 }[unit]
  const format = { style: 'unit', unit, maximumFractionDigits: amount < 10 ? 1 : 0 }
  return new Intl.NumberFormat(locale, format).format(amount)
}
