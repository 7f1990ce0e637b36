import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MAIN = join(import.meta.dirname, '../../src/main.ts')

/** The real program as a child process, in a folder of its own that survives restarts. */
export interface Program {
  /** Address of the web part, from what the start printed. */
  readonly url: string
  readonly pid: number
  stdout(): string
  stderr(): string
  /** SIGTERM; resolves to the exit code. */
  stop(): Promise<number | null>
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>
  /** Resolves when it ends by itself. */
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

export interface ProgramHome {
  folder: string
  start(env?: Record<string, string>): Promise<Program>
  /** Starts it and waits for it to end by itself: for starts that must fail. */
  startAndEnd(
    env?: Record<string, string>,
    args?: readonly string[],
  ): Promise<{ code: number | null; stdout: string; stderr: string }>
  remove(): Promise<void>
}

const START_LIMIT_MS = 30_000

/** Only what every process needs: a developer's own settings must not reach the program under test. */
function bareEnvironment(): Record<string, string> {
  const { PATH = '', HOME = '', TMPDIR } = process.env
  return { PATH, HOME, ...(TMPDIR && { TMPDIR }), PORT: '0', LOG_LEVEL: 'info', OLLAMA_HOST: 'http://127.0.0.1:9' }
}

export function makeHome(settings: Record<string, string> = {}): ProgramHome {
  const folder = mkdtempSync(join(tmpdir(), 'toycoder-'))
  const children = new Set<ChildProcess>()

  function launch(env: Record<string, string>, args: readonly string[] = []) {
    const child = spawn(process.execPath, [MAIN, ...args], {
      cwd: folder,
      env: { ...bareEnvironment(), ...settings, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    children.add(child)
    const output = { stdout: '', stderr: '' }
    child.stdout.on('data', (data) => (output.stdout += data))
    child.stderr.on('data', (data) => (output.stderr += data))
    const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
      child.on('close', (code, signal) => {
        children.delete(child)
        resolve({ code, signal })
      })
    })
    return { child, output, exited }
  }

  return {
    folder,

    async start(env = {}) {
      const { child, output, exited } = launch(env)
      const running = new Promise<string>((resolve) => {
        child.stdout.on('data', () => {
          if (output.stdout.includes('Stop it with')) resolve(/http:\/\/[\d.]+:\d+/.exec(output.stdout)?.[0] ?? '')
        })
      })
      const limit = new Promise<never>((_, reject) => {
        setTimeout(
          () => reject(new Error(`the program did not start:\n${output.stdout}${output.stderr}`)),
          START_LIMIT_MS,
        ).unref()
      })
      const ended = exited.then(({ code }) => {
        throw new Error(`the program ended with ${code} instead of starting:\n${output.stdout}${output.stderr}`)
      })
      const url = await Promise.race([running, limit, ended])
      ended.catch(() => {})
      return {
        url,
        pid: child.pid!,
        stdout: () => output.stdout,
        stderr: () => output.stderr,
        exited,
        async stop() {
          child.kill('SIGTERM')
          return (await exited).code
        },
        async kill() {
          child.kill('SIGKILL')
          await exited
        },
      }
    },

    async startAndEnd(env = {}, args = []) {
      const { output, exited } = launch(env, args)
      const { code } = await exited
      return { code, ...output }
    },

    async remove() {
      for (const child of children) child.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Waits until `look` answers something other than `undefined`, `null` or `false`; fails with what it saw last. */
export async function until<T>(
  what: string,
  look: () => T | undefined | null | false | Promise<T | undefined | null | false>,
  options: { ms?: number; seen?: () => unknown } = {},
): Promise<T> {
  const { ms = 15_000, seen } = options
  const deadline = Date.now() + ms
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== null && found !== false) return found
    if (Date.now() > deadline) throw new Error(`not within ${ms} ms: ${what}${seen ? `\n${String(seen())}` : ''}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}
