import { spawn } from 'node:child_process'
import { StringDecoder } from 'node:string_decoder'
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

/** After TERM, before KILL. */
const GRACE_MS = 2_000
/** How long output of a process that has ended is still waited for where others hold its pipe open. */
const DRAIN_MS = 200
/** What a command finds in its environment: nothing of the bot's own settings. */
const PASSED_ON = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TMPDIR', 'TZ', 'USER'] as const

/**
 * Runs a command line with `/bin/sh` in a process group of its own, without input and without the bot's environment. The
 * whole group is gone when it resolves: ended by itself, after the time-out or because `signal` aborted. Rejects where the
 * shell can't be started.
 */
export function runInGroup(command: string, { cwd, signal, timeoutMs, characters }: GroupOptions): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', command], {
      cwd,
      detached: true,
      env: environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const window = createOutputWindow(characters)
    for (const stream of [child.stdout, child.stderr]) {
      const decoder = new StringDecoder('utf8')
      stream.on('data', (bytes: Buffer) => window.add(decoder.write(bytes)))
      stream.on('end', () => window.add(decoder.end()))
    }
    let why: 'timeout' | 'stopped' | null = null
    let killing: NodeJS.Timeout | undefined

    function toGroup(name: NodeJS.Signals): void {
      try {
        process.kill(-child.pid!, name)
      } catch {
        // The group is gone already.
      }
    }
    function end(reason: 'timeout' | 'stopped'): void {
      if (why) return
      why = reason
      toGroup('SIGTERM')
      killing = setTimeout(() => toGroup('SIGKILL'), GRACE_MS)
    }
    const onAbort = () => end('stopped')
    const timer = setTimeout(() => end('timeout'), timeoutMs)
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) onAbort()

    child.on('error', (error) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      reject(new Error(`the shell could not be started: ${error.message}`, { cause: error }))
    })
    child.on('exit', (code, by) => {
      clearTimeout(timer)
      clearTimeout(killing)
      signal.removeEventListener('abort', onAbort)
      // Whatever the command left behind ends with it.
      toGroup('SIGKILL')
      const done = () => {
        clearTimeout(drain)
        child.stdout.destroy()
        child.stderr.destroy()
        const output = window.text()
        if (why) resolve({ output, how: why })
        else if (by) resolve({ output, how: 'signal', signal: by })
        else resolve({ output, how: 'exit', code: code! })
      }
      const drain = setTimeout(done, DRAIN_MS)
      child.once('close', done)
    })
  })
}

function environment(): Record<string, string> {
  const kept: Record<string, string> = { TERM: 'dumb', NO_COLOR: '1' }
  for (const name of PASSED_ON) {
    const value = process.env[name]
    if (value !== undefined) kept[name] = value
  }
  return kept
}
