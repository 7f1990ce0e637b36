import { setTimeout as delay } from 'node:timers/promises'
import { messageOf } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import type { JsonSchemaParameters } from './arguments.ts'
import { type ListedTool, McpCallError, type McpConnection, openConnection } from './mcpConnection.ts'
import { createHttpTransport } from './mcpHttp.ts'
import { createProcessTransport } from './mcpProcess.ts'
import type { McpResult } from './mcpResult.ts'
import { parametersOf } from './mcpSchema.ts'
import type { McpServerSettings, McpTimes } from './mcpSettings.ts'

/** A tool that a server offers and models can be told of. */
export interface McpToolDefinition {
  /** As the server knows it. */
  name: string
  description: string
  parameters: JsonSchemaParameters
  /** The server's own word for it, not to be trusted unless somebody decided to. */
  readOnly: boolean
}

export interface McpServerOptions {
  name: string
  settings: McpServerSettings
  times: McpTimes
  clientVersion: string
  log: Log
  mask: (text: string) => string
  /** The offered tools may be others now. */
  onChange: () => void
}

/** One configured server over all its connections: connected again when needed, with its tools as last seen. */
export interface McpServer {
  readonly name: string
  readonly settings: McpServerSettings
  /** Those of the last connection, also while there is none: a call connects again. */
  definitions(): readonly McpToolDefinition[]
  /** `reason` says why there is no connection; absent while there is one. */
  status(): { up: boolean; reason?: string }
  /** The first attempt to connect; resolves when it has succeeded or failed. */
  start(): Promise<void>
  /** Calls a tool by its own name. Rejects with a text for the model. */
  call(tool: string, args: unknown, signal: AbortSignal): Promise<McpResult>
  close(): Promise<void>
}

