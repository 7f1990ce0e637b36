import type { types } from '@slack/bolt'
import type { Button, MessageBody } from '../platform.ts'
import { actionId } from './inbound.ts'
import { renderSlack } from './renderSlack.ts'

type AnyBlock = types.AnyBlock

export interface Payload {
  /** For notifications and screen readers; the blocks are what is shown. */
  text: string
  blocks: AnyBlock[]
  unfurl_links: false
  unfurl_media: false
}

/** Notifications need no more, and `chat.update` refuses more than 4,000 characters (case SE-01). */
const LONGEST_TEXT = 3_000

/**
 * What is sent for a message. The text travels as blocks: `chat.update` refuses a `text` of more than 4,000 characters,
 * while a `markdown` block may hold 12,000 in a post as in an edit. Links never unfurl.
 */
export function payloadOf(body: MessageBody): Payload {
  const { text, blocks } = renderSlack(body)
  return {
    text: cut(text, LONGEST_TEXT),
    blocks: [...blocks, ...actionsOf(body.buttons ?? [])],
    unfurl_links: false,
    unfurl_media: false,
  }
}

/** The same for words that one person alone is to see. */
export function privately(markdown: string) {
  const { text, blocks } = payloadOf({ markdown, kind: 'notice' })
  return { response_type: 'ephemeral', replace_original: false, text, blocks } as const
}

/** A block holds at most 25 elements; a button's label 75 characters. */
function actionsOf(buttons: Button[]): AnyBlock[] {
  if (!buttons.length) return []
  const seen = new Map<string, number>()
  const elements = buttons.slice(0, 25).map(({ action, label, style, value }): types.Button => {
    const repeat = seen.get(action) ?? 0
    seen.set(action, repeat + 1)
    return {
      type: 'button',
      action_id: actionId(action, repeat),
      text: { type: 'plain_text', text: cut(label, 75), emoji: true },
      value,
      ...(style !== 'plain' && { style }),
    }
  })
  return [{ type: 'actions', elements }]
}

/** Cuts between characters, never inside of a surrogate pair, and shows that it did. */
function cut(text: string, longest: number): string {
  if (text.length <= longest) return text
  const end = longest - 1
  return `${text.slice(0, /[\uD800-\uDBFF]/.test(text[end - 1]!) ? end - 1 : end)}…`
}
