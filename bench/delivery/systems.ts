import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PlatformName } from './rooms.ts'

/** `chat-sdk-edits` is the Chat SDK with native streaming off; it differs on Slack only. */
export const SYSTEMS = ['toycoder', 'chat-sdk', 'chat-sdk-edits'] as const
export type SystemName = (typeof SYSTEMS)[number]

/** A bot that is connected, in a process of its own. */
export interface RunningSystem {
  cpuMs(): Promise<number>
  /** What it says went wrong. */
  problems: string[]
  /** True while the process lives. */
  alive(): boolean
  stop(): Promise<void>
}

interface Said {
  cpuMs?: number
  ready?: true
  problem?: string
}

const REPO = join(import.meta.dirname, '../..')
const PEERS = join(REPO, 'bench/peers')
const START_LIMIT_MS = 30_000

export function peersInstalled(): boolean {
  return existsSync(join(PEERS, 'node_modules/chat/package.json'))
}

export async function startSystem(
  system: SystemName,
  platform: PlatformName,
  settings: Record<string, string>,
): Promise<RunningSystem> {
  const folder = mkdtempSync(join(tmpdir(), 'toycoder-bench-'))
  const script = system === 'toycoder' ? 'src/main.ts' : 'bench/peers/chatSdk.mjs'
  const { PATH = '', HOME = '' } = process.env
  const probe = `--import=${join(import.meta.dirname, 'probe.ts')}`
  const child = spawn(process.execPath, [probe, join(REPO, script)], {
    cwd: folder,
    env: { PATH, HOME, PORT: '0', LOG_LEVEL: 'info', BENCH_PLATFORM: platform, BENCH_SYSTEM: system, ...settings },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const running: RunningSystem = {
    cpuMs: () => ask(child),
    problems: [],
    alive: () => child.exitCode === null && child.signalCode === null,
    async stop() {
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), 5_000)
      await exited
      clearTimeout(late)
      rmSync(folder, { recursive: true, force: true })
    },
  }
  child.on('message', ({ problem }: Said) => {
    if (problem !== undefined) running.problems.push(problem)
  })
  try {
    await ready(child)
  } catch (error) {
    await running.stop()
    throw error
  }
  return running
}

/** ToyCoder says on its output that it has started, the others by a message. */
function ready(child: ChildProcess): Promise<void> {
  let output = ''
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`the system ${why}:\n${output}`))
    const limit = setTimeout(() => fail('did not start'), START_LIMIT_MS)
    const done = () => {
      clearTimeout(limit)
      resolve()
    }
    child.once('close', () => fail('ended instead of starting'))
    child.on('message', ({ ready: isReady }: Said) => isReady && done())
    child.stderr!.on('data', (data) => (output = (output + data).slice(-4_000)))
    child.stdout!.on('data', (data) => {
      output = (output + data).slice(-4_000)
      if (output.includes('Stop it with')) done()
    })
  })
}

function ask(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    const hear = ({ cpuMs }: Said) => {
      if (cpuMs === undefined) return
      child.off('message', hear)
      resolve(cpuMs)
    }
    child.on('message', hear)
    child.send('cpu', (error) => error && reject(error))
  })
}
