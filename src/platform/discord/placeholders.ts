import { type APIMessage, type Client, MessageFlags, Routes } from 'discord.js'
import { PlatformError } from '../../shared/errors.ts'
import { createRecent } from '../../shared/recent.ts'
import type { MessageRef } from '../../shared/thread.ts'
import type { Button } from '../platform.ts'
import type { DiscordApi } from './discordApi.ts'
import { followUp } from './ephemeral.ts'
import { toEdit } from './payload.ts'

const REMEMBERED = 1_000
const PAGE = 100

/**
 * A command is acknowledged with a public placeholder ("thinking …"). It becomes the first message of the thread that the
 * command opens, or goes away.
 */
export interface Placeholders {
  begun(interactionId: string, token: string, message: Promise<{ channelId: string; id: string } | undefined>): void
  /**
   * The placeholder of a command that may still be used. After a restart it is looked for in the channel: Discord keeps the
   * interaction's id with the message. Undefined when there is none.
   */
  find(interactionId: string, channel: string): Promise<MessageRef | undefined>
  /** It has become a message that stays. */
  used(interactionId: string): void
  /** Makes it the visible trace of a command whose answer stands elsewhere. */
  showAs(interactionId: string, text: string): Promise<void>
  discard(interactionId: string): Promise<void>
  /** Says something to the command's person alone and takes the placeholder away. False when the token has ended. */
  whisper(token: string, text: string, buttons?: Button[]): Promise<boolean>
}

export function createPlaceholders({ client, api }: { client: Client; api: DiscordApi }): Placeholders {
  const known = createRecent<Promise<MessageRef | undefined>>(REMEMBERED)
  const idOfToken = createRecent<string>(REMEMBERED)
  const applicationId = () => client.application?.id ?? ''

  async function search(interactionId: string, channel: string): Promise<MessageRef | undefined> {
    // The placeholder came right after the interaction, and so did its id.
    const query = new URLSearchParams({ after: interactionId, limit: String(PAGE) })
    const messages = await api.call<APIMessage[]>('look for a placeholder', ['Read Message History'], (rest) =>
      rest.get(Routes.channelMessages(channel), { query }),
    )
    const found = messages.find(({ interaction_metadata: metadata }) => metadata?.id === interactionId)
    return found ? { channel, id: found.id } : undefined
  }

  /**
   * Ends a placeholder by `end`. Until that is through it still counts as waiting: the first words behind a waiting one would
   * take its place, for all to read.
   */
  async function finish(interactionId: string, end: (ref: MessageRef) => Promise<unknown>): Promise<void> {
    const before = known.get(interactionId)
    const ending = (async () => {
      const ref = await before
      if (ref) await end(ref)
    })()
    const over = () => undefined
    known.set(interactionId, ending.then(over, over))
    await ending
  }

  async function editOriginal(token: string, content: string): Promise<void> {
    const body = toEdit({ markdown: content, kind: 'activity' })
    await api.call('edit a placeholder', [], (rest) =>
      rest.patch(Routes.webhookMessage(applicationId(), token), { body, auth: false }),
    )
  }

  return {
    begun(interactionId, token, message) {
      idOfToken.set(token, interactionId)
      known.set(
        interactionId,
        message.then((found) => (found ? { channel: found.channelId, id: found.id } : undefined)),
      )
    },

    async find(interactionId, channel) {
      return (await known.get(interactionId)) ?? search(interactionId, channel)
    },

    used(interactionId) {
      known.set(interactionId, Promise.resolve(undefined))
    },

    showAs: (interactionId, text) =>
      finish(interactionId, (ref) => {
        const body = toEdit({ markdown: text, kind: 'activity' })
        return api.call('edit a placeholder', [], (rest) =>
          rest.patch(Routes.channelMessage(ref.channel, ref.id), { body }),
        )
      }),

    discard: (interactionId) =>
      finish(interactionId, (ref) =>
        api.call('remove a placeholder', [], (rest) => rest.delete(Routes.channelMessage(ref.channel, ref.id))),
      ),

    async whisper(token, text, buttons) {
      const tell = () => followUp(api, { applicationId: applicationId(), token }, text, buttons)
      try {
        const interactionId = idOfToken.get(token)
        const waiting = interactionId === undefined ? await isWaiting(token) : await known.get(interactionId)
        if (!waiting) return await tell()
        // The first follow-up would become the placeholder's text, for all to read. So the placeholder ends waiting first,
        // with nothing in it, and is taken away when the person has been told.
        await editOriginal(token, '…')
        const told = await tell()
        if (interactionId !== undefined) known.set(interactionId, Promise.resolve(undefined))
        await api.call('remove a placeholder', [], (rest) =>
          rest.delete(Routes.webhookMessage(applicationId(), token), { auth: false }),
        )
        return told
      } catch (error) {
        if (error instanceof PlatformError && error.kind === 'notFound') return false
        throw error
      }
    },
  }

  /** After a restart: whether the command's first answer is still the empty placeholder. */
  async function isWaiting(token: string): Promise<boolean> {
    const message = await api.call<APIMessage>('look for a placeholder', [], (rest) =>
      rest.get(Routes.webhookMessage(applicationId(), token), { auth: false }),
    )
    return ((message.flags ?? 0) & MessageFlags.Loading) !== 0
  }
}
