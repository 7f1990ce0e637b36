import { createHash } from 'node:crypto'
import {
  type APIActionRowComponent,
  type APIButtonComponentWithCustomId,
  ButtonStyle,
  ComponentType,
  MessageFlags,
  type RESTPatchAPIChannelMessageJSONBody,
} from 'discord.js'
import type { Button, MessageBody } from '../platform.ts'
import { renderDiscord } from './renderText.ts'

/** What every message of ours carries, on create and on edit. */
export interface Payload {
  content: string
  components: APIActionRowComponent<APIButtonComponentWithCustomId>[]
  flags: number
  allowed_mentions: NonNullable<RESTPatchAPIChannelMessageJSONBody['allowed_mentions']>
}

const BUTTONS_PER_ROW = 5
const STYLES = { primary: ButtonStyle.Primary, danger: ButtonStyle.Danger, plain: ButtonStyle.Secondary } as const
const OWN_BUTTON = /^toycoder:([^:]+):([\s\S]*)$/

/**
 * Turns a message into what Discord takes. Links never unfurl: a preview below each frame of a growing answer would jump.
 * `allowed_mentions` goes along with every create and edit, since Discord does not remember it and would ring by the text.
 */
export function toPayload(body: MessageBody): Payload {
  const quiet = body.kind === 'activity' ? MessageFlags.SuppressNotifications : 0
  return {
    content: renderDiscord(body).content,
    components: rowsOf(body.buttons ?? []),
    flags: MessageFlags.SuppressEmbeds | quiet,
    allowed_mentions: { parse: [], users: body.mentions ?? [], replied_user: false },
  }
}

/** An edit may change the unfurling only: whether a message rang was decided when it was sent. */
export function toEdit(body: MessageBody): Payload {
  return { ...toPayload(body), flags: MessageFlags.SuppressEmbeds }
}

/** Discord takes at most 25 characters as a nonce: 144 bits of the key's hash, the same on every attempt. */
export function nonceOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, 24)
}

/** What a button of ours says when it is pressed, or undefined for somebody else's. */
export function readButton(customId: string): { action: string; value: string } | undefined {
  const match = OWN_BUTTON.exec(customId)
  return match ? { action: match[1]!, value: match[2]! } : undefined
}

function rowsOf(buttons: readonly Button[]): Payload['components'] {
  const rows: Payload['components'] = []
  for (let from = 0; from < buttons.length; from += BUTTONS_PER_ROW) {
    rows.push({
      type: ComponentType.ActionRow,
      components: buttons.slice(from, from + BUTTONS_PER_ROW).map(({ action, label, style, value }) => ({
        type: ComponentType.Button as const,
        style: STYLES[style],
        label,
        custom_id: `toycoder:${action}:${value}`,
      })),
    })
  }
  return rows
}
