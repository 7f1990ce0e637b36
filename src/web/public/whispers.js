import { el, icon, SHAPES } from './dom.js'
import { words } from './words.js'

/** What is said to this person alone; it stays until it is dismissed or ten more came. */
export function createWhispers() {
  const place = document.querySelector('#whispers')
  const heard = new Set()

  function show(content) {
    const close = el(
      'button',
      { type: 'button', class: 'icon-button', 'aria-label': words.dismiss },
      icon(SHAPES.failed),
    )
    const whisper = el('div', { class: 'whisper' }, content, close)
    close.addEventListener('click', () => whisper.remove())
    place.append(whisper)
    while (place.children.length > 10) place.firstChild.remove()
  }

  return {
    text: (text) => show(el('p', {}, text)),
    /** HTML that the server rendered; each id once, because a picture of the thread brings recent ones again. */
    rendered({ id, html }) {
      if (heard.has(id)) return
      heard.add(id)
      const content = el('div', { class: 'prose' })
      content.innerHTML = html
      show(content)
    },
    clear: () => place.replaceChildren(),
  }
}
