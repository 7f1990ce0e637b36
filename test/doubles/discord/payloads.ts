import type { Channel, Guild, Member, Message, StoredMessage, World } from './world.ts'
import { isThread } from './world.ts'

/** GUILD_CREATE as the gateway sends it: only the bot among the members, only active threads. */
export function guildCreate(world: World, guild: Guild) {
  const here = [...world.channels.values()].filter(({ guild_id }) => guild_id === guild.id)
  return {
    id: guild.id,
    name: guild.name,
    icon: null,
    owner_id: guild.owner_id,
    joined_at: world.timestamp(),
    large: false,
    unavailable: false,
    member_count: guild.members.size,
    preferred_locale: 'en-US',
    premium_tier: 0,
    features: [],
    emojis: [],
    stickers: [],
    roles: guild.roles,
    members: [guild.members.get(world.bot.id)],
    channels: here.filter((channel) => !isThread(channel)),
    threads: here.filter((channel) => isThread(channel) && !channel.thread_metadata?.archived),
    presences: [],
    voice_states: [],
    stage_instances: [],
    guild_scheduled_events: [],
    soundboard_sounds: [],
  }
}

/** The message with what the gateway adds to it: guild, kind of channel, who the author is there. */
export function messageEvent(world: World, stored: StoredMessage) {
  const { message } = stored
  const channel = world.channels.get(message.channel_id)!
  const member = message.webhook_id ? undefined : world.member(channel.guild_id, message.author.id)
  return {
    ...message,
    channel_type: channel.type,
    ...(channel.guild_id ? { guild_id: channel.guild_id } : {}),
    ...(member ? { member: withoutUser(member) } : {}),
    ...(stored.nonce ? { nonce: stored.nonce } : {}),
  }
}

/** Without the MESSAGE_CONTENT intent: everything people wrote is left out, except where it is meant for the bot. */
export function withoutContent<T extends Message>(world: World, message: T): T {
  const dm = world.channels.get(message.channel_id)?.guild_id === undefined
  const own = message.author.id === world.bot.id
  if (dm || own || message.mentions.some(({ id }) => id === world.bot.id)) return message
  return { ...message, content: '', embeds: [], attachments: [], components: [] }
}

export function withoutUser(member: Member): Omit<Member, 'user'> {
  const { user: _, ...rest } = member
  return rest
}

/** A channel as an interaction shows it. */
export function interactionChannel(world: World, channel: Channel, userId: string) {
  return {
    ...channel,
    permissions: String(BigInt.asUintN(64, world.permissions(channel, userId))),
    app_permissions: String(BigInt.asUintN(64, world.permissions(channel, world.bot.id))),
  }
}

const DEFAULTS = { type: 0, mention_everyone: false, embeds: [], edited_timestamp: null, tts: false, pinned: false }

/** A new message with every field that the API always sends. Mentions are read from the text as Discord's parser does. */
export function newMessage(
  world: World,
  channel: Channel,
  fields: Partial<Message> & Pick<Message, 'author' | 'content'>,
): Message {
  return {
    ...DEFAULTS,
    id: world.snowflake(),
    channel_id: channel.id,
    mentions: mentionedUsers(world, fields.content),
    mention_roles: [...outsideCode(fields.content).matchAll(/<@&(\d+)>/g)].map((match) => match[1]!),
    attachments: [],
    components: [],
    timestamp: world.timestamp(),
    flags: 0,
    reactions: [],
    ...fields,
  }
}

export function mentionedUsers(world: World, content: string) {
  const ids = new Set([...outsideCode(content).matchAll(/<@!?(\d+)>/g)].map((match) => match[1]!))
  return [...ids].flatMap((id) => world.users.get(id) ?? [])
}

function outsideCode(content: string): string {
  return content.replaceAll(/```[\s\S]*?```|`[^`]*`/g, ' ')
}
