import { type Client, type Collection, type Message, MessageType, type TextBasedChannel } from 'discord.js'
import { PlatformError } from '../../shared/errors.ts'
import type { MessageRef, ThreadRef } from '../../shared/thread.ts'
import type { History, PastMessage } from '../platform.ts'
import type { DiscordApi } from './discordApi.ts'
import { displayName, textOf } from './incoming.ts'

const PAGE = 100

/**
 * Walks a channel's messages from the newest back, page by page. Stops at `until` (exclusive) where one is given.
 * The order is by id, which is by time.
 */
export async function* newestFirst(
  channel: TextBasedChannel,
  api: DiscordApi,
  options: { before?: string; until?: string } = {},
): AsyncGenerator<Message> {
  let before = options.before
  for (;;) {
    const page = await api.call<Collection<string, Message>>('read a thread', ['Read Message History'], () =>
      channel.messages.fetch({ limit: PAGE, cache: false, ...(before ? { before } : {}) }),
    )
    const sorted = [...page.values()].sort((a, b) => (BigInt(a.id) > BigInt(b.id) ? -1 : 1))
    for (const message of sorted) {
      if (options.until !== undefined && BigInt(message.id) <= BigInt(options.until)) return
      yield message
    }
    const oldest = sorted.at(-1)
    if (!oldest || sorted.length < PAGE) return
    before = oldest.id
  }
}

/** The channel that a thread's messages stand in, fetched where it is not cached; undefined when there is none (yet). */
export async function channelOf(
  thread: ThreadRef,
  client: Client,
  api: DiscordApi,
): Promise<TextBasedChannel | undefined> {
  try {
    const id = thread.thread ?? thread.channel
    const channel = await api.call<Awaited<ReturnType<Client['channels']['fetch']>>>(
      'look up a thread',
      ['View Channel'],
      () => client.channels.fetch(id),
    )
    return channel?.isTextBased() ? channel : undefined
  } catch (error) {
    if (error instanceof PlatformError && error.kind === 'notFound') return undefined
    throw error
  }
}

/**
 * Up to `limit` messages before `before`, oldest first; a thread that was opened on a message begins with that message.
 * A thread that does not exist (not opened yet, or answered in its channel for lack of a right) has no past.
 */
export async function readHistory(
  thread: ThreadRef,
  before: MessageRef | null,
  limit: number,
  { client, api }: { client: Client; api: DiscordApi },
): Promise<History> {
  const channel = await channelOf(thread, client, api)
  if (!channel) return { messages: [], cut: false }
  const botId = client.user?.id ?? ''
  const found: PastMessage[] = []
  let cut = false
  for await (const message of newestFirst(channel, api, before ? { before: before.id } : {})) {
    const past = await toPast(message, botId, api)
    if (!past || (before && past.ref.id === before.id)) continue
    if (found.length === limit) {
      cut = true
      break
    }
    found.push(past)
  }
  const root = cut && limit > 1 ? await firstOf(thread, botId, { client, api }) : undefined
  // What the thread is about stands in its first message: it takes the place of the oldest of the others.
  if (root) found.splice(limit - 1, 1, root)
  return { messages: found.reverse(), cut }
}

/** The message that a thread was opened on, or a forum post's first one: their id is the thread's. */
async function firstOf(
  thread: ThreadRef,
  botId: string,
  { client, api }: { client: Client; api: DiscordApi },
): Promise<PastMessage | undefined> {
  if (!thread.thread) return undefined
  for (const id of new Set([thread.channel, thread.thread])) {
    const channel = client.channels.cache.get(id)
    if (!channel?.isTextBased()) continue
    const first = await api
      .call<Message>('read the first message', ['Read Message History'], () => channel.messages.fetch(thread.id))
      .catch(() => undefined)
    if (first) return pastOf(first, botId)
  }
  return undefined
}

async function toPast(message: Message, botId: string, api: DiscordApi): Promise<PastMessage | undefined> {
  // In place of the message that a thread was opened on, the thread holds a pointer to it.
  if (message.type === MessageType.ThreadStarterMessage) {
    const starter = await api
      .call<Message>('read the first message', ['Read Message History'], () => message.fetchReference())
      .catch(() => undefined)
    return starter ? pastOf(starter, botId) : undefined
  }
  return message.system ? undefined : pastOf(message, botId)
}

function pastOf(message: Message, botId: string): PastMessage {
  const { author } = message
  const isSelf = author.id === botId
  return {
    ref: { channel: message.channelId, id: message.id },
    author: { id: author.id, name: displayName(message), isBot: author.bot, isSelf },
    text: isSelf ? message.content : textOf(message, botId),
    at: message.createdTimestamp,
  }
}
