import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** `begin` starts a measurement, `rest` collects garbage before it answers, `now` only answers. */
export type Question = 'begin' | 'rest' | 'now'

/** Of the bot's process. Delays of the event loop and the peak are counted since `begin`. */
export interface Figures {
  cpuMs: number
  /** Live objects and what they hold outside of the heap; after `rest` without garbage. */
  heapMb: number
  rssMb: number
  peakRssMb: number
  loopP99Ms: number
  loopMaxMs: number
}

/** ToyCoder as `npm start` starts it, in a process and folder of its own. */
export interface Bot {
  ask(question: Question): Promise<Figures>
  stop(): Promise<void>
}

const REPO = join(import.meta.dirname, '../..')
const START_LIMIT_MS = 30_000
const END_LIMIT_MS = 15_000

/** Starts it with settings of the environment and those of a `toycoder.yml`. */
export async function startBot(env: Record<string, string>, file: object): Promise<Bot> {
  const folder = mkdtempSync(join(tmpdir(), 'toycoder-scale-'))
  writeFileSync(join(folder, 'toycoder.yml'), JSON.stringify(file))
  const { PATH = '', HOME = '' } = process.env
  const probe = `--import=${join(import.meta.dirname, 'probe.ts')}`
  const child = spawn(process.execPath, ['--expose-gc', probe, join(REPO, 'src/main.ts')], {
    cwd: folder,
    env: { PATH, HOME, PORT: '0', LOG_LEVEL: 'error', ...env },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const exited = once(child, 'close')
  const bot: Bot = {
    async ask(question) {
      const answer = once(child, 'message')
      child.send(question)
      return (await answer)[0] as Figures
    },
    async stop() {
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), END_LIMIT_MS)
      await exited
      clearTimeout(late)
      rmSync(folder, { recursive: true, force: true })
    },
  }
  try {
    await started(child)
    return bot
  } catch (error) {
    await bot.stop()
    throw error
  }
}

function started(child: ChildProcess): Promise<void> {
  let output = ''
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`the bot ${why}:\n${output}`))
    const limit = setTimeout(() => fail('did not start'), START_LIMIT_MS)
    child.once('close', () => fail('ended instead of starting'))
    child.stdout!.on('data', (data) => {
      output = (output + data).slice(-4_000)
      if (!output.includes('Stop it with')) return
      clearTimeout(limit)
      resolve()
    })
  })
}
