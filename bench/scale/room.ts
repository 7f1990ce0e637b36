import { type LlmDouble, startLlmDouble } from '../../test/doubles/llm/server.ts'
import { type SlackDouble, startSlackDouble } from '../../test/doubles/slack/slackDouble.ts'

/** How many workspaces' rates the one of the benchmark has: Slack's own would have a thousand answers take half an hour. */
const WORKSPACES = 50
const CHANNELS = 100
const PEOPLE = 20
const LIMITS = {
  edits: `${50 * WORKSPACES}/60s`,
  removals: `${50 * WORKSPACES}/60s`,
  posts: `${300 * WORKSPACES}/60s`,
  channel_posts: `${2 * WORKSPACES}/2s`,
}

/** A Slack workspace and a model server, both in the benchmark's own process. */
export interface Room {
  slack: SlackDouble
  llm: LlmDouble
  env: Record<string, string>
  /** Of `toycoder.yml`. */
  file: object
  /** Somebody asks in a channel of its own tenth; answers the thread. */
  ask(number: number, text: string): Thread
  /** Resolves when `isSo` holds for as many of the threads as there are, in the order in which they came to it; looks only at what changed. */
  until(threads: readonly Thread[], isSo: (text: string) => boolean, limitMs: number): Promise<Waited>
  close(): Promise<void>
}

export interface Thread {
  channel: string
  ts: string
}

export interface Waited {
  /** How many came to it. */
  came: number
  ms: number
}

export async function openRoom(): Promise<Room> {
  const slack = await startSlackDouble()
  const llm = await startLlmDouble()
  const { world } = slack
  const people = Array.from({ length: PEOPLE }, (_, n) => `U0SCALE${n}`)
  for (const id of people) world.addUser({ id, name: id.toLowerCase() })
  const channels = Array.from({ length: CHANNELS }, (_, n) => `C0SCALE${n}`)
  for (const id of channels) world.addChannel({ id, members: [...people, world.app.botUserId] })
  return {
    slack,
    llm,
    env: {
      ...slack.env,
      ...llm.env,
    },
    file: { delivery: { slack_limits: LIMITS } },
    ask(number, text) {
      const channel = channels[number % CHANNELS]!
      return { channel, ts: slack.mention(people[number % PEOPLE]!, channel, text) }
    },
    until: (threads, isSo, limitMs) => waitFor(slack, threads, isSo, limitMs),
    close: async () => {
      await Promise.all([slack.close(), llm.close()])
    },
  }
}

function waitFor(
  { world, threadText }: SlackDouble,
  threads: readonly Thread[],
  isSo: (text: string) => boolean,
  limitMs: number,
): Promise<Waited> {
  const open = new Map(threads.map((thread) => [thread.ts, thread]))
  const begin = performance.now()
  return new Promise((resolve) => {
    const look = (ts: string) => {
      const thread = open.get(ts)
      if (thread && isSo(threadText(thread.channel, ts))) open.delete(ts)
      if (open.size === 0) end()
    }
    const end = () => {
      clearTimeout(limit)
      world.onShown = () => {}
      resolve({ came: threads.length - open.size, ms: performance.now() - begin })
    }
    const limit = setTimeout(end, limitMs)
    // What one request changes in several steps is seen when it is done.
    world.onShown = (_, { ts, threadTs }) => queueMicrotask(() => look(threadTs ?? ts))
    for (const { ts } of threads) look(ts)
  })
}
