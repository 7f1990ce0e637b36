import { formError, refusals } from './apiError.ts'
import { mentionedUsers } from './payloads.ts'
import type { Attachment, Channel, StoredMessage, World } from './world.ts'
import { FLAG } from './world.ts'

/** What a request may say about a message, checked. */
export interface MessageFields {
  content?: string
  components?: StoredMessage['message']['components']
  embeds?: unknown[]
  flags?: number
  nonce?: string
  enforceNonce: boolean
  allowedMentions?: AllowedMentions
  replyTo?: { messageId: string; failIfMissing: boolean }
  keepAttachments?: string[]
  files: UploadedFile[]
}

export interface UploadedFile {
  index: number
  name: string
  bytes: Uint8Array
  type: string
}

interface AllowedMentions {
  parse?: string[]
  users?: string[]
  roles?: string[]
  replied_user?: boolean
}

const KNOWN = new Set([
  ...['content', 'embeds', 'components', 'flags', 'allowed_mentions', 'message_reference', 'nonce', 'enforce_nonce'],
  ...['attachments', 'tts', 'sticker_ids', 'poll'],
])
const FILE_BYTES = 10 * 1024 * 1024

/** Reads and checks a message of a create, an edit or a webhook. Lengths count code points, as Discord counts. */
export function readMessageBody(body: Record<string, unknown>, files: UploadedFile[]): MessageFields {
  for (const name of Object.keys(body)) {
    // Discord ignores what it does not know; here an unknown field is a mistake of ours.
    if (!KNOWN.has(name)) throw formError(name, 'UNKNOWN_FIELD', `the double knows no field "${name}"`)
  }
  const content = textOf(body.content, 'content', 2000)
  const nonce = body.nonce === undefined || body.nonce === null ? undefined : String(body.nonce)
  if (nonce !== undefined && nonce.length > 25) throw tooLong('nonce', 25)
  const reference = body.message_reference as { message_id?: string; fail_if_not_exists?: boolean } | undefined
  if (files.length > 10) throw formError('attachments', 'BASE_TYPE_MAX_LENGTH', 'Must be 10 or fewer in length.')
  if (files.some(({ bytes }) => bytes.byteLength > FILE_BYTES)) throw refusals.tooLarge()
  const components = body.components as MessageFields['components']
  if (components) checkComponents(components)
  const allowed = body.allowed_mentions as AllowedMentions | undefined
  if (allowed) checkAllowedMentions(allowed)
  const attachments = body.attachments as { id: string | number }[] | undefined
  return {
    ...(content === undefined ? {} : { content }),
    ...(components ? { components } : {}),
    ...(body.embeds ? { embeds: body.embeds as unknown[] } : {}),
    ...(typeof body.flags === 'number' ? { flags: body.flags } : {}),
    ...(nonce === undefined ? {} : { nonce }),
    enforceNonce: body.enforce_nonce === true,
    ...(allowed ? { allowedMentions: allowed } : {}),
    ...(reference?.message_id
      ? { replyTo: { messageId: reference.message_id, failIfMissing: reference.fail_if_not_exists ?? true } }
      : {}),
    ...(attachments ? { keepAttachments: attachments.map(({ id }) => String(id)) } : {}),
    files,
  }
}

/** Nothing to show: neither text nor embeds, components or files. */
export function isEmpty(fields: MessageFields): boolean {
  const { content, embeds, components, files } = fields
  return !content?.trim() && !embeds?.length && !components?.length && files.length === 0
}

/**
 * Every text of ours says that nobody but those it names may be rung, wherever it is written: in a message, in an answer to an
 * interaction, in a forum post.
 */
export function mustSayWhomItRings(body: Record<string, unknown>) {
  for (const one of [body, body.data, body.message] as (Record<string, unknown> | undefined)[]) {
    if (typeof one?.content !== 'string') continue
    if ((one.allowed_mentions as AllowedMentions | undefined)?.parse?.length !== 0) {
      throw formError('allowed_mentions.parse', 'BASE_TYPE_BAD_LENGTH', 'the double wants it to be there and empty')
    }
  }
}

