import { errorIn, IdleTimeout } from './modelErrors.ts'
import { type Chunk, createFrameReader } from './sseFrames.ts'

/**
 * The bytes of one streamed request, below the SDK: its `fetch`, and the reading of the body. Silence is timed by the byte,
 * so keep-alive comments count, which nothing above gets to see. One wire serves one request.
 */
export interface Wire {
  /** For the SDK: fetch with a timer on silence, from the start of the request to the end of the body. */
  fetch: typeof fetch
  /**
   * The chunks of the answer, those of one read together. What the server tells of as an error is thrown, after all that
   * stood before it.
   */
  read(response: Response): AsyncGenerator<Chunk[]>
  /** True when the server said `[DONE]`, or sent a whole JSON body in place of a stream. */
  readonly done: boolean
  /** True when at least one byte of the body came. */
  readonly begun: boolean
  /**
   * Call when the answer is known to be whole: a server that keeps the connection open is waited for no longer than this,
   * with comments or in silence.
   */
  expectEnd(withinMs: number): void
  /** Ends the timer and the connection. Idempotent. */
  close(): void
}

export function openWire(options: { fetch?: typeof fetch; idleTimeoutMs: number }): Wire {
  const { fetch: send = fetch, idleTimeoutMs } = options
  const ending = new AbortController()
  let timer: NodeJS.Timeout | undefined
  /** When the connection is given up, whatever else comes; `performance.now()`. */
  let deadline = Infinity
  let silences = 0
  let done = false
  let begun = false

  function listen(): void {
    clearTimeout(timer)
    // After a long pause of this process the timer fires before the bytes that wait are read: they get their turn first.
    const patienceMs = Math.min(idleTimeoutMs, Math.max(0, deadline - performance.now()))
    timer = setTimeout(() => setImmediate(giveUp, ++silences), patienceMs)
  }

  function giveUp(silence: number): void {
    if (silence === silences) ending.abort(new IdleTimeout(idleTimeoutMs))
  }

  /** Something came; while it is being dealt with, nobody listens. */
  function heard(): void {
    silences++
    clearTimeout(timer)
  }

  async function timedFetch(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    listen()
    const signal = init.signal ? AbortSignal.any([init.signal, ending.signal]) : ending.signal
    const response = await send(input, { ...init, signal })
    heard()
    listen()
    return response
  }

  async function* read(response: Response): AsyncGenerator<Chunk[]> {
    const body = response.body as ReadableStream<Uint8Array> | null
    if (!body) return
    // Proxies that ignore `stream: true` send one JSON body.
    if (/\bjson\b/.test(response.headers.get('content-type') ?? '')) yield [await wholeBody(body)]
    else yield* frames(body)
  }

  /** The text of the body as it comes; between two pieces silence is timed. */
  async function* texts(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
    const decoder = new TextDecoder()
    for await (const bytes of body) {
      heard()
      begun ||= bytes.length > 0
      yield decoder.decode(bytes, { stream: true })
      listen()
    }
    yield decoder.decode()
  }

  async function* frames(body: ReadableStream<Uint8Array>): AsyncGenerator<Chunk[]> {
    const reader = createFrameReader()
    for await (const text of texts(body)) {
      const chunks = reader.push(text)
      done = reader.done
      if (chunks.length > 0) yield chunks
      if (reader.error) throw reader.error
      if (done) return
    }
    const rest = reader.end()
    done = reader.done
    if (rest.length > 0) yield rest
    if (reader.error) throw reader.error
  }

  async function wholeBody(body: ReadableStream<Uint8Array>): Promise<Chunk> {
    let text = ''
    for await (const piece of texts(body)) text += piece
    const answer = JSON.parse(text) as Chunk
    const error = errorIn(answer)
    if (error) throw error
    done = true
    return answer
  }

  return {
    fetch: timedFetch,
    read,
    get done() {
      return done
    },
    get begun() {
      return begun
    },
    expectEnd: (withinMs) => {
      deadline = Math.min(deadline, performance.now() + withinMs)
    },
    close: () => {
      heard()
      ending.abort()
    },
  }
}
