import { formError, refusals } from './apiError.ts'
import type { ApiRequest, Context } from './context.ts'
import { publish, removeMessage } from './context.ts'
import type { Interaction } from './interactions.ts'
import type { MessageFields } from './messageBody.ts'
import { isEmpty, notifiedBy, readMessageBody } from './messageBody.ts'
import { applyEdit, fromFields } from './messageRoutes.ts'
import { readModal } from './modals.ts'
import type { StoredMessage } from './world.ts'
import { FLAG } from './world.ts'

/** Which callback types answer what: a modal can't be answered by another one. */
const FITTING: Record<Interaction['kind'], number[]> = {
  command: [4, 5, 9],
  component: [4, 5, 6, 7, 9],
  modal: [4, 5, 6, 7],
}
const TYPES = { command: 2, component: 3, modal: 5 } as const

/** `POST /interactions/:id/:token/callback`: the first answer, within 3 seconds. */
export function callback(context: Context, request: ApiRequest) {
  const [id = '', token = ''] = request.params
  const interaction = context.interactions.toAnswer(id, token)
  const type = Number(request.body.type)
  const data = (request.body.data ?? {}) as Record<string, unknown>
  if (!FITTING[interaction.kind].includes(type)) {
    throw formError('type', 'BASE_TYPE_CHOICES', 'This response type does not fit the interaction.')
  }
  const ephemeral = (Number(data.flags ?? 0) & FLAG.ephemeral) !== 0
  if (type === 9) interaction.modal = readModal(data)
  interaction.answeredWith = type
  let stored: StoredMessage | undefined
  if (type === 5) {
    stored = respond(context, interaction, { enforceNonce: false, files: [] }, ephemeral, FLAG.loading)
  } else if (type === 4) {
    const fields = readMessageBody(data, request.files)
    if (isEmpty(fields)) throw refusals.empty()
    stored = respond(context, interaction, fields, ephemeral, 0)
  } else if (type === 7) {
    stored = original(context, interaction)
    applyEdit(context, stored, readMessageBody(data, request.files))
  }
  if (stored && type < 6) interaction.originalId = stored.message.id
  if (request.query.get('with_response') !== 'true') return undefined
  return {
    interaction: {
      id: interaction.id,
      type: TYPES[interaction.kind],
      response_message_id: stored?.message.id,
      response_message_loading: type === 5,
      response_message_ephemeral: ephemeral,
    },
    ...(stored ? { resource: { type, message: stored.message } } : {}),
  }
}

/** `POST /webhooks/:app/:token`: a follow-up. The first one after a deferred answer becomes that answer, whatever its flags. */
export function followUp(context: Context, request: ApiRequest) {
  const interaction = context.interactions.byWebhook(request.params[1]!)
  const fields = readMessageBody(request.body, request.files)
  if (isEmpty(fields)) throw refusals.empty()
  const first = interaction.originalId ? findOwn(context, interaction, interaction.originalId) : undefined
  if (first && (first.message.flags & FLAG.loading) !== 0) {
    applyEdit(context, first, fields)
    return first.message
  }
  return respond(context, interaction, fields, ((fields.flags ?? 0) & FLAG.ephemeral) !== 0, 0).message
}

export function getOriginal(context: Context, request: ApiRequest) {
  return original(context, context.interactions.byWebhook(request.params[1]!), request.params[2]).message
}

export function editOriginal(context: Context, request: ApiRequest) {
  const stored = original(context, context.interactions.byWebhook(request.params[1]!), request.params[2])
  applyEdit(context, stored, readMessageBody(request.body, request.files))
  return stored.message
}

export function deleteOriginal(context: Context, request: ApiRequest) {
  const interaction = context.interactions.byWebhook(request.params[1]!)
  const { message, ephemeralFor } = original(context, interaction, request.params[2])
  if (ephemeralFor) interaction.ephemeral = interaction.ephemeral.filter(({ id }) => id !== message.id)
  else removeMessage(context, context.world.channels.get(message.channel_id)!, message.id)
}

function respond(
  context: Context,
  interaction: Interaction,
  fields: MessageFields,
  ephemeral: boolean,
  flags: number,
): StoredMessage {
  const { world } = context
  const channel = world.channels.get(interaction.channelId)
  if (!channel) throw refusals.unknownChannel()
  const message = fromFields(context, channel, fields)
  Object.assign(message, {
    type: interaction.kind === 'command' ? 20 : message.type,
    flags: message.flags | flags | (ephemeral ? FLAG.ephemeral : 0),
    webhook_id: world.bot.id,
    application_id: world.bot.id,
    interaction_metadata: {
      id: interaction.id,
      type: TYPES[interaction.kind],
      user: world.users.get(interaction.userId)!,
      authorizing_integration_owners: {},
    },
  })
  const notified = notifiedBy(world, channel, fields)
  if (!ephemeral) return publish(context, channel, message, { notified })
  interaction.ephemeral.push(message)
  return { message, visibleAt: 0, ephemeralFor: interaction.userId, notified }
}

/** `@original` or the id of another answer; the segment comes with an encoded `@`. */
function original(context: Context, interaction: Interaction, segment = '@original'): StoredMessage {
  const name = decodeURIComponent(segment)
  const stored = findOwn(context, interaction, name === '@original' ? (interaction.originalId ?? '') : name)
  if (!stored) throw refusals.unknownMessage()
  return stored
}

function findOwn(context: Context, interaction: Interaction, id: string): StoredMessage | undefined {
  const hidden = interaction.ephemeral.find((message) => message.id === id)
  if (hidden) {
    const notified = { everyone: false, users: [], roles: [] }
    return { message: hidden, visibleAt: 0, ephemeralFor: interaction.userId, notified }
  }
  return context.world.find(interaction.channelId, id)
}
