import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  ErrorCode,
  type JSONRPCMessage,
  McpError,
  type RequestId,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { messageOf } from '../shared/errors.ts'
import { type McpResult, McpResultSchema } from './mcpResult.ts'

/** What a connection needs beyond the SDK's `Transport`. */
export interface McpTransport extends Transport {
  /** False as soon as nothing sent would arrive. */
  alive(): boolean
  /** Why it ended, where that is known. */
  ending(): string | undefined
}

/** A tool as a server describes it; read loosely, because one odd description must not cost all tools of the server. */
const ListedTool = z.looseObject({
  name: z.string(),
  title: z.string().optional().catch(undefined),
  description: z.string().optional().catch(undefined),
  inputSchema: z.unknown().optional(),
  annotations: z
    .looseObject({
      title: z.string().optional().catch(undefined),
      readOnlyHint: z.boolean().optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
})
export type ListedTool = z.infer<typeof ListedTool>
const ToolList = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional().catch(undefined) })

/** Longest list of tools that is read, in pages; a server may send cursors for ever. */
const MOST_PAGES = 50
/** The longest time a timer takes. Calls have a limit of their own, which progress renews. */
const NEVER_MS = 2 ** 31 - 1

/**
 * Why a call brought no result:
 * - `notSent`: the server has not seen it; it may be made again
 * - `refused`: the server answered that it did not run it
 * - `unknown`: it was sent, and whether it took effect can't be known; it must not be repeated unasked
 */
export class McpCallError extends Error {
  readonly kind: 'notSent' | 'refused' | 'unknown'
  constructor(kind: McpCallError['kind'], message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'McpCallError'
    this.kind = kind
  }
}

/** One live connection to a server, after the handshake. */
export interface McpConnection {
  alive(): boolean
  listTools(): Promise<ListedTool[]>
  /** Rejects with `McpCallError`. `silenceMs`: how long neither an answer nor news of progress may come. */
  callTool(name: string, args: unknown, options: { signal: AbortSignal; silenceMs: number }): Promise<McpResult>
  close(): Promise<void>
}

export interface ConnectionOptions {
  transport: McpTransport
  clientVersion: string
  /** Limit for the handshake, and for each page of the tool list, in milliseconds. */
  timeoutMs: number
  onToolsChanged: () => void
  /** The connection was lost; not called for `close`. */
  onLost: (reason: string) => void
  /** Something odd that ends nothing, such as a line that is no message. */
  onOddity: (error: Error) => void
}

/** Connects and shakes hands. Rejects with a reason for people; nothing is left running then. */
export async function openConnection(options: ConnectionOptions): Promise<McpConnection> {
  const { transport, timeoutMs } = options
  const client = new Client({ name: 'toycoder', version: options.clientVersion })
  let closing = false
  client.onerror = options.onOddity
  client.setNotificationHandler(ToolListChangedNotificationSchema, options.onToolsChanged)
  try {
    await client.connect(transport, { timeout: timeoutMs })
  } catch (error) {
    await transport.close()
    throw new Error(transportReason(error, timeoutMs), { cause: error })
  }
  client.onclose = () => closing || options.onLost(transport.ending() ?? 'the connection was lost')

  function transportReason(error: unknown, afterMs: number): string {
    if (codeOf(error) === ErrorCode.RequestTimeout) return `no answer within ${afterMs / 1_000} s`
    return transport.ending() ?? reasonOf(error)
  }

  async function listTools(): Promise<ListedTool[]> {
    const tools: unknown[] = []
    let cursor: string | undefined
    for (let page = 0; page < MOST_PAGES; page++) {
      const params = cursor === undefined ? {} : { cursor }
      const list = await client.request({ method: 'tools/list', params }, ToolList, { timeout: timeoutMs })
      tools.push(...list.tools)
      if (!list.nextCursor || list.nextCursor === cursor) break
      cursor = list.nextCursor
    }
    return tools.flatMap((tool) => ListedTool.safeParse(tool).data ?? [])
  }

  return {
    alive: () => !closing && transport.alive(),

    async listTools() {
      try {
        return await listTools()
      } catch (error) {
        // A server without tools need not know the question.
        if (codeOf(error) === ErrorCode.MethodNotFound) return []
        throw new Error(`its tools could not be listed: ${transportReason(error, timeoutMs)}`, { cause: error })
      }
    },

    async callTool(name, args, { signal, silenceMs }) {
      if (signal.aborted) throw new McpCallError('notSent', 'stopped before it was sent')
      // A controller of its own: the SDK never stops listening to a signal, and would cancel calls that have ended.
      const call = new AbortController()
      const stop = () => call.abort(signal.reason)
      signal.addEventListener('abort', stop, { once: true })
      const silence = setTimeout(() => call.abort(new Silence()), silenceMs)
      try {
        return await client.request(
          { method: 'tools/call', params: { name, arguments: args as Record<string, unknown> } },
          McpResultSchema,
          { signal: call.signal, timeout: NEVER_MS, onprogress: () => silence.refresh() },
        )
      } catch (error) {
        throw callError(error, call.signal, silenceMs, transport)
      } finally {
        clearTimeout(silence)
        signal.removeEventListener('abort', stop)
      }
    },

    async close() {
      closing = true
      await transport.close()
    },
  }
}

