/**
 * The field people type in. `/plan TASK` and the Plan button are the same thing said in two ways: the button puts the
 * command in front of what is typed, or takes it away.
 */
export function createComposer({ onSend }) {
  const form = document.querySelector('#composer')
  const field = document.querySelector('#composer-text')
  const send = document.querySelector('#send')
  const plan = document.querySelector('#plan')
  let place = 'new'

  const draftKey = () => `toycoder draft ${place}`
  const plans = () => /^\s*\/plan\b/i.test(field.value)

  function changed() {
    field.style.height = 'auto'
    field.style.height = `${field.scrollHeight}px`
    send.disabled = field.value.trim() === '' || /^\s*\/plan\s*$/i.test(field.value)
    plan.setAttribute('aria-pressed', String(plans()))
    if (field.value) sessionStorage.setItem(draftKey(), field.value)
    else sessionStorage.removeItem(draftKey())
  }

  function set(text) {
    field.value = text
    changed()
  }

  field.addEventListener('input', changed)
  field.addEventListener('keydown', (event) => {
    // While an input method composes, Enter chooses a word.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    form.requestSubmit()
  })
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    if (send.disabled) return
    const text = field.value.trim()
    set('')
    onSend(text)
  })
  plan.addEventListener('click', () => {
    set(plans() ? field.value.replace(/^\s*\/plan\b\s*/i, '') : `/plan ${field.value}`)
    field.focus()
  })

  return {
    set,
    focus: () => field.focus(),
    /** Turns to another thread and brings back what was left unsent there. */
    turnTo(threadId) {
      place = threadId ?? 'new'
      set(sessionStorage.getItem(draftKey()) ?? '')
    },
  }
}
