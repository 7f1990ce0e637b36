import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Fields } from './world.ts'

/** A refusal in Slack's manner: HTTP 200 with `ok: false` and this code. */
export class Refusal extends Error {
  readonly code: string
  readonly extra: Fields
  constructor(code: string, extra: Fields = {}) {
    super(code)
    this.code = code
    this.extra = extra
  }
}

export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** Arguments that travel as JSON text in a form. */
const JSON_ARGUMENTS = new Set(['blocks', 'attachments', 'metadata', 'files', 'chunks', 'view', 'loading_messages'])

/** The arguments of a call: a form, a multipart form, or JSON. */
export async function readArguments(request: IncomingMessage, body: Buffer): Promise<Fields> {
  const type = request.headers['content-type'] ?? ''
  if (type.startsWith('application/json')) {
    try {
      return JSON.parse(body.toString()) as Fields
    } catch {
      throw new Refusal('invalid_json')
    }
  }
  const entries = type.startsWith('multipart/form-data')
    ? await multipart(type, body)
    : Object.fromEntries(new URLSearchParams(body.toString()))
  return Object.fromEntries(Object.entries(entries).map(([name, value]) => [name, decode(name, value)]))
}

async function multipart(type: string, body: Buffer): Promise<Record<string, unknown>> {
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData()
  const entries: Record<string, unknown> = {}
  for (const [name, value] of form) {
    entries[name] = typeof value === 'string' ? value : Buffer.from(await value.arrayBuffer())
  }
  return entries
}

function decode(name: string, value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (value === 'true' || value === 'false') return value === 'true'
  if (!JSON_ARGUMENTS.has(name)) return value
  try {
    return JSON.parse(value)
  } catch {
    throw new Refusal(name === 'blocks' ? 'invalid_blocks_format' : 'invalid_arguments')
  }
}

export function answerJson(response: ServerResponse, body: Fields, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', ...headers })
  response.end(JSON.stringify(body))
}

export function text(args: Fields, name: string): string | undefined {
  const value = args[name]
  if (value === undefined || value === '') return undefined
  if (typeof value === 'object' || typeof value === 'boolean') invalid(`${name} must be a string`, name)
  return String(value)
}

export function required(args: Fields, name: string): string {
  const value = text(args, name)
  if (value === undefined) throw new Refusal('invalid_arguments', messages(`missing required field: ${name}`))
  return value
}

export function invalid(what: string, name: string): never {
  throw new Refusal('invalid_arguments', messages(`${what} [json-pointer:/${name}]`))
}

export function messages(...lines: string[]): Fields {
  return { response_metadata: { messages: lines.map((line) => `[ERROR] ${line}`) } }
}
