import { setTimeout as delay } from 'node:timers/promises'
import {
  type APIInteractionResponse,
  type ButtonInteraction,
  RESTJSONErrorCodes as Code,
  InteractionResponseType,
  MessageFlags,
  type ModalSubmitInteraction,
  Routes,
} from 'discord.js'
import { messageOf, PlatformError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { Wording } from '../../shared/wording/wording.ts'
import type { Dialog } from '../platform.ts'
import { modalOf } from './dialog.ts'
import type { DiscordApi } from './discordApi.ts'
import { followUp, privately } from './ephemeral.ts'

/** What the person is told and shown; with neither, the click is only taken note of. */
export interface Answer {
  text?: string | undefined
  dialog?: Dialog | undefined
}

/**
 * Answers a click or a dialog that was sent off. Discord waits 3 seconds for the first answer, and a dialog can only be that
 * one. So what `answering` gives within `withinMs` is the first answer; else the person sees "thinking …" until it is there,
 * and is asked to press again for a dialog.
 *
 * Nothing that depends on a short-lived token may fail anybody: what can't be said is logged. `answering` must not reject.
 */
export type GiveAnswer = (
  interaction: ButtonInteraction | ModalSubmitInteraction,
  answering: Promise<Answer>,
) => Promise<void>

export function createAnswers(options: { api: DiscordApi; wording: Wording; log: Log; withinMs: number }): GiveAnswer {
  const { api, wording, log, withinMs } = options
  type Acted = Parameters<GiveAnswer>[0]

  const respond = ({ id, token }: Acted, body: APIInteractionResponse) =>
    api.call('answer an interaction', [], (rest) =>
      rest.post(Routes.interactionCallback(id, token), { body, auth: false }),
    )

  async function first(interaction: Acted, { dialog, text }: Answer): Promise<void> {
    if (!dialog) return sayFirst(interaction, text)
    try {
      await respond(interaction, { type: InteractionResponseType.Modal, data: modalOf(dialog) })
    } catch (error) {
      if (isOver(error)) throw error
      log.error({ error, interaction: interaction.id }, 'a dialog could not be opened')
      return sayFirst(interaction, both(text, wording.clickFailed))
    }
    if (text) await follow(interaction, text)
  }

  async function sayFirst(interaction: Acted, text: string | undefined): Promise<void> {
    if (!text) await respond(interaction, { type: InteractionResponseType.DeferredMessageUpdate })
    else await respond(interaction, { type: InteractionResponseType.ChannelMessageWithSource, data: privately(text) })
  }

  async function late(interaction: Acted, answering: Promise<Answer>): Promise<void> {
    await respond(interaction, {
      type: InteractionResponseType.DeferredChannelMessageWithSource,
      data: { flags: MessageFlags.Ephemeral },
    })
    const { text, dialog } = await answering
    const words = dialog ? both(text, wording.clickFailed) : text
    if (words) return follow(interaction, words)
    await api.call('take back "thinking"', [], (rest) =>
      rest.delete(Routes.webhookMessage(interaction.applicationId, interaction.token), { auth: false }),
    )
  }

  async function follow(interaction: Acted, text: string): Promise<void> {
    if (await followUp(api, interaction, text)) return
    log.info({ interaction: interaction.id }, 'an answer came after its interaction had ended; it was not shown')
  }

  return async (interaction, answering) => {
    try {
      const inTime = await Promise.race([answering, delay(withinMs, undefined, { ref: false })])
      if (inTime) await first(interaction, inTime)
      else await late(interaction, answering)
    } catch (error) {
      log.warn({ error, interaction: interaction.id }, `an interaction could not be answered: ${messageOf(error)}`)
    }
  }
}

/** Nothing can be answered any more: the 3 seconds or the 15 minutes have passed, or somebody has answered already. */
function isOver(error: unknown): boolean {
  if (!(error instanceof PlatformError)) return false
  return error.kind === 'notFound' || error.code === String(Code.InteractionHasAlreadyBeenAcknowledged)
}

function both(text: string | undefined, more: string): string {
  return text ? `${text}\n\n${more}` : more
}
