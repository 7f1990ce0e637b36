/** Everything the page asks of the server. */

/** A request that takes longer than this has got lost. */
const PATIENCE_MS = 20_000

/** Says what went wrong: an HTTP status, or 0 when no answer came. */
export class ApiError extends Error {
  constructor(status, code) {
    super(`${status} ${code}`)
    this.status = status
    this.code = code
  }
}

/** Opens a session; false when the server wants a (different) token. */
export async function openSession(token) {
  const response = await post('session', token === undefined ? {} : { token })
  return response.ok
}

export const submit = (submission) => ask(() => post('submit', submission))
export const click = (press) => ask(() => post('click', press))
export const sendDialog = (submission) => ask(() => post('dialog', submission))
export const olderThreads = (before) => ask(() => fetch(path('threads', { before })))
export const earlierMessages = (thread, before) => ask(() => fetch(path(`threads/${thread}/messages`, { before })))
export const fileAddress = (thread, message) => `/console/api/threads/${thread}/files/${message}`

/**
 * Opens a session again, after a restart of the server made ours void; where that takes a token, the person signs in.
 * False when there is no server to ask.
 */
export async function renewSession() {
  try {
    if (await openSession()) return true
  } catch {
    return false
  }
  location.assign('/console/sign-in')
  return false
}

/** The live view of a thread, or of the list of threads alone. */
export function openFeed(thread) {
  return new EventSource(path('events', thread === null ? {} : { thread }))
}

/** An id that no other browser makes. (`randomUUID` is missing on plain http beyond localhost.) */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function path(name, query) {
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined))
  return `/console/api/${name}${search.size ? `?${search}` : ''}`
}

function post(name, body) {
  return fetch(`/console/api/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-toycoder-console': '1' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(PATIENCE_MS),
  })
}

async function ask(send) {
  let response = await send().catch(() => null)
  if (response?.status === 401 && (await renewSession())) response = await send().catch(() => null)
  if (!response) throw new ApiError(0, 'connection')
  const answer = await response.json().catch(() => ({}))
  if (!response.ok) throw new ApiError(response.status, answer.error ?? '')
  return answer
}
