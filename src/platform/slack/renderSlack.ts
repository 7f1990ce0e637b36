import type { types } from '@slack/bolt'
import type { MessageBody } from '../platform.ts'

/** A message as Slack takes it: `markdown` block for the text, small print below. */
export function renderSlack(body: MessageBody): { text: string; blocks: types.AnyBlock[] } {
  const text = silence(body.markdown, body.mentions ?? [])
  const blocks: types.AnyBlock[] = [{ type: 'markdown', text }]
  if (body.footer) blocks.push({ type: 'context', elements: [{ type: 'plain_text', text: body.footer, emoji: false }] })
  return { text, blocks }
}

/** The length that counts against `limits.text`: that of the text as it is sent. */
export function slackSize(markdown: string): number {
  return silence(markdown, []).length
}

/** Mention tokens are shown as they are written and reach nobody, except for the people who may be named. */
function silence(text: string, allowed: string[]): string {
  return text.replace(/<(?=[!@#])(@([A-Z0-9]+)>)?/g, (token, _rest, id: string | undefined) =>
    id !== undefined && allowed.includes(id) ? token : token.replace('<', '&lt;'),
  )
}
