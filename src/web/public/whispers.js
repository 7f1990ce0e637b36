import { buttonRow } from './buttons.js'
import { el, icon, SHAPES } from './dom.js'
import { words } from './words.js'

/**
 * What is said to this person alone; it stays until it is dismissed, answered, or ten more came. `onPress(id, button, back)`
 * is called for buttons and resolves to true when the matter is settled. `onLeave` takes the focus of what goes away.
 */
export function createWhispers({ announcer, onPress, onLeave }) {
  const place = document.querySelector('#whispers')
  const heard = new Set()

  function show(...content) {
    const close = el(
      'button',
      { type: 'button', class: 'icon-button', 'aria-label': words.dismiss },
      icon(SHAPES.failed),
    )
    const said = el('div', { class: 'whisper-content' }, ...content)
    const whisper = el('div', { class: 'whisper' }, said, close)
    close.addEventListener('click', () => leave(whisper))
    place.append(whisper)
    // biome-ignore lint/performance/useDomNodeTextContent: blocks and buttons have to stay apart when they are read out
    announcer.say(said.innerText)
    while (place.children.length > 10) leave(place.firstChild)
    return whisper
  }

  function leave(whisper) {
    const hadFocus = whisper.contains(document.activeElement)
    whisper.remove()
    if (hadFocus) onLeave()
  }

  /** HTML that the server rendered. */
  function prose(html) {
    const content = el('div', { class: 'prose' })
    content.innerHTML = html
    return content
  }

  return {
    text: (text) => show(el('p', {}, text)),
    html: (html) => show(prose(html)),
    /** Each id once, because a picture of the thread brings recent ones again. */
    rendered({ id, html, buttons }) {
      if (heard.has(id)) return
      heard.add(id)
      if (buttons.length === 0) return show(prose(html))
      const press = async (button) => {
        if (await onPress(id, button, onLeave)) leave(whisper)
      }
      const whisper = show(prose(html), buttonRow(buttons, press))
    },
    clear: () => place.replaceChildren(),
  }
}
