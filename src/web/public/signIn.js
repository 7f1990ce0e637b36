import { openSession } from './api.js'
import { words } from './words.js'

const form = document.querySelector('#sign-in')
const field = document.querySelector('#token')
const error = document.querySelector('#error')

async function signIn(token) {
  error.textContent = ''
  if (await openSession(token)) return location.replace('/console')
  error.textContent = words.wrongToken
  field.value = ''
  field.focus()
}

form.addEventListener('submit', (event) => {
  event.preventDefault()
  signIn(field.value.trim())
})

// The printed link carries the token behind `#`, which browsers send to nobody; it does not stay in the history either.
const token = decodeURIComponent(location.hash.slice(1))
history.replaceState(null, '', location.pathname)
if (token) signIn(token)
else field.focus()
