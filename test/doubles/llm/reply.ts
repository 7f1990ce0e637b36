/** What the model double answers: scripted replies and the server-sent events they become. */

export interface LlmReply {
  /** The answer, in the pieces in which it is streamed. */
  text?: string | readonly string[]
  /** Streamed as `reasoning_content` before the text. */
  reasoning?: string | readonly string[]
  /** `arguments` that are no string are sent as JSON; each call's arguments are streamed in two halves. */
  toolCalls?: readonly { name: string; arguments?: unknown; id?: string }[]
  /** Default: `tool_calls` when there are some, else `stop`. */
  finish?: 'stop' | 'tool_calls' | 'length' | 'content_filter'
  /** The wire's usage object; `null` sends none. Default: small plausible numbers. */
  usage?: Record<string, unknown> | null

  /** An HTTP error instead of an answer. `error` is its body (default: OpenAI's form with a fitting text). */
  status?: number
  error?: unknown
  /** Extra response headers, such as `{ 'retry-after': '1' }`. */
  headers?: Record<string, string>
  /** Bytes sent as they are in place of everything above. */
  raw?: string | Uint8Array
  /** The same in pieces, each of which waits for delay and gate. */
  rawPieces?: readonly (string | Uint8Array)[]
  contentType?: string

  /** Never answers, not even the headers. */
  hang?: true
  /** Milliseconds before each piece. */
  delayMs?: number
  /** Each piece waits until the test releases it. */
  gate?: Gate
  /** Bytes per write; default: one write per event. */
  splitBytes?: number
  /**
   * How the body ends. `stall`: silence with the connection open. `cut`: a clean end without finish and `[DONE]`.
   * `reset`: the connection is torn down. The last three come after `endAfter` text pieces (default: after all).
   */
  end?: 'done' | 'stall' | 'cut' | 'reset'
  endAfter?: number
}

/** Lets a test decide when the next piece goes out. */
export interface Gate {
  /** Lets `pieces` more pieces through. */
  release(pieces?: number): void
  /** Lets everything through from now on. */
  open(): void
  /** How many pieces wait at this moment. */
  readonly waiting: number
  pass(): Promise<void>
}

export function createGate(): Gate {
  let credit = 0
  const queue: (() => void)[] = []
  return {
    release(pieces = 1) {
      for (credit += pieces; credit > 0 && queue.length > 0; credit--) queue.shift()!()
    },
    open() {
      credit = Number.POSITIVE_INFINITY
      while (queue.length > 0) queue.shift()!()
    },
    get waiting() {
      return queue.length
    },
    pass() {
      if (credit > 0) {
        credit--
        return Promise.resolve()
      }
      return new Promise((resolve) => queue.push(resolve))
    },
  }
}

let callCount = 0

/** The frames of a streamed reply. `counted` ones are pieces: they wait for delay and gate. */
export function* framesOf(
  reply: LlmReply,
  request: { model: string; usageWanted: boolean },
): Generator<{ data: string; counted: boolean }> {
  const head = { id: 'chatcmpl-double', object: 'chat.completion.chunk', created: 1_764_547_200, model: request.model }
  const frame = (delta: object, finish: string | null = null) =>
    JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] })
  const broken = reply.end !== undefined && reply.end !== 'done'
  yield { data: frame({ role: 'assistant', content: '' }), counted: false }
  for (const piece of piecesOf(reply.reasoning)) yield { data: frame({ reasoning_content: piece }), counted: true }
  let sent = 0
  for (const piece of piecesOf(reply.text)) {
    if (broken && sent === (reply.endAfter ?? Number.POSITIVE_INFINITY)) return
    yield { data: frame({ content: piece }), counted: true }
    sent++
  }
  if (broken && reply.endAfter !== undefined) return
  for (const [index, call] of (reply.toolCalls ?? []).entries()) {
    const id = call.id ?? `call_${++callCount}`
    const args = typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments ?? {})
    const middle = Math.ceil(args.length / 2)
    const start = { index, id, type: 'function', function: { name: call.name, arguments: args.slice(0, middle) } }
    yield { data: frame({ tool_calls: [start] }), counted: true }
    if (broken) return
    yield { data: frame({ tool_calls: [{ index, function: { arguments: args.slice(middle) } }] }), counted: false }
  }
  if (broken) return
  yield { data: frame({}, reply.finish ?? (reply.toolCalls?.length ? 'tool_calls' : 'stop')), counted: false }
  const usage = reply.usage === undefined ? usageOf(reply) : reply.usage
  if (usage && request.usageWanted) yield { data: JSON.stringify({ ...head, choices: [], usage }), counted: false }
  yield { data: '[DONE]', counted: false }
}

/** The same reply as one JSON body, for a request without `stream`. */
export function completionOf(reply: LlmReply, model: string): object {
  const calls = (reply.toolCalls ?? []).map((call) => ({
    id: call.id ?? `call_${++callCount}`,
    type: 'function',
    function: {
      name: call.name,
      arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments ?? {}),
    },
  }))
  const text = piecesOf(reply.text).join('')
  return {
    id: 'chatcmpl-double',
    object: 'chat.completion',
    created: 1_764_547_200,
    model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: text || null, ...(calls.length > 0 ? { tool_calls: calls } : {}) },
        finish_reason: reply.finish ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
      },
    ],
    usage: reply.usage === undefined ? usageOf(reply) : reply.usage,
  }
}

function usageOf(reply: LlmReply): Record<string, unknown> {
  const output = Math.max(1, piecesOf(reply.text).length + 10 * (reply.toolCalls?.length ?? 0))
  return { prompt_tokens: 20, completion_tokens: output, total_tokens: 20 + output }
}

function piecesOf(text: string | readonly string[] | undefined): readonly string[] {
  if (text === undefined) return []
  return typeof text === 'string' ? [text] : text
}
