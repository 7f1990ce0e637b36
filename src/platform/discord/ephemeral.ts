import { type APIMessage, MessageFlags, Routes } from 'discord.js'
import { DISCORD_LIMITS, type DiscordMessage, discordSize, renderDiscord } from '../../render/discord.ts'
import { cut } from '../../render/graphemes.ts'
import { PlatformError } from '../../shared/errors.ts'
import type { Button } from '../platform.ts'
import type { DiscordApi } from './discordApi.ts'

/** Words for one person alone. They are one message: what is longer is cut. */
export function privately(markdown: string, buttons: Button[] = []): DiscordMessage {
  let text = markdown
  while (discordSize(text) > DISCORD_LIMITS.content) text = cut(text, Math.floor(Math.min(text.length, 2_000) * 0.9))
  const payload = renderDiscord({ markdown: text, kind: 'notice', buttons })
  return { ...payload, flags: payload.flags | MessageFlags.Ephemeral }
}

/**
 * Says something to an interaction's person alone, after its first answer. An answer that still shows "thinking …" becomes
 * these words. False when the token has ended (15 minutes).
 */
export async function followUp(
  api: DiscordApi,
  { applicationId, token }: { applicationId: string; token: string },
  markdown: string,
  buttons?: Button[],
): Promise<boolean> {
  const body = privately(markdown, buttons)
  try {
    await api.call<APIMessage>('answer privately', [], (rest) =>
      rest.post(Routes.webhook(applicationId, token), { body, auth: false }),
    )
    return true
  } catch (error) {
    if (error instanceof PlatformError && error.kind === 'notFound') return false
    throw error
  }
}
