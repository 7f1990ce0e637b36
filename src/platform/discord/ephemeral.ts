import { type APIMessage, MessageFlags, Routes } from 'discord.js'
import { renderDiscord } from '../../render/discord.ts'
import { PlatformError } from '../../shared/errors.ts'
import type { DiscordApi } from './discordApi.ts'

/** Says something to the interaction's person alone. False when its token has ended (15 minutes). */
export async function followUp(api: DiscordApi, applicationId: string, token: string, text: string): Promise<boolean> {
  const payload = renderDiscord({ markdown: text, kind: 'notice' })
  const body = { ...payload, flags: payload.flags | MessageFlags.Ephemeral }
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
