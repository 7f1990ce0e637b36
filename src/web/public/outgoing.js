import { newId, submit } from './api.js'
import { el } from './dom.js'
import { words } from './words.js'

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 8_000

/**
 * Sends what was typed, once, however long that takes: the same id goes along with every attempt, so that a lost answer
 * makes no second message. Until the server has it, it stands at the end of the thread and says so.
 *
 * `onAccepted({ threadId, messageId, outcome, text }, sentFrom)` is called when the server has it. `onLeave` takes the
 * focus of what goes away.
 */
export function createOutgoing({ messages, onAccepted, onLeave, whisper }) {
  return function send(threadId, text) {
    const id = newId()
    const state = el('p', { class: 'sending', role: 'status' }, words.sending)
    const element = el('li', { class: 'message person' }, el('div', { class: 'bubble' }, text), state)
    messages.append(element, id)

    async function attempt(pause) {
      try {
        const answer = await submit({ id, threadId, text })
        onAccepted(answer, threadId)
        element.remove()
        if (answer.outcome === 'refused') whisper.text(answer.text)
      } catch ({ status, code }) {
        if (status === 0 || status >= 500 || status === 401) {
          state.textContent = words.waiting
          setTimeout(attempt, pause, Math.min(pause * 2, LONGEST_PAUSE_MS))
          return
        }
        const again = el('button', { type: 'button' }, words.retry)
        again.addEventListener('click', () => {
          state.textContent = words.sending
          onLeave()
          attempt(FIRST_PAUSE_MS)
        })
        const reason = { tooLong: words.tooLong, gone: words.gone }[code] ?? words.notSent
        state.replaceChildren(reason, ' ', again)
      }
    }
    attempt(FIRST_PAUSE_MS)
  }
}
