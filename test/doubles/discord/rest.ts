import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError, refusals } from './apiError.ts'
import type { ApiRequest, Context } from './context.ts'
import type { createFaults, Fault } from './faults.ts'
import { mustSayWhomItRings, type UploadedFile } from './messageBody.ts'
import type { Counted, createRateLimits, RateVerdict } from './rateLimits.ts'
import { routes } from './routes.ts'

/** One request, as tests look at it afterwards. */
export interface RecordedRequest {
  method: string
  /** With ids as `:id`. */
  route: string
  path: string
  body: Record<string, unknown>
  files: string[]
  status: number
  at: number
}

export interface RestOptions {
  token: string
  context: Context
  faults: ReturnType<typeof createFaults>
  limits: ReturnType<typeof createRateLimits> | undefined
  anyClient: boolean
  record: (request: RecordedRequest) => void
  /** Routes of the requests that are not answered yet. */
  underWay: string[]
}

const EDIT = 'PATCH /channels/:id/messages/:id'
/** From this age on, edits of a message are limited more. */
const OLD_MS = 3_600_000
const REQUEST_BYTES = 25 * 1024 * 1024

/** Serves `/api/v10`: headers, rate limits, faults, then the route. */
export async function serveApi(request: IncomingMessage, response: ServerResponse, options: RestOptions) {
  const { context, faults, limits } = options
  const url = new URL(request.url ?? '/', 'http://double')
  const method = request.method ?? 'GET'
  const path = url.pathname.replace(/^\/api\/v10/, '')
  const raw = await readAll(request)
  const matched = match(method, path)
  const route = matched?.name ?? `${method} ${path}`
  const fault = faults.take(route)
  options.underWay.push(route)
  let limit: RateVerdict | undefined
  let answered: Answer
  let parsed: { body: Record<string, unknown>; files: UploadedFile[] } = { body: {}, files: [] }
  try {
    if (!url.pathname.startsWith('/api/v10/')) throw refusals.unknownRoute()
    if (!matched) throw refusals.unknownRoute()
    checkHeaders(request, options, matched.withoutToken)
    parsed = await parseBody(request, raw)
    if (!options.anyClient) mustSayWhomItRings(parsed.body)
    limit = limits?.take(
      route,
      path.split('/').slice(1, 3).join('/'),
      countedAs(context, route, matched.params, parsed.body),
    )
    if (limit?.retryAfter !== undefined) answered = rateLimited(limit.retryAfter, limit.global, limit.code)
    else if (fault && !fault.after && isRefusal(fault)) answered = await misbehave(fault)
    else {
      if (fault?.delayMs && !fault.after) await sleep(fault.delayMs)
      const asked: ApiRequest = {
        params: matched.params,
        query: url.searchParams,
        ...parsed,
        invisibleForMs: fault?.invisibleForMs ?? 0,
      }
      const value = await matched.handler(context, asked)
      if (fault?.after && fault.delayMs) await sleep(fault.delayMs)
      answered =
        fault?.after && isRefusal(fault) ? await misbehave(fault) : { status: value === undefined ? 204 : 200, value }
    }
  } catch (error) {
    answered = error instanceof ApiError ? { status: error.status, value: error.body() } : brokenDouble(error)
  }
  options.underWay.splice(options.underWay.indexOf(route), 1)
  const { body, files } = parsed
  const names = files.map(({ name }) => name)
  options.record({ method, route, path, body, files: names, status: answered.status, at: context.world.now() })
  if (answered.status === 0) return // hangs: the client gives up
  respond(response, answered, limit?.headers ?? {})
}

function countedAs({ world }: Context, route: string, params: string[], body: Record<string, unknown>): Counted {
  const edited = route === EDIT ? world.find(params[0]!, params[1]!)?.message : undefined
  return {
    editsOldMessage: edited !== undefined && world.now() - Date.parse(edited.timestamp) > OLD_MS,
    renames: route === 'PATCH /channels/:id' && body.name !== undefined,
  }
}

interface Answer {
  status: number
  value?: unknown
  headers?: Record<string, string>
}

function isRefusal(fault: Fault): boolean {
  return fault.status !== undefined || fault.hang === true
}

async function misbehave(fault: Fault): Promise<Answer> {
  if (fault.hang) return { status: 0 }
  if (fault.status === 429) return rateLimited(fault.retryAfter ?? 1, false, fault.code)
  return {
    status: fault.status!,
    value: { code: fault.code ?? 0, message: fault.message ?? `${fault.status}: told to fail` },
  }
}

function rateLimited(retryAfter: number, global: boolean, code?: number): Answer {
  return {
    status: 429,
    value: {
      message: 'You are being rate limited.',
      retry_after: retryAfter,
      global,
      ...(code === undefined ? {} : { code }),
    },
    headers: { 'retry-after': String(Math.ceil(retryAfter)), 'x-ratelimit-scope': global ? 'global' : 'user' },
  }
}

/** A bug of the double shows as 500 with its stack, so that it is not taken for the program's. */
function brokenDouble(error: unknown): Answer {
  return {
    status: 500,
    value: { code: 0, message: error instanceof Error ? (error.stack ?? error.message) : String(error) },
  }
}

function respond(response: ServerResponse, answer: Answer, headers: Record<string, string>) {
  if (response.destroyed) return
  const body = answer.value === undefined ? undefined : JSON.stringify(answer.value)
  response.writeHead(answer.status, {
    ...headers,
    ...answer.headers,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  })
  response.end(body)
}

function checkHeaders(request: IncomingMessage, options: RestOptions, withoutToken: boolean) {
  const { token, anyClient } = options
  if (!anyClient && !/^DiscordBot \(.+,.+\)/.test(request.headers['user-agent'] ?? '')) {
    throw new ApiError(403, 40333, 'Internal network error: a bot names itself "DiscordBot (url, version)"')
  }
  if (!withoutToken && request.headers.authorization !== `Bot ${token}`) throw refusals.unauthorized()
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

async function parseBody(request: IncomingMessage, raw: Buffer) {
  if (raw.byteLength > REQUEST_BYTES) throw refusals.tooLarge()
  const type = request.headers['content-type'] ?? ''
  if (raw.byteLength === 0) return { body: {}, files: [] }
  if (!type.startsWith('multipart/form-data')) {
    if (!type.startsWith('application/json')) throw new ApiError(400, 50109, 'The request body contains invalid JSON.')
    const body = JSON.parse(String(raw)) as Record<string, unknown> | unknown[]
    return { body: Array.isArray(body) ? { list: body } : body, files: [] }
  }
  const form = await new Response(new Uint8Array(raw), { headers: { 'content-type': type } }).formData()
  const files: UploadedFile[] = []
  for (const [key, value] of form.entries()) {
    const index = /^files\[(\d+)\]$/.exec(key)
    if (!index || typeof value === 'string') continue
    const bytes = new Uint8Array(await value.arrayBuffer())
    files.push({ index: Number(index[1]), name: value.name, bytes, type: value.type || 'application/octet-stream' })
  }
  const json = form.get('payload_json')
  return { body: typeof json === 'string' ? (JSON.parse(json) as Record<string, unknown>) : {}, files }
}

function match(method: string, path: string) {
  for (const route of routes) {
    const params = route.method === method ? route.pattern.exec(path) : null
    if (params) return { ...route, params: params.slice(1) }
  }
  return undefined
}
