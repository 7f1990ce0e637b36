import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { POSTGRES_URL, REDIS_URL } from '../contract/servers.ts'
import { createGate, type Gate, type LlmDouble, startLlmDouble } from '../doubles/llm/server.ts'
import { type SlackDouble, startSlackDouble } from '../doubles/slack/slackDouble.ts'
import { makeHome, type Program, type ProgramHome, until } from '../scenario/program.ts'

export const CHANNEL = 'C0DEV'

/** A place on a server that nothing else uses, for the store and the queue of one test. */
export interface Place {
  url: string
  clear(): Promise<void>
}

/** A database of its own on PostgreSQL. */
export async function postgresPlace(): Promise<Place> {
  const name = `toycoder_${randomBytes(6).toString('hex')}`
  const run = async (statement: string) => {
    const client = new pg.Client(POSTGRES_URL)
    await client.connect()
    await client.query(statement).finally(() => client.end())
  }
  await run(`CREATE DATABASE ${name}`)
  const url = new URL(POSTGRES_URL)
  url.pathname = `/${name}`
  return { url: url.href, clear: () => run(`DROP DATABASE ${name} WITH (FORCE)`) }
}

/** One of the numbered databases of Redis, emptied before and after. */
export async function redisPlace(): Promise<Place> {
  const url = new URL(REDIS_URL)
  url.pathname = '/13'
  const empty = async () => {
    const client = new Redis(url.href)
    await client.flushdb()
    client.disconnect()
  }
  await empty()
  return { url: url.href, clear: empty }
}

/** A Redis of its own that writes an append-only file, so that it can be ended and started again. */
export async function ownRedis(): Promise<Place & { end(): Promise<void>; start(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'toycoder-redis-'))
  const port = await freePort()
  const settings = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--appendonly', 'yes', '--save', '']
  let server: ChildProcess | null = null
  const end = async () => {
    if (!server) return
    server.kill('SIGKILL')
    await once(server, 'close')
    server = null
  }
  const start = async () => {
    server = spawn('redis-server', settings, { stdio: ['ignore', 'pipe', 'ignore'] })
    for await (const line of server.stdout!) if (String(line).includes('Ready to accept connections')) return
  }
  await start()
  return {
    url: `redis://127.0.0.1:${port}`,
    end,
    start,
    async clear() {
      await end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

export interface Instances {
  slack: SlackDouble
  llm: LlmDouble
  programs: Program[]
  /** A mention that opens a thread; answers its ts. Slack picks the instance that hears it. */
  ask(text: string): string
  shows(ts: string, text: string, ms?: number): Promise<unknown>
  /** How often `text` stands in the thread. */
  count(ts: string, text: string): number
  close(): Promise<void>
}

/** As many started programs as wanted on one store, in one Slack workspace, with one model server. */
export async function startInstances(place: Place, number: number): Promise<Instances> {
  const [slack, llm] = await Promise.all([startSlackDouble(), startLlmDouble()])
  const homes: ProgramHome[] = []
  const close = async () => {
    await Promise.all(homes.map((home) => home.remove()))
    await Promise.all([slack.close(), llm.close()])
    await place.clear()
  }
  try {
    const programs: Program[] = []
    for (let i = 0; i < number; i++) {
      const home = makeHome({
        ...slack.env,
        ...llm.env,
        STORE_URL: place.url,
      })
      homes.push(home)
      programs.push(await home.start())
    }
    return {
      slack,
      llm,
      programs,
      ask: (text) => slack.mention('U0ANNA', CHANNEL, text),
      shows: (ts, text, ms = 30_000) =>
        until(`the thread shows "${text}"`, () => slack.threadText(CHANNEL, ts).includes(text), {
          ms,
          seen: () =>
            [slack.threadText(CHANNEL, ts), ...programs.map((program) => program.stderr().slice(-2_000))].join('\n'),
        }),
      count: (ts, text) => slack.threadText(CHANNEL, ts).split(text).length - 1,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Lets the model answer each question in two pieces, the second one only once the answers are let go. */
export function slowAnswers(llm: LlmDouble): { letGo(): void } {
  const held = new Set<Gate>()
  let free = false
  llm.respond(({ lastUser }) => {
    const gate = createGate()
    gate.release(1)
    if (free) gate.open()
    held.add(gate)
    return { text: [`Answer ${/\d+/.exec(lastUser)?.[0]} `, 'is whole.'], gate }
  })
  return {
    letGo() {
      free = true
      for (const gate of held) gate.open()
    },
  }
}
