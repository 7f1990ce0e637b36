/**
 * A chat-completions server for tests: real HTTP and server-sent events on 127.0.0.1, scripted by the test. It checks
 * requests as strictly as OpenAI does (`requestRules.ts`), knows API keys, and misbehaves when told to.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { completionOf, framesOf, type LlmReply } from './reply.ts'
import { requestProblems } from './requestRules.ts'

export { createGate, type Gate, type LlmReply } from './reply.ts'

/** A message as it came over the wire; everything a test may want to look at is optional. */
export interface WireMessage {
  role: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was sent
  content?: any
  tool_calls?: { id: string; type: string; function: { name: string; arguments: string }; extra_content?: unknown }[]
  tool_call_id?: string
  [field: string]: unknown
}

export interface LlmRequest {
  /** 0 for the first. */
  index: number
  path: string
  apiKey: string
  headers: NodeJS.Dict<string | string[]>
  body: {
    model: string
    messages: WireMessage[]
    tools?: { type: string; function: { name: string; description?: string; parameters?: unknown } }[]
    stream?: boolean
    [field: string]: unknown
  }
  /** Milliseconds since the epoch. */
  at: number
  /** Why it was refused by the rules; empty for a sound request. */
  problems: string[]
  /** The text of the last message of a person. */
  lastUser: string
  /** The text of the first system message. */
  system: string
  /** Aborts when the client closed the connection before the answer was whole. */
  closed: AbortSignal
}

export type Responder = (request: LlmRequest) => LlmReply | undefined | Promise<LlmReply | undefined>

export interface LlmDouble {
  /** What a program is set to by its environment, to ask this server. */
  env: Record<string, string>
  /** Ends in `/v1`; what `OPENAI_BASE_URL` is set to. */
  baseUrl: string
  /** A key that it accepts. */
  apiKey: string
  /** Every request to chat/completions, in order, refused ones too. */
  requests: LlmRequest[]
  /** Queues replies; each is used once, in order, after the responder has passed. */
  reply(...replies: LlmReply[]): void
  /** Chooses replies by the request; where it returns undefined the queue is used. Replaces an earlier responder. */
  respond(responder: Responder): void
  /** Rule violations of all requests so far, and requests for which no reply was left. */
  problems(): string[]
  /** Replies that are still queued. */
  unused(): number
  /** Resolves when `count` requests have come in; rejects after `timeoutMs` (default 10 s). */
  waitForRequests(count: number, timeoutMs?: number): Promise<LlmRequest[]>
  close(): Promise<void>
}

export interface LlmDoubleOptions {
  replies?: readonly LlmReply[]
  respond?: Responder
  /** Keys that are let in; default `['sk-test']`. `null` lets everybody in. */
  apiKeys?: readonly string[] | null
  /** Names for `/v1/models` and Ollama's `/api/tags`; default `['test-model']`. */
  models?: readonly string[]
  /** Whether a request against the rules gets a 400 (default) or is only recorded. */
  strict?: boolean
  /** Fields that this server does not know: a request with one is refused with a 400 naming it. */
  refuseFields?: readonly string[]
  /** Default: any free port. */
  port?: number
}

