import { createHash } from 'node:crypto'
import { MessageFlags } from 'discord.js'
import { DISCORD_ID_PREFIX, type DiscordMessage, renderDiscord } from '../../render/discord.ts'
import type { MessageBody } from '../platform.ts'

/** An edit may change the unfurling only: whether a message rang was decided when it was sent. */
export function toEdit(body: MessageBody): DiscordMessage {
  return { ...renderDiscord(body), flags: MessageFlags.SuppressEmbeds }
}

/** Discord takes at most 25 characters as a nonce: 144 bits of the key's hash, the same on every attempt. */
export function nonceOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, 24)
}

/** What the id of a button or dialog of ours (`toycoder:ACTION:VALUE`) says, or undefined for somebody else's. */
export function readId(customId: string): { action: string; value: string } | undefined {
  if (!customId.startsWith(DISCORD_ID_PREFIX)) return undefined
  const [action = '', ...value] = customId.slice(DISCORD_ID_PREFIX.length).split(':')
  return action === '' ? undefined : { action, value: value.join(':') }
}
