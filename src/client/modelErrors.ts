import { APIConnectionTimeoutError, APIError } from 'openai'
import { isAbort, ModelError, type ModelErrorKind, messageOf } from '../shared/errors.ts'
import type { ChatResponse } from './baseClient.ts'

/** A stream that broke after it began: the error, and what had come until then (none of its calls may run). */
export class BrokenStream extends ModelError {
  readonly partial: ChatResponse
  constructor(cause: ModelError, partial: ChatResponse) {
    super(cause.kind, cause.message, {
      retryable: cause.retryable,
      ...(cause.retryAfterMs === undefined ? {} : { retryAfterMs: cause.retryAfterMs }),
      ...(cause.code === undefined ? {} : { code: cause.code }),
      cause,
    })
    this.partial = partial
  }
}

/** No byte came for as long as the client was told to wait. */
export class IdleTimeout extends Error {
  constructor(idleTimeoutMs: number) {
    super(`The model server sent nothing for ${idleTimeoutMs / 1000} s.`)
    this.name = 'IdleTimeout'
  }
}

/** Texts by which servers say that the request is longer than the model's window. */
const OVERFLOW =
  /context[ _-]?(?:length|size|window)|maximum context|prompt is too long|too many tokens|exceeds? the (?:model'?s? )?(?:available |maximum |max )?(?:context|input)|reduce the length of the (?:messages|prompt)|input (?:is|token count).{0,40}(?:too long|exceeds)|request_too_large|context_length_exceeded|token limit exceeded|超过.{0,10}(?:长度|上下文)/i
const RATE = /rate[ _-]?limit|too many requests/i
/** Money, not pace: waiting does not help, another key may. */
const QUOTA =
  /insufficient_quota|insufficient[ _](?:balance|credits?|funds)|billing|quota.{0,30}exceeded|exceeded.{0,30}quota/i
/** Google says of a wrong key that the request is invalid; another key may do. */
const BAD_KEY =
  /\bapi[ _-]?key (?:is )?(?:not valid|invalid|expired)|(?:invalid|incorrect) api[ _-]?key|API_KEY_INVALID/i
/** A 403 about the text, not about the key. */
const MODERATED = /\bmoderation\b|\bflagged\b|content[ _-]?policy/i
const BUSY =
  /overloaded|server had an error|temporar|unavailable|try again|timeout|timed out|unexpectedly stopped|connection/i

/** What a failed request means. `error` is whatever the SDK, fetch or the frame reader threw; aborts are not for here. */
export function toModelError(error: unknown): ModelError {
  if (error instanceof ModelError) return error
  const idle = findIdle(error)
  if (idle) return new ModelError('timeout', idle.message, { retryable: true, cause: error })
  if (error instanceof APIConnectionTimeoutError) {
    return new ModelError('timeout', 'The model server did not answer in time.', { retryable: true, cause: error })
  }
  if (error instanceof APIError && error.status !== undefined) return fromStatus(error, error.status)
  if (error instanceof SyntaxError) {
    return new ModelError('malformed', 'The model server sent a frame that is not JSON.', {
      retryable: true,
      cause: error,
    })
  }
  const reason = rootMessage(error)
  return new ModelError('unreachable', `The connection to the model server failed: ${reason}.`, {
    retryable: true,
    cause: error,
  })
}

/** The error in a frame or body that came with status 200, in any of the forms that servers have for it; else `null`. */
export function errorIn(payload: unknown): ModelError | null {
  if (typeof payload !== 'object' || payload === null) return null
  if (Array.isArray(payload)) return errorIn(payload[0])
  const frame = payload as Record<string, unknown>
  if (frame.error) return fromPayload(frame.error)
  if (frame.error_type !== undefined || frame.error_message !== undefined) {
    return fromPayload({ code: frame.error_type, message: frame.error_message })
  }
  if (Array.isArray(frame.choices) || frame.usage) return null
  if (frame.object === 'error' || (frame.message !== undefined && (frame.code ?? frame.type) !== undefined)) {
    return fromPayload(frame)
  }
  return frame.detail === undefined ? null : fromPayload({ message: frame.detail })
}

const MODEL_SLIP = { kind: 'server', retryable: true } as const

/** An error that a server told of inside of a stream: an object, or a bare text. */
export function fromPayload(payload: unknown): ModelError {
  const fields =
    typeof payload === 'object' && payload !== null ? (payload as Record<string, unknown>) : { message: payload }
  const nested =
    typeof fields.error === 'object' && fields.error !== null ? (fields.error as Record<string, unknown>) : null
  if (nested) return fromPayload(nested)
  const message = textOf(fields.message ?? fields.error ?? fields.detail) || JSON.stringify(payload).slice(0, 500)
  const code = textOf(fields.code ?? fields.type) || undefined
  const status = [fields.code, fields.status_code, fields.status]
    .map(Number)
    .find((number) => number >= 400 && number < 600)
  const words = `${message} ${textOf(fields.code)} ${textOf(fields.type)}`
  // Groq's word for a call that does not fit its schema: the model's slip, which another try may not repeat.
  const { kind, retryable } = code === 'tool_use_failed' ? MODEL_SLIP : verdict(status, words)
  return new ModelError(kind, message, { retryable, ...(code === undefined ? {} : { code }) })
}

/** The seconds or the date of a `Retry-After` header, or OpenAI's milliseconds, as milliseconds from now. */
export function retryAfterMs(headers: Headers | undefined, now = Date.now()): number | undefined {
  const milliseconds = Number.parseFloat(headers?.get('retry-after-ms') ?? '')
  if (milliseconds >= 0) return milliseconds
  const header = headers?.get('retry-after') ?? ''
  const seconds = Number.parseFloat(header)
  if (seconds >= 0) return seconds * 1000
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

function fromStatus(error: APIError, status: number): ModelError {
  const body = typeof error.error === 'object' && error.error !== null ? (error.error as Record<string, unknown>) : {}
  const code = textOf(error.code ?? body.code ?? error.type) || String(status)
  const wait = retryAfterMs(error.headers)
  const { kind, retryable } = verdict(status, `${error.message} ${code} ${textOf(error.type)}`)
  return new ModelError(kind, error.message, {
    retryable,
    code,
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
    cause: error,
  })
}

/** Kind and hope of an error, from its status (absent inside of streams) and its words. */
function verdict(status: number | undefined, words: string): { kind: ModelErrorKind; retryable: boolean } {
  if (RATE.test(words) && status !== 401 && status !== 403)
    return { kind: 'rateLimited', retryable: !QUOTA.test(words) }
  if (OVERFLOW.test(words) && (status === undefined || status < 500 || status === 500) && status !== 429) {
    return { kind: 'contextOverflow', retryable: false }
  }
  if (QUOTA.test(words) || status === 402) return { kind: 'rateLimited', retryable: false }
  if (status === 400 && BAD_KEY.test(words)) return { kind: 'auth', retryable: false }
  if (status === 403 && MODERATED.test(words)) return { kind: 'refused', retryable: false }
  switch (status) {
    case 401:
    case 403:
      return { kind: 'auth', retryable: false }
    case 408:
      return { kind: 'timeout', retryable: true }
    case 409:
    case 425:
      return { kind: 'server', retryable: true }
    case 413:
      return { kind: 'contextOverflow', retryable: false }
    case 429:
      return { kind: 'rateLimited', retryable: true }
  }
  if (status !== undefined)
    return status >= 500 ? { kind: 'server', retryable: true } : { kind: 'refused', retryable: false }
  // Inside of a stream and without a code: the request was accepted, so it is the server's trouble unless it says otherwise.
  const refused = /invalid_request|invalid_argument|content_policy|moderation/i.test(words) && !BUSY.test(words)
  return refused ? { kind: 'refused', retryable: false } : { kind: 'server', retryable: true }
}

function findIdle(error: unknown): IdleTimeout | null {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    if (at instanceof IdleTimeout) return at
  }
  return null
}

/** undici says "fetch failed" and "terminated"; the reason is in the cause. */
function rootMessage(error: unknown): string {
  let at = error
  for (let depth = 0; at instanceof Error && at.cause instanceof Error && depth < 5; depth++) at = at.cause
  const code = (at as { code?: unknown } | null)?.code
  const text = messageOf(at).replace(/\.$/, '')
  return typeof code === 'string' && !text.includes(code) ? `${text} (${code})` : text
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return String(value)
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

/** The error that callers get for an aborted request, whoever noticed it first. */
export function abortError(signal: AbortSignal): Error {
  if (isAbort(signal.reason)) return signal.reason as Error
  const error = new Error('The model call was stopped.', { cause: signal.reason })
  error.name = 'AbortError'
  return error
}
