import type { MessageBody } from '../platform.ts'

export function renderDiscord({ markdown, live, footer }: MessageBody): { content: string } {
  const text = live ? `${markdown} ▌` : markdown
  return { content: footer ? `${text}\n-# ${footer}` : text }
}

export function discordSize(markdown: string): number {
  return [...markdown].length
}
