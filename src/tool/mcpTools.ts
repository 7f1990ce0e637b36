import type { Log } from '../shared/log.ts'
import { namePrefix, outwardNames } from './mcpNames.ts'
import { type KeepBytes, resultText } from './mcpResult.ts'
import type { McpServer, McpToolDefinition } from './mcpServer.ts'
import { DEFAULT_TIMES, type McpServerSettings, type McpTimes } from './mcpSettings.ts'
import type { PermissionLevel } from './permission.ts'
import { READ_RESULT, type ResultKeeper } from './resultKeeper.ts'
import type { Tool, ToolContext, ToolSource } from './tool.ts'

/** Longest description that some models of OpenAI take, in characters (facts/llm.md, c 7). */
const LONGEST_DESCRIPTION = 1_024
/** Most tools of all servers together: OpenAI takes 128, and the bot has some of its own. */
const MOST_TOOLS = 100
/** Larger things are not put into the store, in bytes. */
const LARGEST_KEPT = 4_000_000

export interface LoadMcpOptions {
  servers: Readonly<Record<string, McpServerSettings>>
  log: Log
  /** Masks secrets in what the log and the status quote from servers. Default: nothing is masked. */
  mask?: (text: string) => string
  /** Keeps images and other bytes that come in results. Without one they are named only. */
  keeper?: ResultKeeper
  /** What the servers are told of us. Default `0`. */
  clientVersion?: string
  times?: Partial<McpTimes>
}

export interface McpServerStatus {
  server: string
  up: boolean
  /** Why it is down, for admins. */
  reason?: string
  /** How many tools it offers, while it is down too if a call would start it again. */
  tools: number
}

/** The tools of all configured MCP servers, for `ToolManager.addSource`; one for all threads. */
export interface McpTools extends ToolSource {
  status(): McpServerStatus[]
  /** Ends all connections and server processes, what these started too. Takes up to three times `graceMs`. */
  close(): Promise<void>
}

/**
 * Connects all configured servers at the same time and offers their tools. Never rejects and takes at most `startMs`: servers
 * that fail or need longer are marked down with one log line each, tried again with growing pauses, and join when they come.
 */
export async function loadMcpTools(options: LoadMcpOptions): Promise<McpTools> {
  const times = { ...DEFAULT_TIMES, ...options.times }
  const entries = Object.entries(options.servers)
  let offered: Tool[] = []
  let warnedAt = 0
  const servers: McpServer[] = []

  if (entries.length > 0) {
    // Only now, because the SDK takes a second to load on a small machine.
    const { createMcpServer } = await import('./mcpServer.ts')
    for (const [name, settings] of entries) {
      const log = options.log.child({ mcpServer: name })
      const { clientVersion = '0', mask = (text: string) => text } = options
      servers.push(createMcpServer({ name, settings, times, clientVersion, log, mask, onChange: collect }))
    }
    await Promise.all(servers.map((server) => server.start()))
  }

  function collect(): void {
    const all = servers.flatMap((server) => server.definitions().map((definition) => ({ server, definition })))
    const most = all.slice(0, MOST_TOOLS)
    if (all.length > MOST_TOOLS && all.length !== warnedAt) {
      options.log.warn({ tools: all.length, offered: MOST_TOOLS }, 'too many MCP tools; the last ones are left out')
      warnedAt = all.length
    }
    const names = outwardNames(most.map(({ server, definition }) => ({ server: server.name, tool: definition.name })))
    offered = most.map(({ server, definition }, at) => mcpTool(names[at]!, server, definition, options.keeper))
  }

  return {
    tools: () => offered,

    absence(name) {
      const server = servers.find((one) => name.startsWith(namePrefix(one.name)))
      if (!server) return undefined
      const { reason } = server.status()
      return reason === undefined
        ? `the MCP server "${server.name}" does not offer the tool "${name}" (any more)`
        : `the MCP server "${server.name}" is down, so its tool "${name}" can't be called now`
    },

    status: () =>
      servers.map((server) => ({ server: server.name, ...server.status(), tools: server.definitions().length })),

    async close() {
      await Promise.all(servers.map((server) => server.close()))
    },
  }
}

/** A tool of an MCP server behind the interface of all tools. */
function mcpTool(
  name: string,
  server: McpServer,
  definition: McpToolDefinition,
  keeper: ResultKeeper | undefined,
): Tool {
  return {
    name,
    description: shortened(
      definition.description || `The tool "${definition.name}" of the MCP server "${server.name}".`,
    ),
    parameters: definition.parameters,
    permission: permissionOf(server.settings, definition),
    async invoke(args, context) {
      return resultText(await server.call(definition.name, args, context.signal), keepIn(keeper, context))
    },
  }
}

function permissionOf(settings: McpServerSettings, { name, readOnly }: McpToolDefinition): PermissionLevel {
  const { tools, permission } = settings
  if (Object.hasOwn(tools, name)) return tools[name]!
  return (readOnly ? settings.readOnly : undefined) ?? permission
}

function keepIn(keeper: ResultKeeper | undefined, context: ToolContext): KeepBytes {
  return async (bytes, mimeType) => {
    if (!keeper || bytes.length === 0 || bytes.length > LARGEST_KEPT) return undefined
    const id = await keeper.keep(`data:${mimeType};base64,${bytes.toString('base64')}`, context)
    return `"${id}", which ${READ_RESULT} gives as base64`
  }
}

function shortened(description: string): string {
  const text = description.toWellFormed()
  return text.length <= LONGEST_DESCRIPTION ? text : `${text.slice(0, LONGEST_DESCRIPTION - 1)}…`.toWellFormed()
}
