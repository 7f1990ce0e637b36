import { ChannelType, type Message, MessageReferenceType, type MessageSnapshot, MessageType } from 'discord.js'
import type { ThreadRef } from '../../shared/thread.ts'
import type { Attachment, IncomingMessage, Sender } from '../platform.ts'
import { inboundText, namesBot } from './inboundText.ts'

/** The account of direct messages: they belong to no guild. */
export const DM_ACCOUNT = '@me'

/**
 * A message as the inbox takes it, or undefined where it is not for the bot at all: its own, another bot's, a webhook's, a
 * system message, or one in a channel that does not name it. Makes no call; what an uncached thread lacks is left out.
 */
export function toIncoming(message: Message, botId: string): IncomingMessage | undefined {
  if (message.author.bot || message.webhookId !== null || message.system || !isWritten(message)) return undefined
  const { channel } = message
  const mentioned = addressesBot(message, botId)
  const addressed = channel.isDMBased() ? 'direct' : mentioned ? 'mention' : channel.isThread() ? 'thread' : undefined
  if (addressed === undefined) return undefined
  const text = textOf(message, botId)
  const attachments = attachmentsOf(message)
  // A sticker between people says nothing to the bot; a bare mention does.
  if (addressed === 'thread' && text === '' && attachments.length === 0) return undefined
  return {
    id: message.id,
    aliases: [],
    thread: threadOf(message, botId),
    ref: { channel: message.channelId, id: message.id },
    author: senderOf(message),
    text,
    at: message.createdTimestamp,
    addressed,
    // Whether the bot has been handed what stands above, only the store knows; a forum post's first message has nothing above.
    hasEarlier: addressed === 'mention' && channel.isThread() && message.id !== channel.id,
    edited: message.editedTimestamp !== null,
    attachments,
  }
}

/** Messages that people write: plain ones and replies. The rest (joins, pins, thread starters) is the system's. */
function isWritten({ type }: Message): boolean {
  return type === MessageType.Default || type === MessageType.Reply
}

/**
 * Only a person's explicit mention of the bot counts: its name in the text, outside of code, or a reply to one of its messages
 * with the ping left on. `@everyone`, `@here` and roles that the bot has do not.
 */
function addressesBot(message: Message, botId: string): boolean {
  if (!message.mentions.users.has(botId)) return false
  return namesBot(message.content, botId) || message.mentions.repliedUser?.id === botId
}

/**
 * Where the answer goes. In a text channel a thread is meant that may not exist yet: Discord gives a thread the id of the
 * message it is opened on. Our replies in a channel (where threads may not be opened) belong to the message that was asked,
 * and so do replies to them.
 */
export function threadOf(message: Message, botId: string): ThreadRef {
  const { channel, guildId } = message
  const account = guildId ?? DM_ACCOUNT
  if (channel.isThread()) {
    return { platform: 'discord', account, id: channel.id, channel: channel.parentId ?? channel.id, thread: channel.id }
  }
  if (!opensThreads(channel.type)) {
    return { platform: 'discord', account, id: message.channelId, channel: message.channelId }
  }
  const root = (message.author.id === botId ? message.reference?.messageId : rootOfReply(message, botId)) ?? message.id
  return { platform: 'discord', account, id: root, channel: message.channelId, thread: root }
}

/** Text and announcement channels; in voice channels and direct messages the channel itself is the conversation. */
export function opensThreads(type: ChannelType): boolean {
  return type === ChannelType.GuildText || type === ChannelType.GuildAnnouncement
}

function rootOfReply(message: Message, botId: string): string | undefined {
  const repliedTo = message.reference?.messageId
  if (message.type !== MessageType.Reply || !repliedTo) return undefined
  const replied = message.channel.messages.cache.get(repliedTo)
  return replied?.author?.id === botId ? replied.reference?.messageId : undefined
}

export function senderOf(message: Message): Sender {
  const { author } = message
  return { id: author.id, name: displayName(message), isBot: author.bot, isExternal: false }
}

export function displayName({ member, author }: Message): string {
  return member?.displayName ?? author.displayName
}

/** What was written, with the text of forwarded messages quoted below. */
export function textOf(message: Message, botId: string): string {
  const { mentions, guild } = message
  const names = {
    botId,
    user: (id: string) => mentions.members?.get(id)?.displayName ?? mentions.users.get(id)?.displayName,
    role: (id: string) => guild?.roles.cache.get(id)?.name,
    channel: (id: string) => guild?.channels.cache.get(id)?.name,
  }
  const own = inboundText(message.content, names)
  const forwarded = snapshotsOf(message)
    .map(({ content }) => inboundText(content, names))
    .filter((text) => text !== '')
    .map((text) => `Forwarded message:\n> ${text.replaceAll('\n', '\n> ')}`)
  return [own, ...forwarded].filter((part) => part !== '').join('\n\n')
}

function attachmentsOf(message: Message): Attachment[] {
  const own = [...message.attachments.values()]
  const forwarded = snapshotsOf(message).flatMap(({ attachments }) => [...attachments.values()])
  return [...own, ...forwarded].map(({ name, contentType, size, url }) => ({
    name,
    mimeType: contentType ?? 'application/octet-stream',
    bytes: size,
    url,
  }))
}

function snapshotsOf(message: Message): MessageSnapshot[] {
  return message.reference?.type === MessageReferenceType.Forward ? [...message.messageSnapshots.values()] : []
}

/** True when Discord held back what a person wrote: the message content intent is off for this application. */
export function lacksContent(message: Message): boolean {
  if (message.author.bot || message.system || message.channel.isDMBased() || !isWritten(message)) return false
  const { content, attachments, embeds, stickers, messageSnapshots, poll, components } = message
  const parts = attachments.size + embeds.length + stickers.size + messageSnapshots.size + components.length
  return content === '' && parts === 0 && !poll
}
