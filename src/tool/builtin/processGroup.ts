import { spawn } from 'node:child_process'
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as delay } from 'node:timers/promises'
import { endGroup, toGroup } from './groupSignals.ts'
import { createOutputWindow } from './outputWindow.ts'

export type Ended = { output: string } & (
  | { how: 'exit'; code: number }
  | { how: 'signal'; signal: string }
  | { how: 'timeout' | 'stopped' }
)

export interface GroupOptions {
  cwd: string
  signal: AbortSignal
  timeoutMs: number
  /** How much of the output is kept, in characters: its head and its tail. */
  characters: number
}

/** After TERM, before KILL. Shorter where the run is stopped: its tools have two seconds in all to say what they did. */
const GRACE_MS = { timeout: 2_000, stopped: 1_500 } as const
/** The same for what a command that has ended by itself leaves behind; its output is waited for no longer either. */
const LEFT_BEHIND_MS = 200
/** What a command finds in its environment: nothing of the bot's own settings (case SH-06). */
const PASSED_ON = ['PATH', 'HOME', 'TMPDIR'] as const
/** Gives the command line to a shell whose two outputs are one pipe, so that what they print stays in order. */
const ONE_OUTPUT = 'exec /bin/sh -c "$1" 2>&1'

/**
 * Runs a command line with `/bin/sh` in a process group of its own, without input and without the bot's environment. The
 * whole group is gone when it resolves: ended by itself, after the time-out or because `signal` aborted. Only what makes a
 * group of its own (`setsid`) gets away, and a command can read `/proc/PID/environ` of the bot as of any process of its
 * user: keeping that from it needs a sandbox. Rejects where the shell can't be started.
 */
export function runInGroup(command: string, { cwd, signal, timeoutMs, characters }: GroupOptions): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', ONE_OUTPUT, 'sh', command], {
      cwd,
      detached: true,
      env: environment(),
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const window = createOutputWindow(characters)
    const decoder = new StringDecoder('utf8')
    child.stdout.on('data', (bytes: Buffer) => window.add(decoder.write(bytes)))
    const closed = new Promise<void>((done) => child.once('close', done))

    let why: 'timeout' | 'stopped' | null = null
    let killAt = 0
    let killing: NodeJS.Timeout | undefined
    function end(reason: 'timeout' | 'stopped'): void {
      if (why) return
      why = reason
      killAt = Date.now() + GRACE_MS[reason]
      toGroup(child.pid, 'SIGTERM')
      killing = setTimeout(() => toGroup(child.pid, 'SIGKILL'), GRACE_MS[reason])
    }
    const onAbort = () => end('stopped')
    const timer = setTimeout(() => end('timeout'), timeoutMs)
    signal.addEventListener('abort', onAbort)
    function quiet(): void {
      clearTimeout(timer)
      clearTimeout(killing)
      signal.removeEventListener('abort', onAbort)
    }

    child.on('error', (error) => {
      quiet()
      reject(new Error(`the shell could not be started: ${error.message}`, { cause: error }))
    })
    child.on('exit', async (code, by) => {
      quiet()
      await endGroup(child.pid, why ? killAt - Date.now() : LEFT_BEHIND_MS)
      // Somebody beyond the group may hold the pipe open.
      await Promise.race([closed, delay(LEFT_BEHIND_MS)])
      child.stdout.destroy()
      window.add(decoder.end())
      const output = window.text()
      if (why) resolve({ output, how: why })
      else if (by) resolve({ output, how: 'signal', signal: by })
      else resolve({ output, how: 'exit', code: code! })
    })
  })
}

function environment(): Record<string, string> {
  const kept: Record<string, string> = { TERM: 'dumb', LANG: process.env.LANG ?? 'C.UTF-8' }
  for (const name of PASSED_ON) {
    const value = process.env[name]
    if (value !== undefined) kept[name] = value
  }
  return kept
}