export async function startLlmDouble(options: LlmDoubleOptions = {}): Promise<LlmDouble> {
  const { apiKeys = ['sk-test'], models = ['test-model'], strict = true, refuseFields = [] } = options
  const queue: LlmReply[] = [...(options.replies ?? [])]
  const requests: LlmRequest[] = []
  const complaints: string[] = []
  const arrivals = new Set<() => void>()
  let responder = options.respond

  const server = createServer((req, res) => {
    handle(req, res).catch((error: unknown) => {
      complaints.push(`the double failed: ${String(error)}`)
      if (!res.headersSent) sendJson(res, 500, { error: { message: `the double failed: ${String(error)}` } })
      else res.destroy()
    })
  })

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const path = new URL(req.url ?? '/', 'http://double').pathname
    if (path === '/api/tags') return sendJson(res, 200, { models: models.map((name) => ({ name, model: name })) })
    const apiKey = (req.headers.authorization ?? '').replace(/^Bearer /, '')
    const body = await readBody(req)
    if (path.endsWith('/models')) {
      const known = !apiKeys || apiKeys.includes(apiKey)
      if (!known) return sendJson(res, 401, errorBody('Incorrect API key provided.', 'invalid_api_key'))
      return sendJson(res, 200, { object: 'list', data: models.map((id) => ({ id, object: 'model' })) })
    }
    if (!path.endsWith('/chat/completions')) {
      return sendJson(res, 404, errorBody(`Unknown request URL: ${req.method} ${path}.`, 'unknown_url'))
    }
    const request = record(path, apiKey, req.headers, body, res)
    if (apiKeys && !apiKeys.includes(apiKey)) {
      return sendJson(res, 401, errorBody('Incorrect API key provided.', 'invalid_api_key'))
    }
    const unknown = refuseFields.find((field) => request.body[field] !== undefined)
    if (unknown)
      return sendJson(res, 400, errorBody(`Unrecognized request argument supplied: ${unknown}`, null, unknown))
    if (strict && request.problems.length > 0) {
      return sendJson(res, 400, errorBody(request.problems[0]!, 'invalid_value', 'messages'))
    }
    const reply = (await responder?.(request)) ?? queue.shift()
    if (!reply) {
      complaints.push(`request ${request.index} ("${request.lastUser.slice(0, 80)}") came when no reply was left`)
      return sendJson(res, 400, errorBody('The double has no reply left for this request.', 'no_reply_left'))
    }
    await answer(reply, request, res)
  }

  function record(
    path: string,
    apiKey: string,
    headers: NodeJS.Dict<string | string[]>,
    body: string,
    res: ServerResponse,
  ) {
    let parsed: unknown
    try {
      parsed = JSON.parse(body)
    } catch {
      parsed = undefined
    }
    const closed = new AbortController()
    res.on('close', () => res.writableFinished || closed.abort())
    const content = (typeof parsed === 'object' && parsed !== null ? parsed : {}) as LlmRequest['body']
    const messages = Array.isArray(content.messages) ? content.messages : []
    const request: LlmRequest = {
      index: requests.length,
      path,
      apiKey,
      headers,
      body: content,
      at: Date.now(),
      problems: requestProblems(parsed).map(({ message, param }) => `${param}: ${message}`),
      lastUser: textOf(messages.findLast((message) => message.role === 'user')),
      system: textOf(messages.find((message) => message.role === 'system')),
      closed: closed.signal,
    }
    requests.push(request)
    for (const arrived of arrivals) arrived()
    return request
  }

  if (options.port === undefined) server.listen(0, '127.0.0.1')
  else server.listen(options.port, '127.0.0.1')
  await new Promise<void>((resolve, reject) => server.once('listening', resolve).once('error', reject))
  const { port } = server.address() as AddressInfo

  const baseUrl = `http://127.0.0.1:${port}/v1`
  const apiKey = apiKeys?.[0] ?? 'sk-test'
  return {
    env: { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseUrl, OPENAI_MODEL: models[0] ?? 'test-model' },
    baseUrl,
    apiKey,
    requests,
    reply: (...replies) => void queue.push(...replies),
    respond: (next) => {
      responder = next
    },
    problems: () => [
      ...requests.flatMap((request) => request.problems.map((problem) => `request ${request.index}: ${problem}`)),
      ...complaints,
    ],
    unused: () => queue.length,
    waitForRequests: (count, timeoutMs = 10_000) =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (requests.length < count) return
          clearTimeout(timer)
          arrivals.delete(check)
          resolve(requests)
        }
        const timer = setTimeout(() => {
          arrivals.delete(check)
          reject(new Error(`${requests.length} of ${count} requests came within ${timeoutMs} ms`))
        }, timeoutMs)
        arrivals.add(check)
        check()
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answer(reply: LlmReply, request: LlmRequest, res: ServerResponse): Promise<void> {
  if (reply.hang) return
  if (reply.status !== undefined && reply.status >= 400) {
    return sendJson(
      res,
      reply.status,
      reply.error ?? errorBody(`The double answers ${reply.status}.`, null),
      reply.headers,
    )
  }
  if (!isRaw(reply) && request.body.stream !== true) {
    return sendJson(res, 200, completionOf(reply, request.body.model), reply.headers)
  }
  res.writeHead(200, {
    'content-type': reply.contentType ?? 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    ...reply.headers,
  })
  res.flushHeaders()
  for (const { bytes, counted } of bodyOf(reply, request)) {
    if (counted && reply.delayMs) await sleep(reply.delayMs)
    if (counted) await reply.gate?.pass()
    if (request.closed.aborted) return
    await write(res, bytes, reply.splitBytes)
  }
  if (reply.end === 'reset') {
    // What was written should arrive before the connection is torn down.
    await sleep(150)
    res.socket?.resetAndDestroy()
  } else if (reply.end !== 'stall') res.end()
}

function isRaw(reply: LlmReply): boolean {
  return reply.raw !== undefined || reply.rawPieces !== undefined
}

function* bodyOf(reply: LlmReply, request: LlmRequest): Generator<{ bytes: Buffer; counted: boolean }> {
  if (isRaw(reply)) {
    const pieces = reply.rawPieces ?? [reply.raw!]
    for (const piece of pieces) yield { bytes: Buffer.from(piece), counted: true }
    return
  }
  const options = request.body.stream_options as { include_usage?: boolean } | undefined
  const frames = framesOf(reply, { model: request.body.model, usageWanted: options?.include_usage === true })
  for (const { data, counted } of frames) yield { bytes: Buffer.from(`data: ${data}\n\n`), counted }
}

/** Each write becomes a chunk of its own in the chunked body, so the client's decoder sees the cuts. */
async function write(res: ServerResponse, bytes: Buffer, split = bytes.length || 1): Promise<void> {
  for (let at = 0; at < bytes.length; at += split) {
    if (res.destroyed) return
    if (!res.write(bytes.subarray(at, at + split))) {
      await new Promise<void>((resolve) => {
        res.once('drain', resolve)
        res.once('close', resolve)
      })
    }
  }
}

function sendJson(res: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  res.writeHead(status, { 'content-type': 'application/json', ...headers })
  res.end(typeof body === 'string' ? body : JSON.stringify(body))
}

function errorBody(message: string, code: string | null, param: string | null = null): object {
  return { error: { message, type: 'invalid_request_error', param, code } }
}

async function readBody(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

function textOf(message: WireMessage | undefined): string {
  const content: unknown = message?.content
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part: { text?: string }) => part.text ?? '').join('')
}