export function createMcpServer(options: McpServerOptions): McpServer {
  const { name, settings, times, clientVersion, log, mask, onChange } = options
  let definitions: readonly McpToolDefinition[] = []
  let live: Live | undefined
  let attempt: Promise<Live> | undefined
  let failures = 0
  let retry: NodeJS.Timeout | undefined
  /** Why there is no connection. */
  let down: string | undefined = 'it has not answered yet'
  /** Whether the log says already that it is down. */
  let saidDown = false
  /** The last warning about tools left out, so that it is not said again at every connection. */
  let saidLeftOut = ''
  let closed = false
  /** Everything that is to be ended with the bot: connections, attempts, and processes on their way out. */
  const open = new Set<() => Promise<void>>()

  function connected(): Promise<Live> {
    if (closed) return Promise.reject(new Error('the bot is being stopped'))
    if (live?.connection.alive()) return Promise.resolve(live)
    attempt ??= connect().finally(() => {
      attempt = undefined
    })
    return attempt
  }

  async function connect(): Promise<Live> {
    clearTimeout(retry)
    const transport = settings.kind === 'http' ? createHttpTransport(settings) : processTransport(settings)
    const end = () => transport.close().finally(() => open.delete(end))
    open.add(end)
    let made: Live | undefined
    try {
      const connection = await openConnection({
        transport,
        clientVersion,
        timeoutMs: times.connectMs,
        // Before the first list is read there is nothing to read again.
        onToolsChanged: () => made && void refresh(made),
        onLost(reason) {
          void end()
          if (made) lost(made, reason)
        },
        onOddity: (error) => log.debug({ reason: mask(error.message) }, 'MCP server: something odd'),
      })
      offer(await connection.listTools())
      if (closed) throw new Error('the bot is being stopped')
      made = { connection, end }
      return succeeded(made)
    } catch (error) {
      await end()
      failed(messageOf(error))
      throw error
    }
  }

  function processTransport(command: Extract<McpServerSettings, { kind: 'command' }>) {
    const onLogLine = (line: string) => log.debug({ line: mask(line) }, 'MCP server says')
    return createProcessTransport({ ...command, graceMs: times.graceMs, onLogLine })
  }

  function succeeded(made: Live): Live {
    live = made
    failures = 0
    log.info({ tools: definitions.length }, 'MCP server is up')
    down = undefined
    saidDown = false
    onChange()
    return made
  }

  /** Marks the server down, with one line in the log however often it fails from then on. */
  function markDown(reason: string): void {
    if (closed) return
    down = mask(reason)
    if (!saidDown) log.warn({ reason: down }, 'MCP server is down; going on without it')
    saidDown = true
  }

  /** An attempt failed; the next one comes later and later, or with the next call. */
  function failed(reason: string): void {
    markDown(reason)
    if (closed) return
    const pause = Math.min(times.retryMs * 2 ** failures++, times.longestRetryMs)
    retry = setTimeout(() => void connected().catch(() => {}), pause)
    retry.unref()
  }

  /** A working connection ended by itself. Nobody waits for it now, so it is for the next call to connect again. */
  function lost(which: Live, reason: string): void {
    if (closed || live !== which) return
    live = undefined
    down = mask(reason)
    log.warn({ reason: down }, 'MCP server has ended; the next call starts it again')
  }

  let refreshing: Promise<void> | undefined
  let stale = false
  async function refresh({ connection }: Live): Promise<void> {
    stale = true
    refreshing ??= (async () => {
      while (stale) {
        stale = false
        offer(await connection.listTools())
        onChange()
      }
    })()
      .catch((error) =>
        log.warn({ reason: mask(messageOf(error)) }, 'the changed tools of the MCP server could not be read'),
      )
      .finally(() => {
        refreshing = undefined
      })
    await refreshing
  }

  function offer(listed: readonly ListedTool[]): void {
    const { offered, leftOut } = sorted(listed)
    definitions = offered
    const leftOutNow = leftOut.join('\n')
    if (leftOut.length > 0 && leftOutNow !== saidLeftOut) {
      log.warn({ leftOut }, 'tools of the MCP server that no model API would take')
    }
    saidLeftOut = leftOutNow
  }

  function said(problem: string, cause: unknown): Error {
    return new Error(`MCP server "${name}": ${problem}`, { cause })
  }

  return {
    name,
    settings,
    definitions: () => definitions,
    status: () => (down === undefined ? { up: true } : { up: false, reason: down }),

    async start() {
      const waited = new AbortController()
      const tooLong = delay(times.startMs, 'too long' as const, { signal: waited.signal })
      const first = connected().catch(() => {})
      if ((await Promise.race([first, tooLong])) === 'too long') {
        markDown(`no answer within ${times.startMs / 1_000} s, still waiting`)
      }
      waited.abort()
    },

    async call(tool, args, signal) {
      for (let tried: Live | undefined; ; ) {
        const used = await unlessStopped(connected(), signal).catch((error) => {
          throw said(`it can't be reached, so the call was not made: ${messageOf(error)}`, error)
        })
        try {
          return await used.connection.callTool(tool, args, { signal, silenceMs: times.silenceMs })
        } catch (error) {
          const notSent = error instanceof McpCallError && error.kind === 'notSent'
          if (!notSent || tried || signal.aborted) throw said(messageOf(error), error)
        }
        // The server has not seen the call; a new connection may reach it.
        tried = used
        if (live === used) live = undefined
        void used.end()
      }
    },

    async close() {
      closed = true
      clearTimeout(retry)
      await Promise.all([...open].map((end) => end()))
      await attempt?.catch(() => {})
    },
  }
}

interface Live {
  connection: McpConnection
  end(): Promise<void>
}

/** What can be offered of a list, and what not, with the reasons. A name that comes twice counts once. */
function sorted(listed: readonly ListedTool[]): { offered: McpToolDefinition[]; leftOut: string[] } {
  const offered = new Map<string, McpToolDefinition>()
  const leftOut: string[] = []
  for (const { name, title, description, inputSchema, annotations } of listed) {
    if (offered.has(name)) continue
    const parameters = parametersOf(inputSchema)
    if ('hopeless' in parameters) {
      leftOut.push(`${name}: ${parameters.hopeless}`)
      continue
    }
    const text = description ?? title ?? annotations?.title ?? ''
    offered.set(name, { name, description: text, parameters, readOnly: annotations?.readOnlyHint === true })
  }
  return { offered: [...offered.values()], leftOut }
}

/** What is waited for, or an error once the run is stopped. The waiting itself goes on for others. */
async function unlessStopped<T>(waiting: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const stop = () => reject(new Error('stopped while connecting'))
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    return await Promise.race([waiting, promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
