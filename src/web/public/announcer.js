/**
 * The page's one voice for screen readers, polite and outside of all that the drawer covers. What comes in the same moment
 * is said together, and what comes while a dialog makes the page inert is said when it closes, since nothing of an inert
 * page is read.
 */
export function createAnnouncer() {
  const place = document.querySelector('#announcer')
  let waiting = []

  function speak() {
    const dialog = document.querySelector('dialog:modal')
    if (dialog) return dialog.addEventListener('close', speak, { once: true })
    if (waiting.length > 0) place.textContent = waiting.join(' ')
    waiting = []
  }

  return {
    say(text) {
      waiting.push(text)
      if (waiting.length === 1) queueMicrotask(speak)
    },
    clear() {
      waiting = []
      place.textContent = ''
    },
  }
}
