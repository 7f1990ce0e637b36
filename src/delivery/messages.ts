import { DISCORD_LIMITS, type DiscordMessage, discordSize, renderDiscord } from '../render/discord.ts'
import { codePoints } from '../render/graphemes.ts'
import { renderHtml } from '../render/html.ts'
import { renderPlain } from '../render/plain.ts'
import { renderSlack, SLACK_LIMITS, type SlackBlock, slackSize } from '../render/slack.ts'
import { splitMarkdown } from './splitMarkdown.ts'

/** What a text can become. */
export const TARGETS = ['slack', 'discord', 'html', 'text'] as const
export type Target = (typeof TARGETS)[number]

/** One message as it is sent, with its length as the platform counts it; `limit` is `null` where there is none. */
export type RenderedMessage = { length: number; limit: number | null } & (
  | { text: string; blocks: SlackBlock[] }
  | DiscordMessage
  | { html: string }
  | { text: string }
)

/**
 * The messages that the text of an answer becomes, cut and rendered as a live thread's: none for a blank text.
 * Lengths are of the longest text of a message: UTF-16 units, on Discord code points.
 */
export function messagesOf(target: Target, markdown: string): RenderedMessage[] {
  if (markdown.trim() === '') return []
  switch (target) {
    case 'slack':
      return answers(markdown, SLACK_LIMITS.text, slackSize).map((body) => {
        const payload = renderSlack(body)
        const texts = [payload.text, ...payload.blocks.map((block) => (block.type === 'markdown' ? block.text : ''))]
        return { length: Math.max(...texts.map(({ length }) => length)), limit: SLACK_LIMITS.text, ...payload }
      })
    case 'discord':
      return answers(markdown, DISCORD_LIMITS.content, discordSize).map((body) => {
        const payload = renderDiscord(body)
        return { length: codePoints(payload.content), limit: DISCORD_LIMITS.content, ...payload }
      })
    case 'html': {
      const html = renderHtml(markdown)
      return [{ length: html.length, limit: null, html }]
    }
    case 'text': {
      const text = renderPlain(markdown)
      return [{ length: text.length, limit: null, text }]
    }
  }
}

function answers(markdown: string, limit: number, size: (markdown: string) => number) {
  return splitMarkdown(markdown, { limit, size }).map((piece) => ({ markdown: piece.trim(), kind: 'answer' as const }))
}
