import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import type { Log } from '../../src/shared/log.ts'
import type { McpServerSettings } from '../../src/tool/mcpSettings.ts'
import { type LoadMcpOptions, loadMcpTools, type McpTools } from '../../src/tool/mcpTools.ts'
import type { ToolContext } from '../../src/tool/tool.ts'
import { ToolManager } from '../../src/tool/toolManager.ts'

export interface Loaded {
  mcp: McpTools
  manager: ToolManager
  /** Warnings, with the server's name in front. */
  warnings: string[]
  /** The text of a call's observation. */
  call(name: string, args?: object, signal?: AbortSignal): Promise<{ text: string; failed: boolean }>
}

/** Servers as the bot loads them; closed when the test has ended. */
export async function load(
  servers: Record<string, McpServerSettings>,
  options: Partial<Omit<LoadMcpOptions, 'servers'>> = {},
): Promise<Loaded> {
  const warnings: string[] = []
  const mcp = await loadMcpTools({ servers, log: recording(warnings), ...options })
  onTestFinished(() => mcp.close())
  const manager = new ToolManager({ ...(options.keeper && { keeper: options.keeper }) })
  manager.addSource(mcp)
  return {
    mcp,
    manager,
    warnings,
    async call(name, args = {}, signal = new AbortController().signal) {
      const outcome = await manager.dispatch(name, JSON.stringify(args), context(signal))
      if (outcome.kind !== 'observation') throw new Error('the call waits for people')
      return outcome
    },
  }
}

export function offered({ manager }: Loaded): string[] {
  return manager.toOpenAISchema().map((tool) => tool.function.name)
}

function context(signal: AbortSignal): ToolContext {
  return { signal, callKey: 't/1/0', threadKey: 't', requester: null, workspace: '/' }
}

function recording(warnings: string[], fields: object = {}): Log {
  const warn = (more: object, message: string) => {
    const { mcpServer = '' } = { ...fields, ...more } as { mcpServer?: string }
    warnings.push(`${mcpServer}: ${message} ${JSON.stringify(more)}`)
  }
  return { debug() {}, info() {}, warn, error: warn, child: (more) => recording(warnings, { ...fields, ...more }) }
}

/** A folder that is gone after the test. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'toycoder-mcp-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** What a scripted server noted: one line for each thing, without the process id. */
export interface Diary {
  path: string
  lines(): string[]
  /** Ids of the server processes and of their children. */
  processes(): number[]
}

export function diary(): Diary {
  const path = join(folder(), 'diary')
  const read = () => {
    try {
      return readFileSync(path, 'utf8').trim().split('\n')
    } catch {
      return []
    }
  }
  return {
    path,
    lines: () => read().map((line) => line.replace(/^\d+ /, '')),
    processes: () => [
      ...new Set(
        read().flatMap((line) =>
          [Number(line.split(' ')[0]), Number(/grandchild (\d+)/.exec(line)?.[1])].filter(Boolean),
        ),
      ),
    ],
  }
}

/** Resolves when it is true; fails after ten seconds. */
export async function until(what: () => boolean): Promise<void> {
  await expect.poll(what, { timeout: 10_000, interval: 20 }).toBe(true)
}

/** False for a process that has ended, also while nobody has collected its exit code. */
export function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
