import { ModelError } from '../shared/errors.ts'
import { errorIn, fromPayload } from './modelErrors.ts'

/**
 * Reads the frames of a chat stream, in all the forms that servers have for them. The SDK's own reader loses or trips over
 * some: empty and `null` frames, `[DONE]` with a blank, lone carriage returns, errors in `error:` fields, in named events or
 * without an `error` key, plain text where JSON should be, a last frame without its blank line.
 */
export interface FrameReader {
  /** The chunks that are complete with this text, in order. */
  push(text: string): Chunk[]
  /** What an end without a last blank line left over. */
  end(): Chunk[]
  /** True after `[DONE]`: nothing behind it counts. */
  readonly done: boolean
  /** Set when the server told of an error: to be thrown once the chunks before it are handed on. */
  readonly error: ModelError | null
}

/** The JSON of one frame; what is in it is for the assembly to find out. */
export type Chunk = Record<string, unknown>

export function createFrameReader(): FrameReader {
  /** The pieces of a frame that is not complete yet; joined once only, because a frame may come in many. */
  let held: string[] = []
  let last = ''
  let dropLineFeed = false
  let done = false
  let error: ModelError | null = null

  function push(text: string): Chunk[] {
    const lines = unixLines(text)
    const completes = `${last}${lines}`.includes('\n\n')
    hold(lines)
    const chunks: Chunk[] = []
    if (!completes) return chunks
    const frames = held.join('').split('\n\n')
    const rest = frames.pop()!
    for (const frame of frames) if (!done && !error) read(frame, chunks)
    held = []
    last = ''
    hold(rest)
    return chunks
  }

  function hold(lines: string): void {
    if (lines === '') return
    held.push(lines)
    last = lines.at(-1)!
  }

  function end(): Chunk[] {
    const rest = held.join('')
    const chunks: Chunk[] = []
    held = []
    if (done || error || rest.trim() === '') return chunks
    // A connection that ended inside of a frame is a cut stream, which the assembly notices by itself.
    const { data } = fieldsOf(rest)
    const isCut = data !== null && looksLikeJson(data) && parsed(data) === undefined
    if (!isCut) read(rest, chunks)
    return chunks
  }

  function read(frame: string, chunks: Chunk[]): void {
    const fields = fieldsOf(frame)
    if (fields.error !== null) {
      error = fromPayload(parsed(fields.error) ?? fields.error)
      return
    }
    const data = fields.data?.trim()
    if (!data) return
    if (data === '[DONE]') {
      done = true
      return
    }
    const payload = parsed(data)
    if (payload === undefined) {
      error = looksLikeJson(data)
        ? new ModelError('malformed', 'The model server sent a frame that is not JSON.', { retryable: true })
        : fromPayload(data)
      return
    }
    error = errorIn(payload) ?? (fields.event === 'error' ? fromPayload(payload) : null)
    if (payload === null || typeof payload !== 'object' || Array.isArray(payload)) return
    chunks.push(error ? withoutError(payload as Chunk) : (payload as Chunk))
  }

  /** A carriage return may end one piece of text and its line feed begin the next. */
  function unixLines(text: string): string {
    let lines = text
    if (dropLineFeed && lines.startsWith('\n')) lines = lines.slice(1)
    if (text !== '') dropLineFeed = text.endsWith('\r')
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

/** What else the frame of an error holds, usage above all; a finish beside an error is no good end. */
function withoutError({ error: _, choices, ...rest }: Chunk): Chunk {
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
  // Nearly every frame is one line of data.
  if (frame.startsWith('data: ') && !frame.includes('\n')) return { event: null, data: frame.slice(6), error: null }
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
