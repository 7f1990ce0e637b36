import type { ChatPlatform } from '../platform/platform.ts'
import { splitMarkdown } from './splitMarkdown.ts'

/** The messages that a text becomes on a platform, with their length as the platform counts it: `toycoder render`. */
export function messagesOf(
  platform: Pick<ChatPlatform, 'limits' | 'size'>,
  markdown: string,
): { markdown: string; length: number }[] {
  return splitMarkdown(markdown, { limit: platform.limits.text, size: (text) => platform.size(text) }).map((piece) => ({
    markdown: piece.trim(),
    length: platform.size(piece),
  }))
}
