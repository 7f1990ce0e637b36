import type { ChatInputCommandInteraction, Interaction } from 'discord.js'
import { messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { ThreadRef } from '../../shared/thread.ts'
import type { Wording } from '../../shared/wording/wording.ts'
import type { IncomingCommand, PlatformInbox, Receipt } from '../platform.ts'
import { createActs } from './acts.ts'
import { createAnswers } from './answers.ts'
import type { Deliveries } from './deliveries.ts'
import type { DiscordApi } from './discordApi.ts'
import { DM_ACCOUNT, opensThreads } from './incoming.ts'
import { senderOf } from './origin.ts'
import type { People } from './people.ts'
import type { Placeholders } from './placeholders.ts'

/** A click that is not answered by then is announced; Discord gives 3 seconds. */
const ANSWER_WITHIN_MS = 2_000

/** Hears commands, clicks and dialogs. A command is acknowledged before anything else is waited for. */
export function createInteractions(options: {
  api: DiscordApi
  deliveries: Deliveries
  placeholders: Placeholders
  people: People
  wording: Wording
  log: Log
  inbox: () => PlatformInbox
  /** Milliseconds until a click or dialog without an answer is told that it takes longer; 2 s. */
  answerWithinMs?: number
}) {
  const { deliveries, placeholders, people, log, inbox, answerWithinMs: withinMs = ANSWER_WITHIN_MS } = options
  const acts = createActs({ ...options, answer: createAnswers({ ...options, withinMs }) })

  async function onCommand(interaction: ChatInputCommandInteraction): Promise<void> {
    const deferred = acknowledge('a command', interaction.deferReply({ withResponse: true }))
    const message = deferred.then((response) => response?.resource?.message ?? undefined)
    placeholders.begun(interaction.id, interaction.token, message)
    const command = commandOf(interaction)
    const answered = (receipt: Receipt) => settle(command, receipt).catch((error) => failed(error, 'a command'))
    deliveries.add({
      lane: command.thread?.id ?? interaction.id,
      order: interaction.id,
      run: async () => {
        const receipt = await inbox().command(command)
        void answered(receipt)
      },
    })
    await deferred
  }

  /** What becomes of the placeholder, unless it is kept for the thread that the command opens. */
  async function settle(command: IncomingCommand, receipt: Receipt): Promise<void> {
    if (receipt.outcome === 'refused') await placeholders.whisper(command.token, receipt.text)
    else if (receipt.outcome === 'ignored') await placeholders.discard(command.id)
    else if (command.thread) await placeholders.showAs(command.id, `\`/${command.name}\` ${command.text}`.trim())
  }

  function commandOf(interaction: ChatInputCommandInteraction): IncomingCommand {
    const { channel, channelId, guildId, commandName } = interaction
    const account = guildId ?? DM_ACCOUNT
    const inThread = channel?.isThread() ?? false
    const parent = channel?.isThread() ? (channel.parentId ?? channel.id) : channelId
    // A server's channel that is not cached is most likely a text channel.
    const hasThreads = channel === null ? guildId !== null : opensThreads(channel.type)
    const thread: ThreadRef | undefined = inThread
      ? { platform: 'discord', account, id: channelId, channel: parent, thread: channelId }
      : hasThreads
        ? undefined
        : { platform: 'discord', account, id: channelId, channel: channelId }
    return {
      id: interaction.id,
      place: { platform: 'discord', account, channel: parent },
      ...(thread ? { thread } : {}),
      author: senderOf(interaction, people),
      name: commandName,
      text: interaction.options.data.map(({ value }) => String(value ?? '')).join(' '),
      at: interaction.createdTimestamp,
      token: interaction.token,
    }
  }

  /** A late or doubled acknowledgement is no reason to lose the event: another process may have been faster. */
  async function acknowledge<T>(what: string, answer: Promise<T>): Promise<T | undefined> {
    try {
      return await answer
    } catch (error) {
      log.warn({ error }, `${what} could not be acknowledged: ${messageOf(error)}`)
      return undefined
    }
  }

  const failed = (error: unknown, what: string) => log.error({ error }, `${what} could not be answered`)

  return (interaction: Interaction): void => {
    if (interaction.isChatInputCommand()) onCommand(interaction).catch((error) => failed(error, 'a command'))
    else if (interaction.isButton()) acts.onClick(interaction).catch((error) => failed(error, 'a click'))
    else if (interaction.isModalSubmit()) acts.onSubmit(interaction).catch((error) => failed(error, 'a dialog'))
  }
}
