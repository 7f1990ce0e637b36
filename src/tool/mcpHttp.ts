import { setTimeout as delay } from 'node:timers/promises'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { isJSONRPCRequest, type JSONRPCMessage, type RequestId } from '@modelcontextprotocol/sdk/types.js'
import { lostAnswer, type McpTransport } from './mcpConnection.ts'

/** How long an answer may take to be read after its stream has ended, in milliseconds. */
const SETTLE_MS = 500
/** How long saying goodbye to a server may take, in milliseconds. */
const GOODBYE_MS = 1_000

export interface HttpOptions {
  url: string
  headers: Readonly<Record<string, string>>
}

/**
 * An MCP server at an address (Streamable HTTP). The SDK's transport says nothing when the stream that was to bring an answer
 * ends without it, and the request would wait for its time-out; here it fails at once, as lost.
 */
export function createHttpTransport({ url, headers }: HttpOptions): McpTransport {
  /** Requests without an answer yet. `resumes`: the server can repeat what was missed, and the SDK asks it to. */
  const open = new Map<RequestId, { resumes: boolean }>()
  let closed = false
  let closing: Promise<void> | undefined

  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    fetch: async (address, init) => {
      const response = await fetch(address, init)
      const id = requestIdOf(init)
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
      if (id === undefined || !isStream || !response.body) return response
      const { status, statusText } = response
      const body = ReadableStream.from(watched(response.body, () => void streamEnded(id)))
      return new Response(body, { status, statusText, headers: response.headers })
    },
  })
  const start = transport.start.bind(transport)
  const send = transport.send.bind(transport)
  const close = transport.close.bind(transport)

  async function streamEnded(id: RequestId): Promise<void> {
    await delay(SETTLE_MS)
    if (open.get(id)?.resumes === false) lose(id)
  }

  function lose(id: RequestId): void {
    if (!closed) transport.onmessage?.(lostAnswer(id))
  }

  return Object.assign(transport, {
    alive: () => !closed,
    ending: () => undefined,

    async start() {
      // The protocol has put its listeners in place by now.
      const { onmessage, onerror } = transport
      transport.onmessage = (message) => {
        if ('id' in message && !('method' in message) && message.id !== undefined) open.delete(message.id)
        onmessage?.(message)
      }
      transport.onerror = (error) => {
        onerror?.(error)
        // The only sign that the SDK has given up on resuming.
        if (!error.message.startsWith('Maximum reconnection attempts')) return
        for (const [id, { resumes }] of open) if (resumes) lose(id)
      }
      await start()
    },

    async send(message: JSONRPCMessage, options?: Parameters<typeof send>[1]) {
      if (!isJSONRPCRequest(message)) return send(message, options)
      const request = { resumes: false }
      open.set(message.id, request)
      try {
        await send(message, {
          ...options,
          onresumptiontoken() {
            request.resumes = true
          },
        })
      } catch (error) {
        open.delete(message.id)
        throw error
      }
    },

    close() {
      closing ??= sayGoodbye()
      return closing
    },
  })

  async function sayGoodbye(): Promise<void> {
    const goodbye = new AbortController()
    const waited = delay(GOODBYE_MS, undefined, { signal: goodbye.signal })
    await Promise.race([transport.terminateSession(), waited]).catch(() => {})
    goodbye.abort()
    closed = true
    await close()
  }
}

function requestIdOf(init: RequestInit | undefined): RequestId | undefined {
  if (init?.method !== 'POST' || typeof init.body !== 'string') return undefined
  const message: { id?: RequestId; method?: string } = JSON.parse(init.body)
  return message.method === undefined ? undefined : message.id
}

/** The same bytes; `ended` is called however the stream ends. */
async function* watched(body: ReadableStream<Uint8Array>, ended: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } finally {
    ended()
  }
}
