import { el } from './dom.js'

/** What each row of buttons was made for: labels alone don't tell an old version's buttons from a new one's. */
const sources = new WeakMap()

/**
 * A row of buttons. While a press is under way the others wait, and they say so without `disabled`, which would take the
 * focus away. `onPress(button)` resolves when they may work again.
 */
export function buttonRow(buttons, onPress) {
  const row = el('div', { class: 'buttons' })
  let busy = false

  async function press(button) {
    if (busy) return
    busy = true
    for (const one of row.children) one.setAttribute('aria-disabled', 'true')
    try {
      await onPress(button)
    } finally {
      busy = false
      for (const one of row.children) one.removeAttribute('aria-disabled')
    }
  }

  for (const button of buttons) {
    const attributes = { type: 'button', class: button.style, 'data-action': button.action }
    row.append(el('button', { ...attributes, onclick: () => press(button) }, button.label))
  }
  sources.set(row, JSON.stringify(buttons))
  return row
}

/** Brings the buttons right below `frame` up to date; equal ones stay, and with them the focus. */
export function showButtons(frame, buttons, onPress) {
  const present = frame.querySelector(':scope > .buttons')
  if (buttons.length === 0) return present?.remove()
  if (present && sources.get(present) === JSON.stringify(buttons)) return
  const row = buttonRow(buttons, onPress)
  if (present) present.replaceWith(row)
  else frame.append(row)
}
