import type { ButtonInteraction, ModalSubmitInteraction } from 'discord.js'
import type { Log } from '../../shared/log.ts'
import type { Wording } from '../../shared/wording/wording.ts'
import type { PlatformInbox, SubmitAnswer } from '../platform.ts'
import type { Answer, GiveAnswer } from './answers.ts'
import { typedFields } from './dialog.ts'
import { senderOf, threadOfAct } from './origin.ts'
import { readId } from './payload.ts'
import type { People } from './people.ts'

/**
 * Hears clicks and dialogs that were sent off. Discord never tells one again, so a failure is told to the person. They wait
 * for nothing that goes on in their thread.
 */
export function createActs(options: {
  people: People
  wording: Wording
  log: Log
  inbox: () => PlatformInbox
  answer: GiveAnswer
}) {
  const { people, wording, log, inbox, answer } = options

  /** What a click and a dialog have in common. `action` and `value` are only what somebody sent. */
  function actOf(interaction: ButtonInteraction | ModalSubmitInteraction, named: { action: string; value: string }) {
    return {
      ...named,
      id: interaction.id,
      thread: threadOfAct(interaction),
      author: senderOf(interaction, people),
      at: interaction.createdTimestamp,
    }
  }

  async function onClick(interaction: ButtonInteraction): Promise<void> {
    const named = readId(interaction.customId)
    if (!named) {
      log.debug({ interaction: interaction.id }, 'a button was pressed that is none of ours')
      return answer(interaction, Promise.resolve({}))
    }
    await answer(
      interaction,
      taken(interaction, wording.clickFailed, async () => {
        const ref = { channel: interaction.channelId, id: interaction.message.id }
        return inbox().click({ ...actOf(interaction, named), ref })
      }),
    )
  }

  /** Discord closes a dialog when it is sent off. So whoever has to correct something gets back what they typed. */
  async function onSubmit(interaction: ModalSubmitInteraction): Promise<void> {
    const named = readId(interaction.customId)
    if (!named) {
      log.warn({ interaction: interaction.id }, 'a dialog was sent off that is none of ours')
      return answer(interaction, Promise.resolve({}))
    }
    const fields = typedFields(interaction)
    const typed = Object.values(fields).filter((text) => text !== '')
    const failed = [wording.clickFailed, ...typed.map(fenced)].join('\n\n')
    const submitted = taken(interaction, failed, async () => {
      const told = await inbox().submit({ ...actOf(interaction, named), fields })
      return { text: wordsOf(told, fields) }
    })
    await answer(interaction, submitted)
  }

  async function taken({ id }: { id: string }, failed: string, hand: () => Promise<Answer>): Promise<Answer> {
    try {
      return await hand()
    } catch (error) {
      log.error({ error, interaction: id }, 'a click or dialog was not taken')
      return { text: failed }
    }
  }

  return { onClick, onSubmit }
}

/** The answer with its errors, one a line, each with what was typed there. */
function wordsOf({ text, errors = {} }: SubmitAnswer, fields: Record<string, string>): string | undefined {
  const lines = Object.entries(errors).map(([name, line]) => {
    const typed = fields[name]
    return typed ? `${line}\n\n${fenced(typed)}` : line
  })
  return [...(text ? [text] : []), ...lines].join('\n\n') || undefined
}

function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}\n${text}\n${fence}`
}
