import { startDiscordDouble } from '../../test/doubles/discord/server.ts'
import { startSlackDouble } from '../../test/doubles/slack/slackDouble.ts'
import type { Fields, SlackMessage } from '../../test/doubles/slack/world.ts'

export type PlatformName = 'slack' | 'discord'

/** A platform with its limits on: ten channels, twenty people, one bot. */
export interface Room {
  /** How the bot gets in, as environment of ToyCoder and of the peers alike. */
  settings: Record<string, string>
  /** Somebody names the bot in a channel. Returns the thread in which it is to answer. */
  ask(number: number, text: string): string
  /** Everybody says something that is not for the bot, so that it may know them. */
  chatter(): void
  /** Called when what people see of a thread has changed. */
  onShown: (thread: string) => void
  /** What people see of the bot in a thread, message by message. */
  shown(thread: string): string[]
  /** Requests since `begin` by method or route, those that were refused for their rate, and other refusals by code. */
  counts(): Counts
  /** How many requests there have been. */
  requests(): number
  /** Switches the limits on, and forgets the requests so far. */
  begin(): void
  close(): Promise<void>
}

export interface Counts {
  calls: Record<string, number>
  rateLimited: Record<string, number>
  refused: Record<string, number>
}

const CHANNELS = 10
const PEOPLE = 20

export async function openRoom(platform: PlatformName): Promise<Room> {
  return platform === 'slack' ? slackRoom() : discordRoom()
}

/**
 * Slack's rates by method and workspace, one post a second and channel, with the double's bursts: 40 % of a minute, four
 * posts (facts/slack.md 0.5, A.0 and A.1).
 */
async function slackRoom(): Promise<Room> {
  const double = await startSlackDouble()
  const { world } = double
  const people = Array.from({ length: PEOPLE }, (_, n) => `U0BENCH${n}`)
  for (const id of people) world.addUser({ id, name: id.toLowerCase() })
  const channels = Array.from({ length: CHANNELS }, (_, n) => `C0BENCH${n}`)
  for (const id of channels) world.addChannel({ id, members: [...people, world.app.botUserId] })
  const channelOf = new Map<string, string>()
  let since = 0
  const room: Room = {
    settings: {
      ...double.env,
    },
    ask(number, text) {
      const channel = channels[number % CHANNELS]!
      const ts = double.mention(people[number % PEOPLE]!, channel, text)
      channelOf.set(ts, channel)
      return ts
    },
    chatter() {
      for (const person of people) double.say(person, channels[0]!, 'Good morning')
    },
    onShown: () => {},
    shown: (thread) =>
      double
        .thread(channelOf.get(thread)!, thread)
        .filter(({ botId }) => botId === world.app.botId)
        .map((message) => wordsOf(message)),
    counts() {
      const counts: Counts = { calls: {}, rateLimited: {}, refused: {} }
      for (const { method, answer } of double.calls().slice(since)) {
        add(counts.calls, method)
        if (answer?.error === 'ratelimited') add(counts.rateLimited, method)
        else if (answer?.ok === false) add(counts.refused, `${method} ${String(answer.error)}`)
      }
      return counts
    },
    requests: () => double.calls().length,
    begin() {
      since = double.calls().length
      double.rateLimits('bursts')
    },
    close: () => double.close(),
  }
  world.onShown = (_, { ts, threadTs }) => room.onShown(threadTs ?? ts)
  return room
}

/** Where there are blocks, Slack shows those instead of the text. */
function wordsOf({ blocks, text }: SlackMessage): string {
  return blocks?.length ? textsIn(blocks).join(' ') : text
}

function textsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsIn)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value as Fields).flatMap(([key, inner]) =>
    key === 'text' && typeof inner === 'string' ? [inner] : textsIn(inner),
  )
}

/** Discord's buckets by route and channel (a thread is one), 50 requests a second for the bot (facts/discord.md b). */
async function discordRoom(): Promise<Room> {
  const double = await startDiscordDouble({ rateLimits: true, anyClient: true })
  const people = Array.from({ length: PEOPLE }, (_, n) => double.user(`Person ${n}`))
  const channels = Array.from({ length: CHANNELS }, (_, n) => double.channel(`bench-${n}`))
  let since = 0
  const room: Room = {
    settings: {
      ...double.env,
      DISCORD_APPLICATION_ID: double.botId,
    },
    ask: (number, text) => double.mention(people[number % PEOPLE]!, channels[number % CHANNELS]!, text).id,
    chatter() {
      for (const person of people) double.say(person, channels[0]!, 'Good morning')
    },
    onShown: () => {},
    shown: (thread) =>
      double
        .botMessages(thread)
        .map(({ content, embeds, components }) =>
          [content, JSON.stringify(embeds), JSON.stringify(components)].join(' '),
        ),
    counts() {
      const counts: Counts = { calls: {}, rateLimited: {}, refused: {} }
      for (const { route, status } of double.requests.slice(since)) {
        add(counts.calls, route)
        if (status === 429) add(counts.rateLimited, route)
        else if (status >= 400) add(counts.refused, `${route} ${status}`)
      }
      return counts
    },
    requests: () => double.requests.length,
    begin() {
      since = double.requests.length
    },
    close: () => double.close(),
  }
  const { dispatch } = double.gateway
  double.gateway.dispatch = (type, data, intent) => {
    const { channel_id: thread } = data as { channel_id?: string }
    if (type.startsWith('MESSAGE_') && thread) room.onShown(thread)
    dispatch(type, data, intent)
  }
  return room
}

function add(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1
}
