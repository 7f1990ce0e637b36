import { formError, refusals } from './apiError.ts'
import type { ApiRequest, Context } from './context.ts'
import { announceReaction, announceUpdate, channelFor, publish, removeMessage } from './context.ts'
import type { MessageFields } from './messageBody.ts'
import { isEmpty, notifiedBy, readMessageBody, settableFlags, storeFiles } from './messageBody.ts'
import { mentionedUsers, newMessage } from './payloads.ts'
import type { Channel, StoredMessage } from './world.ts'
import { CHANNEL, FLAG, isThread } from './world.ts'

const TYPING_MS = 10_000

export function createMessage(context: Context, request: ApiRequest) {
  const { world } = context
  const channel = channelFor(context, request.params[0]!)
  mustSend(context, channel)
  const fields = readMessageBody(request.body, request.files)
  if (isEmpty(fields)) throw refusals.empty()
  if (fields.files.length > 0 && !world.may(channel, world.bot.id, 'ATTACH_FILES')) throw refusals.missingPermissions()
  const earlier = fields.enforceNonce && fields.nonce ? withNonce(context, channel, fields.nonce) : undefined
  if (earlier) return { ...earlier.message, nonce: fields.nonce }
  const stored = publish(context, channel, fromFields(context, channel, fields), {
    ...(fields.nonce ? { nonce: fields.nonce } : {}),
    visibleAt: request.invisibleForMs > 0 ? world.now() + request.invisibleForMs : 0,
    notified: notifiedBy(world, channel, fields),
  })
  return { ...stored.message, ...(fields.nonce ? { nonce: fields.nonce } : {}) }
}

export function editMessage(context: Context, request: ApiRequest) {
  const { world } = context
  const channel = channelFor(context, request.params[0]!)
  const stored = world.find(channel.id, request.params[1]!)
  if (!stored) throw refusals.unknownMessage()
  if (stored.message.author.id !== world.bot.id) throw refusals.notOwnMessage()
  if (channel.thread_metadata?.archived) throw refusals.archived()
  if ('nonce' in request.body) throw formError('nonce', 'UNKNOWN_FIELD', 'an edit has no nonce')
  applyEdit(context, stored, readMessageBody(request.body, request.files))
  return stored.message
}

/** Edits a message, by the channel route or by an interaction's token. A placeholder stops "thinking". */
export function applyEdit(context: Context, stored: StoredMessage, fields: MessageFields) {
  const { world } = context
  const { message } = stored
  const channel = world.channels.get(message.channel_id)!
  const kept = fields.keepAttachments?.filter((id) => message.attachments.some((one) => one.id === id))
  const wouldBe = { ...fields, content: fields.content ?? message.content }
  if (isEmpty(wouldBe) && !(fields.components ?? message.components).length && !message.attachments.length) {
    throw refusals.empty()
  }
  if (fields.content !== undefined) {
    message.content = fields.content
    message.mentions = mentionedUsers(world, fields.content)
  }
  if (fields.components) message.components = fields.components
  if (fields.embeds) message.embeds = fields.embeds
  if (fields.flags !== undefined) {
    message.flags = (message.flags & ~FLAG.suppressEmbeds) | (fields.flags & FLAG.suppressEmbeds)
  }
  if (kept) message.attachments = message.attachments.filter(({ id }) => kept.includes(id))
  message.attachments.push(...storeFiles(world, fields.files, channel.id, context.origin()))
  message.flags &= ~FLAG.loading
  message.edited_timestamp = world.timestamp()
  stored.notified = notifiedBy(world, channel, wouldBe)
  if (stored.ephemeralFor === undefined) announceUpdate(context, stored)
}

export function fromFields(context: Context, channel: Channel, fields: MessageFields) {
  const { world } = context
  const replied = fields.replyTo ? world.find(channel.id, fields.replyTo.messageId) : undefined
  if (fields.replyTo && !replied && fields.replyTo.failIfMissing) {
    throw formError('message_reference', 'REPLIES_UNKNOWN_MESSAGE', 'Unknown message')
  }
  if (replied && !world.may(channel, world.bot.id, 'READ_MESSAGE_HISTORY')) throw refusals.noReplyWithoutHistory()
  return newMessage(world, channel, {
    author: world.bot,
    content: fields.content?.trim() ?? '',
    type: replied ? 19 : 0,
    ...(fields.components ? { components: fields.components } : {}),
    ...(fields.embeds ? { embeds: fields.embeds } : {}),
    flags: settableFlags(fields.flags),
    attachments: storeFiles(world, fields.files, channel.id, context.origin()),
    ...(replied
      ? {
          message_reference: {
            message_id: replied.message.id,
            channel_id: channel.id,
            ...(channel.guild_id ? { guild_id: channel.guild_id } : {}),
          },
          referenced_message: replied.message,
        }
      : {}),
  })
}

