import { refusals } from './apiError.ts'
import type { Gateway } from './gateway.ts'
import { INTENT } from './gateway.ts'
import type { Interactions } from './interactions.ts'
import type { UploadedFile } from './messageBody.ts'
import { messageEvent } from './payloads.ts'
import type { Channel, Message, PermissionName, StoredMessage, World } from './world.ts'
import { CHANNEL, isThread } from './world.ts'

/** What every route works with. */
export interface Context {
  world: World
  gateway: Gateway
  interactions: Interactions
  origin: () => string
  /** How long `enforce_nonce` remembers, in milliseconds. */
  nonceWindowMs: () => number
  commands: Map<string, object[]>
}

export interface ApiRequest {
  params: string[]
  query: URLSearchParams
  body: Record<string, unknown>
  files: UploadedFile[]
  invisibleForMs: number
}

/** What a route answers: a JSON value, or undefined for 204. */
export type Handler = (context: Context, request: ApiRequest) => unknown

/** The channel, if it is there and the bot may see it and has the rights named. */
export function channelFor({ world }: Context, id: string, ...rights: PermissionName[]): Channel {
  const channel = world.channels.get(id)
  if (!channel) throw refusals.unknownChannel()
  if (!world.may(channel, world.bot.id, 'VIEW_CHANNEL')) throw refusals.missingAccess()
  if (!world.may(channel, world.bot.id, ...rights)) throw refusals.missingPermissions()
  return channel
}

/** Puts a message into its channel and tells everybody. */
export function publish(
  { world, gateway }: Context,
  channel: Channel,
  message: Message,
  extra: Partial<StoredMessage> = {},
): StoredMessage {
  const stored: StoredMessage = {
    message,
    visibleAt: 0,
    notified: { everyone: false, users: [], roles: [] },
    ...extra,
  }
  world.messages.get(channel.id)!.push(stored)
  if (message.author.id === world.bot.id) world.typing.delete(channel.id)
  channel.last_message_id = message.id
  if (isThread(channel)) {
    message.position = channel.message_count ?? 0
    channel.message_count = (channel.message_count ?? 0) + 1
    if (channel.thread_metadata?.archived) {
      channel.thread_metadata.archived = false
      gateway.dispatch('THREAD_UPDATE', channel, INTENT.guilds)
    }
  }
  gateway.dispatch('MESSAGE_CREATE', messageEvent(world, stored), intentOf(channel))
  return stored
}

export function announceUpdate({ world, gateway }: Context, stored: StoredMessage) {
  const channel = world.channels.get(stored.message.channel_id)!
  gateway.dispatch('MESSAGE_UPDATE', messageEvent(world, stored), intentOf(channel))
}

export function removeMessage({ world, gateway }: Context, channel: Channel, messageId: string): boolean {
  const list = world.messages.get(channel.id) ?? []
  const index = list.findIndex(({ message }) => message.id === messageId)
  if (index < 0) return false
  const [removed] = list.splice(index, 1)
  if (removed?.nonce) world.deletedNonces.add(removed.nonce)
  const place = channel.guild_id ? { guild_id: channel.guild_id } : {}
  gateway.dispatch('MESSAGE_DELETE', { id: messageId, channel_id: channel.id, ...place }, intentOf(channel))
  return true
}

export function intentOf(channel: Channel): number {
  return channel.type === CHANNEL.dm ? INTENT.dms : INTENT.guildMessages
}

/** Somebody put a reaction on a message, or took it back: everybody who listens is told. */
export function announceReaction(
  { world, gateway }: Context,
  type: 'MESSAGE_REACTION_ADD' | 'MESSAGE_REACTION_REMOVE',
  { message }: StoredMessage,
  userId: string,
  name: string,
) {
  const { guild_id, type: kind } = world.channels.get(message.channel_id)!
  const member = type === 'MESSAGE_REACTION_ADD' ? world.member(guild_id, userId) : undefined
  const data = {
    user_id: userId,
    type: 0,
    message_id: message.id,
    ...(type === 'MESSAGE_REACTION_ADD' ? { message_author_id: message.author.id } : {}),
    ...(member ? { member } : {}),
    emoji: { id: null, name },
    channel_id: message.channel_id,
    burst: false,
    ...(guild_id ? { guild_id } : {}),
  }
  gateway.dispatch(type, data, kind === CHANNEL.dm ? INTENT.dmReactions : INTENT.reactions)
}

/** Opens a thread, on a message or bare, and sends what Discord sends about it. */
export function openThread(
  context: Context,
  parent: Channel,
  ownerId: string,
  name: string,
  options: { on?: StoredMessage; archiveAfter?: number; id?: string } = {},
): Channel {
  const { world, gateway } = context
  const { on, archiveAfter } = options
  const id = on?.message.id ?? options.id
  const thread = world.newThread(parent, ownerId, name, {
    ...(id ? { id } : {}),
    ...(archiveAfter ? { archiveAfter } : {}),
  })
  gateway.dispatch('THREAD_CREATE', { ...thread, newly_created: true }, INTENT.guilds)
  if (on) {
    on.message.flags |= 32
    on.message.thread = thread
    announceUpdate(context, on)
    const { reactions: _, thread: __, ...shown } = on.message
    publish(context, thread, {
      ...shown,
      reactions: [],
      id: world.snowflake(),
      type: 21,
      // Nothing stands in it, so it names nobody.
      mentions: [],
      mention_everyone: false,
      channel_id: thread.id,
      content: '',
      attachments: [],
      components: [],
      flags: 0,
      message_reference: { message_id: on.message.id, channel_id: parent.id, guild_id: parent.guild_id! },
      referenced_message: on.message,
    })
  }
  const joined = { id: thread.id, user_id: ownerId, join_timestamp: world.timestamp(), flags: 1 }
  gateway.dispatch(
    'THREAD_MEMBERS_UPDATE',
    { id: thread.id, guild_id: thread.guild_id, member_count: 1, added_members: [joined] },
    INTENT.guilds,
  )
  return thread
}