/** The answer to a request whose real one will never come, for transports that find that out. */
export function lostAnswer(id: RequestId): JSONRPCMessage {
  return { jsonrpc: '2.0', id, error: { code: ErrorCode.ConnectionClosed, message: 'Connection closed', data: LOST } }
}
/** Tells our own answer from that of a server, which may use any code and text. */
const LOST = Object.freeze({ lost: true })

class Silence extends Error {}

const IN_DOUBT =
  'It may or may not have taken effect, so it was not repeated. Find out what is the case before you call it again.'

function callError(error: unknown, stopped: AbortSignal, silenceMs: number, transport: McpTransport): McpCallError {
  const unknown = (what: string) => new McpCallError('unknown', `${what}. ${IN_DOUBT}`, error)
  if (stopped.aborted) {
    return stopped.reason instanceof Silence
      ? unknown(`the server did not answer within ${silenceMs / 1_000} s and was told to stop`)
      : unknown('stopped before the server answered; it was told to stop')
  }
  if (error instanceof McpError) {
    const lost = error.data === LOST || (error.code === ErrorCode.ConnectionClosed && !transport.alive())
    if (lost) return unknown(`the connection was lost after the call was sent${because(transport.ending())}`)
    const details = error.data === undefined ? '' : `\n${JSON.stringify(error.data)}`
    const text = error.message.replace(/^MCP error -?\d+: /, '')
    return new McpCallError('refused', `the server refused the call: ${text} (code ${error.code})${details}`, error)
  }
  if (error instanceof z.ZodError) return unknown('the server answered in a form that can not be read')
  return transportError(error, transport.sessionId !== undefined, unknown)
}

/** What went wrong on the way to the server. */
function transportError(error: unknown, inSession: boolean, unknown: (what: string) => McpCallError): McpCallError {
  const status = codeOf(error)
  if (messageOf(error) === 'Not connected' || NOT_REACHED.has(networkCodeOf(error))) {
    return new McpCallError('notSent', reasonOf(error), error)
  }
  // The session is not known any more (servers say 400 or 404 after a restart): the call was not looked at.
  if (inSession && (status === 400 || status === 404)) return new McpCallError('notSent', reasonOf(error), error)
  if (typeof status === 'number' && status >= 400 && status < 500) {
    const hint = status === 401 || status === 403 ? ': the headers in its configuration do not let the bot in' : ''
    return new McpCallError('refused', `the server refused the call with status ${status}${hint}`, error)
  }
  return unknown(`sending failed${because(reasonOf(error))}`)
}

/** Failures of the network that come before anything was sent. */
const NOT_REACHED = new Set<unknown>(
  'ECONNREFUSED ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH UND_ERR_CONNECT_TIMEOUT'.split(' '),
)

function because(reason: string | undefined): string {
  return reason ? ` (${reason})` : ''
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code
}

function networkCodeOf(error: unknown): unknown {
  return codeOf((error as { cause?: unknown } | null)?.cause)
}

/** A reason for people; `fetch failed` alone says nothing. */
function reasonOf(error: unknown): string {
  const code = networkCodeOf(error)
  return typeof code === 'string' ? `${messageOf(error)}: ${code}` : messageOf(error)
}