function mustSend({ world }: Context, channel: Channel) {
  if (channel.type === CHANNEL.forum) throw refusals.notHere()
  if (isThread(channel)) {
    if (!world.may(channel, world.bot.id, 'SEND_MESSAGES_IN_THREADS')) throw refusals.missingAccess()
    if (channel.thread_metadata?.locked && !world.may(channel, world.bot.id, 'MANAGE_THREADS')) throw refusals.locked()
  } else if (!world.may(channel, world.bot.id, 'SEND_MESSAGES')) throw refusals.missingPermissions()
}

function withNonce(context: Context, channel: Channel, nonce: string): StoredMessage | undefined {
  const { world } = context
  if (world.deletedNonces.has(nonce)) throw refusals.unknownMessage()
  const since = world.now() - context.nonceWindowMs()
  return world.messages
    .get(channel.id)!
    .find((stored) => stored.nonce === nonce && Date.parse(stored.message.timestamp) >= since)
}

export function listMessages(context: Context, request: ApiRequest) {
  const { world } = context
  const channel = channelFor(context, request.params[0]!)
  if (!world.may(channel, world.bot.id, 'READ_MESSAGE_HISTORY')) return []
  const limit = Number(request.query.get('limit') ?? 50)
  if (!(limit >= 1 && limit <= 100)) throw formError('limit', 'NUMBER_TYPE_MAX', 'int value should be from 1 to 100.')
  const before = request.query.get('before')
  const after = request.query.get('after')
  const all = (world.messages.get(channel.id) ?? [])
    .filter(({ visibleAt }) => visibleAt <= world.now())
    .map(({ message }) => message)
  const cut = before
    ? all.filter(({ id }) => BigInt(id) < BigInt(before)).slice(-limit)
    : after
      ? all.filter(({ id }) => BigInt(id) > BigInt(after)).slice(0, limit)
      : all.slice(-limit)
  return cut.reverse()
}

export function getMessage(context: Context, request: ApiRequest) {
  const channel = channelFor(context, request.params[0]!, 'READ_MESSAGE_HISTORY')
  const stored = context.world.find(channel.id, request.params[1]!)
  if (!stored || stored.visibleAt > context.world.now()) throw refusals.unknownMessage()
  return stored.message
}

export function deleteMessage(context: Context, request: ApiRequest) {
  const { world } = context
  const channel = channelFor(context, request.params[0]!)
  const stored = world.find(channel.id, request.params[1]!)
  if (!stored) throw refusals.unknownMessage()
  if (stored.message.author.id !== world.bot.id && !world.may(channel, world.bot.id, 'MANAGE_MESSAGES')) {
    throw refusals.missingPermissions()
  }
  removeMessage(context, channel, stored.message.id)
}

export function addReaction(context: Context, request: ApiRequest) {
  const { world } = context
  const channel = channelFor(context, request.params[0]!, 'READ_MESSAGE_HISTORY')
  const stored = world.find(channel.id, request.params[1]!)
  if (!stored) throw refusals.unknownMessage()
  const name = decodeURIComponent(request.params[2]!)
  const existing = stored.message.reactions.find(({ emoji }) => emoji.name === name)
  if (!existing && !world.may(channel, world.bot.id, 'ADD_REACTIONS')) throw refusals.missingPermissions()
  if (existing) Object.assign(existing, { me: true, count: existing.count + (existing.me ? 0 : 1) })
  else stored.message.reactions.push({ emoji: { id: null, name }, count: 1, me: true })
  announceReaction(context, 'MESSAGE_REACTION_ADD', stored, world.bot.id, name)
}

export function removeReaction(context: Context, request: ApiRequest) {
  const stored = context.world.find(request.params[0]!, request.params[1]!)
  if (!stored) throw refusals.unknownMessage()
  const name = decodeURIComponent(request.params[2]!)
  for (const reaction of stored.message.reactions) {
    if (reaction.emoji.name === name && reaction.me) Object.assign(reaction, { me: false, count: reaction.count - 1 })
  }
  stored.message.reactions = stored.message.reactions.filter(({ count }) => count > 0)
  announceReaction(context, 'MESSAGE_REACTION_REMOVE', stored, context.world.bot.id, name)
}

export function typing(context: Context, request: ApiRequest) {
  const channel = channelFor(context, request.params[0]!)
  mustSend(context, channel)
  context.world.typing.set(channel.id, context.world.now() + TYPING_MS)
}
