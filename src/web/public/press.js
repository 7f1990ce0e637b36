import { click, newId } from './api.js'
import { words } from './words.js'

/**
 * Carries presses of buttons to the bot and shows what it answers: words for this person, or a dialog. `back` takes the
 * focus after a dialog whose button is gone. Resolves to true when that was all, to false when a dialog opened or the press
 * did not get through.
 */
export function createPress({ whisper, dialogs }) {
  return async function press({ threadId, messageId, button: { action, value }, back }) {
    let answer
    try {
      answer = await click({ id: newId(), threadId, messageId, action, value })
    } catch ({ code }) {
      whisper.text(code === 'gone' ? words.gone : words.notTaken)
      return false
    }
    const { html, dialog } = answer
    if (html) whisper.html(html)
    if (dialog) dialogs.open(dialog, { threadId, back })
    return dialog === undefined
  }
}
