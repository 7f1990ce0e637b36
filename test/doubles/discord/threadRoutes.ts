import { ApiError, formError, refusals } from './apiError.ts'
import type { ApiRequest, Context } from './context.ts'
import { channelFor, openThread, publish } from './context.ts'
import { INTENT } from './gateway.ts'
import { isEmpty, notifiedBy, readMessageBody, threadName } from './messageBody.ts'
import { fromFields } from './messageRoutes.ts'
import { CHANNEL, isThread } from './world.ts'

const ARCHIVE_MINUTES = [60, 1440, 4320, 10080]

/** A thread on a message: its id is the message's. */
export function threadOnMessage(context: Context, request: ApiRequest) {
  const { world } = context
  const channel = channelFor(context, request.params[0]!)
  if (channel.type !== CHANNEL.text && channel.type !== CHANNEL.announcement) {
    throw new ApiError(400, 50024, 'Cannot execute action on this channel type')
  }
  if (!world.may(channel, world.bot.id, 'CREATE_PUBLIC_THREADS')) throw refusals.missingAccess()
  const name = threadName(request.body.name)
  const archiveAfter = archiveMinutes(request.body.auto_archive_duration)
  const stored = world.find(channel.id, request.params[1]!)
  if (!stored) throw refusals.unknownMessage()
  if (world.channels.has(stored.message.id)) throw refusals.threadExists()
  return openThread(context, channel, world.bot.id, name, { on: stored, archiveAfter })
}

/** A thread without a message, or a forum post with its first message. */
export function threadInChannel(context: Context, request: ApiRequest) {
  const { world } = context
  const channel = channelFor(context, request.params[0]!)
  const name = threadName(request.body.name)
  const archiveAfter = archiveMinutes(request.body.auto_archive_duration)
  if (channel.type !== CHANNEL.forum) {
    if (!world.may(channel, world.bot.id, 'CREATE_PUBLIC_THREADS')) throw refusals.missingAccess()
    return openThread(context, channel, world.bot.id, name, { archiveAfter })
  }
  if (!world.may(channel, world.bot.id, 'SEND_MESSAGES')) throw refusals.missingPermissions()
  const body = request.body.message
  if (typeof body !== 'object' || body === null)
    throw formError('message', 'BASE_TYPE_REQUIRED', 'This field is required')
  const fields = readMessageBody(body as Record<string, unknown>, request.files)
  if (isEmpty(fields)) throw refusals.empty()
  const thread = openThread(context, channel, world.bot.id, name, { archiveAfter })
  const message = { ...fromFields(context, thread, fields), id: thread.id }
  const stored = publish(context, thread, message, { notified: notifiedBy(world, thread, fields) })
  return { ...thread, message: stored.message }
}

export function changeChannel(context: Context, request: ApiRequest) {
  const { world, gateway } = context
  const channel = channelFor(context, request.params[0]!)
  if (!isThread(channel) || !channel.thread_metadata) throw refusals.missingPermissions()
  const manages = world.may(channel, world.bot.id, 'MANAGE_THREADS')
  const { archived, locked, name } = request.body
  if (locked !== undefined && !manages) throw refusals.missingPermissions()
  if (channel.thread_metadata.locked && !manages) throw refusals.locked()
  if (name !== undefined) channel.name = threadName(name)
  if (typeof archived === 'boolean') channel.thread_metadata.archived = archived
  if (typeof locked === 'boolean') channel.thread_metadata.locked = locked
  gateway.dispatch('THREAD_UPDATE', channel, INTENT.guilds)
  return channel
}

export function activeThreads({ world }: Context, request: ApiRequest) {
  if (!world.guilds.has(request.params[0]!)) throw refusals.unknownGuild()
  const threads = [...world.channels.values()].filter(
    (channel) =>
      channel.guild_id === request.params[0] && isThread(channel) && channel.thread_metadata?.archived === false,
  )
  return { threads, members: [] }
}

function archiveMinutes(value: unknown): number {
  if (value === undefined || value === null) return 1440
  if (!ARCHIVE_MINUTES.includes(Number(value))) {
    throw formError('auto_archive_duration', 'BASE_TYPE_CHOICES', `Value must be one of ${ARCHIVE_MINUTES.join(', ')}.`)
  }
  return Number(value)
}
