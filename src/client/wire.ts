import { errorIn, IdleTimeout } from './modelErrors.ts'
import { createFrameMender } from './sseFrames.ts'

/**
 * The fetch of one streamed request, as the SDK sees it. It times silence by bytes (so keep-alive comments count, which the
 * SDK swallows) and hands on mended frames. One wire serves one request: it remembers what the SDK does not tell.
 */
export interface Wire {
  fetch: typeof fetch
  /** True when the server said `[DONE]`, or sent a whole JSON body in place of a stream. */
  readonly done: boolean
  /** True when at least one byte of the body came. */
  readonly begun: boolean
  /** Call when the answer is known to be whole: a server that keeps the connection open is waited for no longer than this. */
  expectEnd(withinMs: number): void
  /** Ends the timer. Idempotent. */
  close(): void
}

export function openWire({
  fetch: send = fetch,
  idleTimeoutMs,
}: {
  fetch?: typeof fetch
  idleTimeoutMs: number
}): Wire {
  const silence = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let done = false
  let begun = false

  function listenFor(ms: number): void {
    clearTimeout(timer)
    timer = setTimeout(() => silence.abort(new IdleTimeout(ms)), ms)
  }
  function close(): void {
    clearTimeout(timer)
    timer = undefined
  }

  async function wiredFetch(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    listenFor(idleTimeoutMs)
    const signal = init.signal ? AbortSignal.any([init.signal, silence.signal]) : silence.signal
    try {
      const response = await send(input, { ...init, signal })
      if (!response.ok || !response.body) {
        const body = await response.text()
        close()
        return new Response(body, response)
      }
      timer?.refresh()
      const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '')
      const body = response.body as ReadableStream<Uint8Array>
      const frames = isJson ? wholeBody(response) : mended(body)
      return new Response(ReadableStream.from(frames), {
        status: response.status,
        headers: { ...Object.fromEntries(response.headers), 'content-type': 'text/event-stream' },
      })
    } catch (error) {
      close()
      throw error
    }
  }

  /** Pulled by the SDK frame by frame, so an error never overtakes the frames before it. */
  async function* mended(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
    const mender = createFrameMender()
    const decoder = new TextDecoder()
    const encoder = new TextEncoder()
    try {
      for await (const bytes of body) {
        timer?.refresh()
        begun = true
        const sound = mender.push(decoder.decode(bytes, { stream: true }))
        done = mender.done
        if (sound) yield encoder.encode(sound)
        if (mender.error) throw mender.error
        if (done) return
      }
      const rest = mender.push(decoder.decode()) + mender.end()
      done = mender.done
      if (rest) yield encoder.encode(rest)
      if (mender.error) throw mender.error
    } finally {
      close()
    }
  }

  /** Proxies that ignore `stream: true` send one JSON body; it becomes one frame. */
  async function* wholeBody(response: Response): AsyncGenerator<Uint8Array> {
    try {
      const text = await response.text()
      begun = text !== ''
      const error = errorIn(JSON.parse(text))
      if (error) throw error
      done = true
      yield new TextEncoder().encode(`data: ${text.replace(/[\r\n]+/g, ' ')}\n\ndata: [DONE]\n\n`)
    } finally {
      close()
    }
  }

  return {
    fetch: wiredFetch,
    get done() {
      return done
    },
    get begun() {
      return begun
    },
    expectEnd: (withinMs) => {
      if (timer) listenFor(Math.min(withinMs, idleTimeoutMs))
    },
    close,
  }
}
