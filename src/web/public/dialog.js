import { newId, sendDialog } from './api.js'
import { el } from './dom.js'
import { words } from './words.js'

const FEWEST_ROWS = 4
const MOST_ROWS = 16

/** Forms that the bot opens for this person, one at a time, above everything else. */
export function createDialogs({ whisper }) {
  let opened = null

  /** `back` takes the focus when the element that had it before is gone. */
  function open(dialog, { threadId, back }) {
    opened?.close()
    const fields = dialog.fields.map(createField)
    const notice = el('p', { class: 'dialog-notice', role: 'alert' })
    const close = el('button', { type: 'button', class: 'plain' }, dialog.close)
    const submit = el('button', { type: 'submit', class: 'primary' }, dialog.submit)
    const form = el(
      'form',
      { novalidate: '' },
      el('h2', { id: 'dialog-title' }, dialog.title),
      dialog.intro ? el('p', { id: 'dialog-intro' }, dialog.intro) : null,
      ...fields.map(({ element }) => element),
      notice,
      el('div', { class: 'buttons' }, close, submit),
    )
    const describedby = dialog.intro ? 'dialog-intro' : null
    const element = el(
      'dialog',
      { class: 'dialog', 'aria-labelledby': 'dialog-title', 'aria-describedby': describedby },
      form,
    )
    const send = createSending(dialog, threadId)
    let busy = false

    /** Shows what is wrong where it is wrong, the first of it under the cursor; what has no field stands below them all. */
    function show(errors, html = '') {
      const names = new Set(fields.map(({ name }) => name))
      const elsewhere = Object.entries(errors).filter(([name]) => !names.has(name))
      notice.innerHTML = html
      for (const [, text] of elsewhere) notice.append(el('span', {}, text))
      for (const field of fields) field.complain(Object.hasOwn(errors, field.name) ? errors[field.name] : '')
      fields.find(({ name }) => Object.hasOwn(errors, name))?.focus()
    }

    async function submitAll() {
      if (busy) return
      const missing = fields.filter(({ lacks }) => lacks()).map(({ name }) => [name, words.fieldMissing])
      show(Object.fromEntries(missing))
      if (missing.length > 0) return
      busy = true
      submit.setAttribute('aria-disabled', 'true')
      notice.textContent = words.sending
      try {
        const { errors = {}, html } = await send(Object.fromEntries(fields.map(({ name, text }) => [name, text()])))
        if (element.open && Object.keys(errors).length > 0) return show(errors, html)
        element.close()
        if (html) whisper.html(html)
        // Closed meanwhile: there is no field any more at which they could stand.
        for (const text of Object.values(errors)) whisper.text(text)
      } catch ({ code }) {
        const reason = { tooLong: words.tooLong, gone: words.gone }[code]
        if (element.open) notice.textContent = reason ?? words.dialogNotTaken
        else whisper.text(reason ?? words.notTaken)
      } finally {
        busy = false
        submit.removeAttribute('aria-disabled')
      }
    }

    form.addEventListener('submit', (event) => {
      event.preventDefault()
      submitAll()
    })
    form.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit()
    })
    close.addEventListener('click', () => element.close())
    element.addEventListener('close', () => {
      if (opened === element) opened = null
      element.remove()
      // The browser gives the focus back by itself, unless what had it went away meanwhile.
      if (document.activeElement === document.body) back()
    })
    document.body.append(element)
    opened = element
    element.showModal()
    const [first] = fields
    if (first) first.focus()
    else submit.focus()
  }

  return { open, close: () => opened?.close() }
}

/** Sends what a dialog holds. The same content goes by the same id, however often it is tried; other content by another. */
function createSending({ action, value }, threadId) {
  let last = { content: '', id: '' }
  return async function send(fields) {
    const content = JSON.stringify(fields)
    if (last.content !== content) last = { content, id: newId() }
    const answer = await sendDialog({ id: last.id, threadId, action, value, fields })
    // Answered: whoever sends the same once more means to.
    last = { content: '', id: '' }
    return answer
  }
}

function createField({ name, label, value, multiline, required }, index) {
  const id = `dialog-field-${index}`
  const errorId = `dialog-error-${index}`
  const rows = Math.min(MOST_ROWS, Math.max(FEWEST_ROWS, value.split('\n', MOST_ROWS).length))
  const raw = { spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off' }
  const shared = { ...raw, id, required: required ? '' : null }
  const control = multiline ? el('textarea', { ...shared, rows }) : el('input', { ...shared, type: 'text' })
  control.value = value
  const error = el('p', { class: 'field-error', id: errorId, hidden: '' })
  const element = el(
    'div',
    { class: 'field' },
    el('label', { for: id }, label),
    required ? el('span', { class: 'field-required', 'aria-hidden': 'true' }, words.fieldRequired) : null,
    control,
    error,
  )
  return {
    name,
    element,
    text: () => control.value,
    lacks: () => required && control.value === '',
    focus: () => control.focus(),
    complain(text) {
      error.textContent = text
      error.hidden = text === ''
      if (text === '') {
        control.removeAttribute('aria-invalid')
        control.removeAttribute('aria-describedby')
      } else {
        control.setAttribute('aria-invalid', 'true')
        control.setAttribute('aria-describedby', errorId)
      }
    },
  }
}