/** Whom the message rings, by `allowed_mentions`; left out, everything rings, as Discord does it for bots. */
export function notifiedBy(world: World, channel: Channel, fields: MessageFields): StoredMessage['notified'] {
  const content = fields.content ?? ''
  const allowed = fields.allowedMentions ?? { parse: ['users', 'roles', 'everyone'] }
  const users = mentionedUsers(world, content).map(({ id }) => id)
  const roles = [...content.matchAll(/<@&(\d+)>/g)].map((match) => match[1]!)
  const parses = (kind: string) => allowed.parse?.includes(kind) ?? false
  return {
    everyone: parses('everyone') && channel.guild_id !== undefined && /@(everyone|here)\b/.test(content),
    users: users.filter((id) => parses('users') || allowed.users?.includes(id)),
    roles: roles.filter((id) => parses('roles') || allowed.roles?.includes(id)),
  }
}

/** Stores uploaded files and gives what the API shows of them. */
export function storeFiles(world: World, files: UploadedFile[], channelId: string, origin: string): Attachment[] {
  return files.map(({ name, bytes, type }) => {
    const id = world.snowflake()
    world.files.set(id, { name, bytes })
    const url = `${origin}/cdn/attachments/${channelId}/${id}/${encodeURIComponent(name)}?ex=6a0f0000&is=6a0dae80&hm=00`
    return { id, filename: name, size: bytes.byteLength, url, proxy_url: url, content_type: type }
  })
}

/** Flags that a bot may set: no unfurling and no notification; the others are the server's. */
export function settableFlags(flags: number | undefined): number {
  return (flags ?? 0) & (FLAG.suppressEmbeds | FLAG.suppressNotifications)
}

/** Checks the name of a thread: 1 to 100 characters, blanks at the ends do not count. */
export function threadName(name: unknown): string {
  if (typeof name !== 'string' || name.trim() === '') {
    throw formError('name', 'BASE_TYPE_REQUIRED', 'This field is required')
  }
  return textOf(name.trim(), 'name', 100)!
}

function textOf(value: unknown, field: string, limit: number): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') throw formError(field, 'STRING_TYPE_CONVERT', 'Could not interpret as string.')
  if (!value.isWellFormed()) throw formError(field, 'STRING_TYPE_CONVERT', 'The text is not well-formed Unicode.')
  if ([...value].length > limit) throw tooLong(field, limit)
  return value
}

function tooLong(field: string, limit: number) {
  return formError(field, 'BASE_TYPE_MAX_LENGTH', `Must be ${limit} or fewer in length.`)
}

function checkComponents(rows: NonNullable<MessageFields['components']>) {
  if (rows.length > 5) throw formError('components', 'BASE_TYPE_BAD_LENGTH', 'Must be between 1 and 5 in length.')
  const ids = new Set<string>()
  for (const row of rows) {
    if (row.type !== 1 || row.components.length < 1 || row.components.length > 5) {
      throw formError('components', 'BASE_TYPE_BAD_LENGTH', 'Must be between 1 and 5 in length.')
    }
    for (const { custom_id: id = '', label = '' } of row.components) {
      if (id.length < 1 || id.length > 100) throw tooLong('components.custom_id', 100)
      if (ids.has(id)) {
        throw formError('components', 'COMPONENT_CUSTOM_ID_DUPLICATED', 'Component custom id cannot be duplicated')
      }
      if ([...label].length > 80) throw tooLong('components.label', 80)
      ids.add(id)
    }
  }
}

function checkAllowedMentions({ parse = [], users, roles }: AllowedMentions) {
  if ((parse.includes('users') && users?.length) || (parse.includes('roles') && roles?.length)) {
    throw formError('allowed_mentions', 'MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE', 'parse and ids are exclusive')
  }
}
