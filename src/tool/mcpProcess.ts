import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { ReadBuffer, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js'
import type { McpTransport } from './mcpConnection.ts'

/**
 * What a server gets of the bot's environment; everything else, tokens above all, stays away from it (case SH-06). What it
 * needs beyond that stands in its `env`. A server of the same user can still read `/proc/PID/environ` of the bot: only
 * another user or a sandbox keeps that from it.
 */
const INHERITED = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TERM', 'TMPDIR', 'TZ'],
  ...['LANG', 'LC_ALL', 'LC_CTYPE'],
]

/** How much of what a server wrote to standard error is remembered for the reason of its end, in characters. */
const LAST_WORDS = 500
/** How long output may come in after a server has exited, such as an answer sent right before, in milliseconds. */
const DRAIN_MS = 500

export interface ProcessOptions {
  command: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
  /** Working folder. Default: that of the bot. */
  cwd?: string
  /** Gets each line the server writes to standard error, where servers keep their log. */
  onLogLine?: (line: string) => void
  /** How long each step of closing waits before the next, harder one, in milliseconds. Default 2,000. */
  graceMs?: number
}

/**
 * An MCP server as a child process, spoken to over its standard input and output, one JSON message a line. Unlike the SDK's own
 * transport it has a process group of its own, so that closing reaches what it started too (`npx` starts a shell, which starts
 * the server). If the bot dies without closing, its end of the pipes closes, and servers end by that (case SD-07).
 */
export function createProcessTransport(options: ProcessOptions): McpTransport {
  const { command, args, graceMs = 2_000 } = options
  const buffer = new ReadBuffer()
  let child: ChildProcessWithoutNullStreams | undefined
  let ending: string | undefined
  let lastWords = ''
  let cleaned: Promise<void> | undefined

  const transport: McpTransport = {
    alive: () => child !== undefined && ending === undefined,
    ending: () => ending && (lastWords.trim() ? `${ending}; its last words: ${lastWords.trim()}` : ending),

    async start() {
      if (ending !== undefined) throw new Error(ending)
      const env = { ...inherited(), ...options.env }
      const started = spawn(command, args, { env, cwd: options.cwd, stdio: 'pipe', detached: true })
      child = started
      started.stdout.on('data', read)
      // A pipe that breaks shows as the end of the process; unheard, its error would end the bot.
      for (const stream of [started.stdin, started.stdout, started.stderr]) stream.on('error', report)
      createInterface({ input: started.stderr }).on('line', (line) => {
        lastWords = `${lastWords}\n${line}`.slice(-LAST_WORDS)
        options.onLogLine?.(line)
      })
      try {
        await once(started, 'spawn')
      } catch (error) {
        ending = (error as NodeJS.ErrnoException).code === 'ENOENT' ? notFound() : String(error)
        throw new Error(ending, { cause: error })
      }
      started.on('error', report)
      started.on('exit', (code, signal) => void exited(started, signal ? `signal ${signal}` : `exit code ${code}`))
      // A server that dies closes its input too, a little before its exit is known.
      const deaf = () => started.exitCode === null && finish('it closed its standard input')
      started.stdin.on('close', () => setTimeout(deaf, DRAIN_MS).unref())
    },

    async send(message) {
      if (!child || !transport.alive()) throw new Error('Not connected')
      if (!child.stdin.write(serializeMessage(message))) await drained(child)
    },

    async close() {
      ending ??= 'it was closed'
      await cleanUp()
    },
  }

  function read(chunk: Buffer): void {
    try {
      buffer.append(chunk)
    } catch {
      finish('it sent a message that is too long')
      return
    }
    for (;;) {
      try {
        const message = buffer.readMessage()
        if (message === null) return
        transport.onmessage?.(message)
      } catch (error) {
        // A line that is no message: many servers print greetings. The next line may be one.
        report(error as Error)
      }
    }
  }

  function report(error: Error): void {
    transport.onerror?.(error)
  }

  function notFound(): string {
    return `the command "${command}" or its working folder was not found`
  }

  async function exited(process: ChildProcessWithoutNullStreams, how: string): Promise<void> {
    ending ??= `it ended with ${how}`
    if (!process.stdout.closed) {
      const drain = new AbortController()
      await Promise.race([once(process, 'close', drain), delay(DRAIN_MS, undefined, drain)]).catch(() => {})
      drain.abort()
    }
    await cleanUp()
  }

  function finish(reason: string): void {
    ending ??= reason
    void cleanUp()
  }

  /** Ends the whole process group, softly first; the connection counts as closed at once. */
  function cleanUp(): Promise<void> {
    cleaned ??= endGroup().finally(() => buffer.clear())
    return cleaned
  }

  async function endGroup(): Promise<void> {
    const leader = child?.pid
    queueMicrotask(() => transport.onclose?.())
    if (!child || !leader) return
    child.stdin.end()
    if (await groupEnds(leader, graceMs)) return
    signalGroup(leader, 'SIGTERM')
    if (await groupEnds(leader, graceMs)) return
    signalGroup(leader, 'SIGKILL')
    await groupEnds(leader, graceMs)
  }

  return transport
}

function inherited(): Record<string, string> {
  // A value that starts with `()` is an exported shell function.
  return Object.fromEntries(
    INHERITED.flatMap((name) => {
      const value = process.env[name]
      return value === undefined || value.startsWith('()') ? [] : [[name, value]]
    }),
  )
}

/** Resolves when the pipe takes more, or is closed. */
async function drained({ stdin }: ChildProcessWithoutNullStreams): Promise<void> {
  const either = new AbortController()
  await Promise.race([once(stdin, 'drain', either), once(stdin, 'close', either)]).catch(() => {})
  either.abort()
}

/** True when no process of the group is left within `withinMs`; nothing tells of the end of a grandchild, so this looks. */
async function groupEnds(group: number, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs
  while (signalGroup(group, 0)) {
    if (performance.now() >= end) return false
    await delay(20)
  }
  return true
}

/** False when there is no such group any more. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, signal)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
