/** Reads out to screen readers, politely and once. What comes in the same moment is said together. */
export function createAnnouncer() {
  const place = document.querySelector('#announcer')
  let waiting = []

  function speak() {
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
