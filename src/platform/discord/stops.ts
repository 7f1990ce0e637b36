import {
  type Client,
  type GatewayMessageReactionAddDispatchData,
  type GatewayMessageReactionRemoveDispatchData,
  type Message,
  SnowflakeUtil,
} from 'discord.js'
import { PlatformError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { createRecent } from '../../shared/recent.ts'
import type { ThreadRef } from '../../shared/thread.ts'
import type { IncomingStop, PlatformInbox, Sender } from '../platform.ts'
import type { Deliveries } from './deliveries.ts'
import type { DiscordApi } from './discordApi.ts'
import { channelOf } from './discordHistory.ts'
import { DM_ACCOUNT, opensThreads, threadOf } from './incoming.ts'

/** Reactions that mean *stop*: 🛑 and ⏹️, which comes with or without the sign that asks for its colours. */
const STOP_EMOJI: ReadonlySet<string> = new Set(['🛑', '⏹'])
const REMEMBERED = 5_000

/**
 * Hears reactions that mean *stop*. They are read as the gateway sends them: discord.js would tell of uncached messages only
 * with partials that change what its other events mean, and it drops who wrote the message.
 */
export function createStops(options: {
  client: Client
  api: DiscordApi
  deliveries: Deliveries
  log: Log
  now: () => number
  inbox: () => PlatformInbox | undefined
}) {
  const { client, api, deliveries, log, now, inbox } = options
  /** How often a reaction was taken back. Discord gives reactions no id: put on again it is a new wish. */
  const takenBack = createRecent<number>(REMEMBERED)
  const botId = () => client.user?.id ?? ''

  async function deliver(data: GatewayMessageReactionAddDispatchData, id: string, at: number): Promise<void> {
    const stop = await read(data, id, at)
    if (!stop) return log.debug({ message: data.message_id }, 'a stop sign stands on a message that can not be read')
    await inbox()?.stop(stop)
  }

  /** Undefined where the message is gone or may not be read. */
  async function read(
    data: GatewayMessageReactionAddDispatchData,
    id: string,
    at: number,
  ): Promise<IncomingStop | undefined> {
    const place = await placeOf(data)
    if (!place) return undefined
    const { thread, writtenBy } = place
    const isOurs = writtenBy === botId()
    const on = isOurs ? {} : { on: { channel: data.channel_id, id: data.message_id } }
    return { id, thread, author: authorOf(data), ...on, at }
  }

  /** Which thread a message stands in, and who wrote it. In a text channel only the message itself tells its thread. */
  async function placeOf(
    data: GatewayMessageReactionAddDispatchData,
  ): Promise<{ thread: ThreadRef; writtenBy: string } | undefined> {
    const { channel_id: id, guild_id: guild, message_author_id: writtenBy } = data
    const here: ThreadRef = { platform: 'discord', account: guild ?? DM_ACCOUNT, id, channel: id }
    if (guild === undefined && writtenBy !== undefined) return { thread: here, writtenBy }
    const channel = await readable(() => channelOf(here, client, api))
    if (!channel) return undefined
    if (channel.isThread() && writtenBy !== undefined) {
      return { thread: { ...here, channel: channel.parentId ?? id, thread: id }, writtenBy }
    }
    const message = await readable(async () => channel.messages.cache.get(data.message_id) ?? fetched(channel, data))
    return message && { thread: threadOf(message, botId()), writtenBy: message.author.id }
  }

  const fetched = (
    channel: Message['channel'],
    { message_id }: GatewayMessageReactionAddDispatchData,
  ): Promise<Message> =>
    api.call('read a message', ['Read Message History'], () => channel.messages.fetch({ message: message_id }))

  function authorOf({ user_id: id, member }: GatewayMessageReactionAddDispatchData): Sender {
    const told = member?.user
    const name = member?.nick ?? told?.global_name ?? told?.username ?? client.users.cache.get(id)?.displayName ?? id
    return { id, name, isBot: told?.bot ?? false, isExternal: false }
  }

  return {
    onReaction(data: GatewayMessageReactionAddDispatchData): void {
      if (!isStop(data) || data.user_id === botId()) return
      const channel = client.channels.cache.get(data.channel_id)
      const at = now()
      const wish = wishOf(data)
      const times = takenBack.get(wish) ?? 0
      deliveries.add({
        // Asked in a channel: the thread has the message's id.
        lane: channel && opensThreads(channel.type) ? data.message_id : data.channel_id,
        order: String(SnowflakeUtil.generate({ timestamp: at })),
        run: () => deliver(data, times === 0 ? wish : `${wish}:${times}`, at),
      })
    },

    onTakenBack(data: GatewayMessageReactionRemoveDispatchData): void {
      if (isStop(data)) takenBack.set(wishOf(data), (takenBack.get(wishOf(data)) ?? 0) + 1)
    },
  }
}

function isStop({ emoji }: GatewayMessageReactionRemoveDispatchData): boolean {
  return emoji.id === null && STOP_EMOJI.has(plain(emoji.name))
}

/** The same for every delivery of one reaction. */
function wishOf({ message_id, user_id, emoji }: GatewayMessageReactionRemoveDispatchData): string {
  return `reaction:${message_id}:${user_id}:${plain(emoji.name)}`
}

function plain(emoji: string | null): string {
  return (emoji ?? '').replace('\u{fe0f}', '')
}

async function readable<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof PlatformError && (error.kind === 'forbidden' || error.kind === 'notFound')) return undefined
    throw error
  }
}
