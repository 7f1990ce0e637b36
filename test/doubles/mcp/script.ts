import { join } from 'node:path'
import type { McpServerSettings } from '../../../src/tool/mcpSettings.ts'

/** What a call of a tool does; without an entry it answers `called NAME`. */
export type Act =
  | { result: unknown }
  | { error: { code: number; message: string; data?: unknown } }
  | { does: 'die' | 'answerAndDie' | 'nothing' | 'progress' | 'tellEnvironment' | 'addTool' }

export interface StdioScript {
  tools?: unknown[]
  calls?: Record<string, Act>
  /** File that gets one line for each thing that happens, the process id first. */
  diary?: string
  /** Tools on one page of the list; default all. */
  pageSize?: number
  /** Prints lines that are no messages first. */
  noise?: boolean
  /** Ignores the end of its input and SIGTERM. */
  stubborn?: boolean
  /** Starts a process of its own that lives for a minute. */
  grandchild?: boolean
  /** Written to standard error at the start. */
  lastWords?: string
}

export function tool(name: string, more: object = {}): object {
  return { name, description: `does ${name}`, inputSchema: { type: 'object', properties: {} }, ...more }
}

/** Settings of a server that follows the script. */
export function scripted(script: StdioScript, more: Partial<McpServerSettings> = {}): McpServerSettings {
  return command(process.execPath, [join(import.meta.dirname, 'stdioServer.ts')], {
    env: { MCP_DOUBLE: JSON.stringify(script) },
    ...more,
  })
}

export function command(name: string, args: string[] = [], more: object = {}): McpServerSettings {
  return { kind: 'command', command: name, args, env: {}, permission: 'safe', tools: {}, ...more }
}

export function http(url: string, more: Partial<McpServerSettings> = {}): McpServerSettings {
  return { kind: 'http', url, headers: {}, permission: 'safe', tools: {}, ...more } as McpServerSettings
}
