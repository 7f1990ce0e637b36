import { ModelError } from '../shared/errors.ts'
import { errorIn, fromPayload } from './modelErrors.ts'

/**
 * Mends the frames of a chat stream on their way to the SDK, which loses or trips over some of them: empty and `null`
 * frames, `[DONE]` with a blank, lone carriage returns, errors in `error:` fields, in named events or without an `error`
 * key, plain text where JSON should be. Sound frames, nearly all, pass as they are after a look at their edges.
 *
 * Errors that servers tell of inside of the stream are thrown, after all that stood before them has been handed on.
 */
export interface FrameMender {
  /** Sound frames of what is complete so far, as text for the SDK. */
  push(text: string): string
  /** What an end without a last blank line left over. */
  end(): string
  /** True after `[DONE]`: nothing behind it counts. */
  readonly done: boolean
  /** Set when the server told of an error: to be thrown once the frames before it are handed on. */
  readonly error: ModelError | null
}

export function createFrameMender(): FrameMender {
  let buffer = ''
  let searchFrom = 0
  let dropLineFeed = false
  let done = false
  let error: ModelError | null = null

  function push(text: string): string {
    buffer += unixLines(text)
    let sound = ''
    let from = 0
    while (!done && !error) {
      const end = buffer.indexOf('\n\n', Math.max(from, searchFrom))
      if (end < 0) break
      sound += mend(buffer.slice(from, end))
      from = end + 2
      searchFrom = from
    }
    buffer = buffer.slice(from)
    searchFrom = Math.max(0, buffer.length - 1)
    return sound
  }

  function end(): string {
    const rest = buffer
    buffer = ''
    if (done || error || rest.trim() === '') return ''
    // A connection that ended inside of a frame is a cut stream, which the assembly notices by itself.
    const { data } = fieldsOf(rest)
    return data !== null && looksLikeJson(data) && parsed(data) === undefined ? '' : mend(rest)
  }

  function mend(frame: string): string {
    if (isPlain(frame)) return `${frame}\n\n`
    const fields = fieldsOf(frame)
    if (fields.error !== null) {
      error = fromPayload(parsed(fields.error) ?? fields.error)
      return ''
    }
    const data = fields.data?.trim()
    if (!data) return ''
    if (data === '[DONE]') {
      done = true
      return 'data: [DONE]\n\n'
    }
    const payload = parsed(data)
    if (payload === undefined) {
      error = looksLikeJson(data)
        ? new ModelError('malformed', 'The model server sent a frame that is not JSON.', { retryable: true })
        : fromPayload(data)
      return ''
    }
    error = errorIn(payload) ?? (fields.event === 'error' ? fromPayload(payload) : null)
    if (payload === null || typeof payload !== 'object' || Array.isArray(payload)) return ''
    const chunk = error ? withoutError(payload as Record<string, unknown>) : (payload as Record<string, unknown>)
    return Array.isArray(chunk.choices) || chunk.usage ? `data: ${JSON.stringify(chunk)}\n\n` : ''
  }

  /** A carriage return may end one piece of text and its line feed begin the next. */
  function unixLines(text: string): string {
    let lines = text
    if (dropLineFeed && lines.startsWith('\n')) lines = lines.slice(1)
    if (lines === '') return lines
    dropLineFeed = lines.endsWith('\r')
    return lines.includes('\r') ? lines.replace(/\r\n?/g, '\n') : lines
  }

  return {
    push,
    end,
    get done() {
      return done
    },
    get error() {
      return error
    },
  }
}

/** One data line with a chunk in it and nothing that smells of an error: the SDK reads it as well as we would. */
function isPlain(frame: string): boolean {
  return (
    frame.startsWith('data: {"') &&
    frame.endsWith('}') &&
    !frame.includes('\n') &&
    frame.includes('"choices":[{') &&
    !frame.includes('"error')
  )
}

/** What else the frame of an error holds, usage above all; a finish beside an error is no good end. */
function withoutError({ error: _, choices, ...rest }: Record<string, unknown>): Record<string, unknown> {
  if (!Array.isArray(choices)) return rest
  return { ...rest, choices: choices.map((choice) => ({ ...choice, finish_reason: null })) }
}

interface Fields {
  event: string | null
  data: string | null
  /** llama.cpp's own field for errors. */
  error: string | null
}

function fieldsOf(frame: string): Fields {
  const fields: Fields = { event: null, data: null, error: null }
  for (const line of frame.split('\n')) {
    if (line === '' || line.startsWith(':')) continue
    const colon = line.indexOf(':')
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (name === 'data') fields.data = fields.data === null ? value : `${fields.data}\n${value}`
    else if (name === 'event') fields.event = value
    else if (name === 'error') fields.error = value
    // A body in JSON that was labelled as a stream of events.
    else if (line.startsWith('{') || line.startsWith('[')) fields.data = (fields.data ?? '') + line
  }
  return fields
}

function looksLikeJson(data: string): boolean {
  return /^\s*[{["]/.test(data)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
