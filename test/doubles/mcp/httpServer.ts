import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Message = { id?: number; method?: string; params?: { name?: string; protocolVersion?: string } }

/**
 * How calls of tools are answered. `cut`: the stream ends without an answer; `resume`: it does too, but the client may ask
 * again for what it missed and gets it; `forget`: it may ask again, in vain.
 */
export type HttpAct =
  | 'answer'
  | 'cut'
  | 'resume'
  | 'forget'
  | 'reset'
  | { status: number }
  | { error: { code: number; message: string } }

/** An MCP server over Streamable HTTP on 127.0.0.1 that can lose its sessions, cut its streams and refuse. */
export interface McpHttpDouble {
  url: string
  /** Names of tools called so far, refused ones too. */
  calls: string[]
  /** Sessions begun so far. */
  sessions: number
  headers: IncomingMessage['headers'][]
  /** How calls are answered from now on. */
  act: HttpAct
  /** As after a restart: no session is known any more. */
  forgetSessions(): void
  close(): Promise<void>
}

export async function startMcpHttpDouble(tools: readonly object[], port = 0): Promise<McpHttpDouble> {
  const known = new Set<string>()
  /** Calls whose answers were held back. */
  const missing: Message[] = []
  const server = createServer((request, response) => void handle(request, response))

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    double.headers.push(request.headers)
    if (request.method === 'GET') {
      if (double.act === 'forget') return end(response, 500)
      const missed = request.headers['last-event-id'] && missing.shift()
      return missed ? answer(missed, response) : end(response, 405)
    }
    if (request.method === 'DELETE') {
      known.delete(String(request.headers['mcp-session-id']))
      return end(response, 200)
    }
    let body = ''
    for await (const chunk of request) body += chunk
    const message: Message = JSON.parse(body)
    if (message.method === 'initialize') {
      const session = randomUUID()
      known.add(session)
      double.sessions++
      const serverInfo = { name: 'double', version: '1' }
      const result = { protocolVersion: message.params?.protocolVersion, capabilities: { tools: {} }, serverInfo }
      return stream(response, { id: message.id, result }, { 'mcp-session-id': session })
    }
    if (!known.has(String(request.headers['mcp-session-id']))) return end(response, 404)
    if (message.id === undefined) return end(response, 202)
    if (message.method === 'tools/list') return stream(response, { id: message.id, result: { tools } })
    call(message, response)
  }

  function call({ id, params }: Message, response: ServerResponse): void {
    double.calls.push(String(params?.name))
    const { act } = double
    if (act === 'reset') response.destroy()
    else if (act === 'cut') response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': nothing\n\n')
    else if (act === 'resume' || act === 'forget') {
      missing.push({ id, params } as Message)
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end('id: 1\nretry: 10\ndata:\n\n')
    } else if (act === 'answer') answer({ id, params } as Message, response)
    else if ('status' in act) end(response, act.status)
    else stream(response, { id, error: act.error })
  }

  const double: McpHttpDouble = {
    url: '',
    calls: [],
    sessions: 0,
    headers: [],
    act: 'answer',
    forgetSessions: () => known.clear(),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  double.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  return double
}

function answer({ id, params }: Message, response: ServerResponse): void {
  stream(response, { id, result: { content: [{ type: 'text', text: `called ${params?.name}` }] } })
}

function end(response: ServerResponse, status: number): void {
  response.writeHead(status).end()
}

function stream(response: ServerResponse, message: object, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', ...headers })
  response.end(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
}
