/** What people do in Discord: the control side that tests drive. Nothing here goes through the bot's API. */
import type { Context } from './context.ts'
import { announceReaction, announceUpdate, openThread, publish, removeMessage } from './context.ts'
import { INTENT } from './gateway.ts'
import { storeFiles } from './messageBody.ts'
import { mentionedUsers, newMessage } from './payloads.ts'
import type { Channel, Message, PermissionName } from './world.ts'
import { CHANNEL, isThread, PERMISSIONS } from './world.ts'

export interface SayOptions {
  /** Replies to this message; Discord's clients ping its author unless `ping` is false. */
  replyTo?: string
  ping?: boolean
  files?: { name: string; content: string }[]
  /** The text of a forwarded message. */
  forward?: string
  /** Posts as this webhook instead of a person. */
  webhook?: boolean
  /** A system message, for example 7 (somebody joined). */
  type?: number
}

export function createPeople(context: Context, guildId: string) {
  const { world, gateway } = context
  const guild = world.guilds.get(guildId)!
  const channelOf = (id: string): Channel => {
    const channel = world.channels.get(id)
    if (!channel) throw new Error(`the double has no channel ${id}`)
    return channel
  }

  /** A person says something in a channel, thread or direct message. */
  const say = (userId: string, channelId: string, text: string, options: SayOptions = {}): Message => {
    const channel = channelOf(channelId)
    const author = world.users.get(userId)!
    const replied = options.replyTo ? world.find(channelId, options.replyTo) : undefined
    const mentions = mentionedUsers(world, text)
    if (replied && options.ping !== false && !mentions.some(({ id }) => id === replied.message.author.id)) {
      mentions.push(replied.message.author)
    }
    const place = channel.guild_id ? { guild_id: channel.guild_id } : {}
    const files = (options.files ?? []).map(({ name, content }, index) => ({
      index,
      name,
      bytes: new TextEncoder().encode(content),
      type: 'text/plain; charset=utf-8',
    }))
    const message = newMessage(world, channel, {
      author,
      content: options.forward === undefined ? text : '',
      mentions,
      mention_everyone: /@(everyone|here)\b/.test(text),
      type: options.type ?? (replied ? 19 : 0),
      attachments: storeFiles(world, files, channelId, context.origin()),
      ...(options.webhook ? { webhook_id: world.snowflake() } : {}),
      ...(replied ? { message_reference: { message_id: replied.message.id, channel_id: channelId, ...place } } : {}),
      ...(replied ? { referenced_message: replied.message } : {}),
      ...(options.forward === undefined
        ? {}
        : {
            message_reference: { type: 1, message_id: world.snowflake(), channel_id: channelId, ...place },
            message_snapshots: [{ message: { ...bareSnapshot(world.timestamp()), content: options.forward } }],
          }),
    })
    return publish(context, channel, message).message
  }

  const dmWith = (userId: string): Channel =>
    [...world.channels.values()].find(
      ({ type, recipients }) => type === CHANNEL.dm && recipients?.[0]?.id === userId,
    ) ?? world.newChannel({ type: CHANNEL.dm, recipients: [world.users.get(userId)!] })

  return {
    /** A new person of the guild; a bot with `bot`, somebody who shares no guild with `outside`. */
    user(name: string, options: { permissions?: PermissionName[]; bot?: boolean; outside?: boolean } = {}): string {
      const user = world.newUser(name, options.bot)
      if (options.outside) return user.id
      const rights = (options.permissions ?? []).reduce((all, right) => all | PERMISSIONS[right], 0n)
      const role = world.newRole(`of ${name}`, rights)
      guild.roles.push(role)
      gateway.dispatch('GUILD_ROLE_CREATE', { guild_id: guildId, role }, INTENT.guilds)
      world.join(guild, user, [role.id])
      return user.id
    },
    channel(name: string, type: number = CHANNEL.text): string {
      const channel = world.newChannel({ type, name, guild_id: guildId, parent_id: null, position: 1 })
      gateway.dispatch('CHANNEL_CREATE', channel, INTENT.guilds)
      return channel.id
    },
    say,
    /** The same with the bot named at the start. */
    mention: (userId: string, channelId: string, text: string, options?: SayOptions): Message =>
      say(userId, channelId, `<@${world.bot.id}> ${text}`, options),
    dm: (userId: string, text: string, options?: SayOptions): Message => say(userId, dmWith(userId).id, text, options),
    dmChannel: (userId: string): string => dmWith(userId).id,
    /** Opens a thread, on a message with `on`. */
    thread(userId: string, channelId: string, name: string, on?: string): string {
      const stored = on ? world.find(channelId, on) : undefined
      return openThread(context, channelOf(channelId), userId, name, stored ? { on: stored } : {}).id
    },
    /** A forum post: the thread and its first message have one id. */
    forumPost(userId: string, forumId: string, name: string, text: string): Message {
      const thread = openThread(context, channelOf(forumId), userId, name)
      const message = newMessage(world, thread, { author: world.users.get(userId)!, content: text, id: thread.id })
      return publish(context, thread, message).message
    },
    edit(channelId: string, messageId: string, text: string) {
      const stored = world.find(channelId, messageId)!
      stored.message.content = text
      stored.message.mentions = mentionedUsers(world, text)
      stored.message.edited_timestamp = world.timestamp()
      announceUpdate(context, stored)
    },
    /** Puts a reaction on a message, or takes it back. */
    react(userId: string, channelId: string, messageId: string, name: string) {
      const stored = world.find(channelId, messageId)!
      const { reactions } = stored.message
      const existing = reactions.find(({ emoji }) => emoji.name === name)
      if (existing) existing.count += 1
      else reactions.push({ emoji: { id: null, name }, count: 1, me: false })
      announceReaction(context, 'MESSAGE_REACTION_ADD', stored, userId, name)
    },
    unreact(userId: string, channelId: string, messageId: string, name: string) {
      const stored = world.find(channelId, messageId)!
      for (const one of stored.message.reactions) if (one.emoji.name === name) one.count -= 1
      stored.message.reactions = stored.message.reactions.filter(({ count }) => count > 0)
      announceReaction(context, 'MESSAGE_REACTION_REMOVE', stored, userId, name)
    },
    /** Deletes anybody's message, as a moderator does. */
    remove: (channelId: string, messageId: string) => removeMessage(context, channelOf(channelId), messageId),
    removeThread(threadId: string) {
      const { guild_id, parent_id, type } = channelOf(threadId)
      world.channels.delete(threadId)
      world.messages.delete(threadId)
      gateway.dispatch('THREAD_DELETE', { id: threadId, guild_id, parent_id, type }, INTENT.guilds)
    },
    archive(threadId: string, locked = false) {
      const thread = channelOf(threadId)
      if (!isThread(thread) || !thread.thread_metadata) throw new Error(`${threadId} is no thread`)
      Object.assign(thread.thread_metadata, { archived: true, locked })
      gateway.dispatch('THREAD_UPDATE', thread, INTENT.guilds)
    },
    /** Takes rights from the bot in a channel and its threads. */
    deny(channelId: string, ...rights: PermissionName[]) {
      const channel = channelOf(channelId)
      const deny = rights.reduce((all, right) => all | PERMISSIONS[right], 0n)
      const overwrites = channel.permission_overwrites?.filter(({ id }) => id !== world.bot.id) ?? []
      channel.permission_overwrites = [...overwrites, { id: world.bot.id, type: 1, allow: '0', deny: String(deny) }]
      gateway.dispatch('CHANNEL_UPDATE', channel, INTENT.guilds)
    },
  }
}

function bareSnapshot(timestamp: string): Partial<Message> {
  return { type: 0, mentions: [], mention_roles: [], attachments: [], embeds: [], components: [], flags: 0, timestamp }
}
