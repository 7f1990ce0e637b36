import type { ButtonInteraction, ChatInputCommandInteraction, Interaction } from 'discord.js'
import { messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { ThreadRef } from '../../shared/thread.ts'
import type { Wording } from '../../shared/wording/wording.ts'
import type { IncomingCommand, PlatformInbox, Receipt, Sender } from '../platform.ts'
import type { Deliveries } from './deliveries.ts'
import type { DiscordApi } from './discordApi.ts'
import { followUp } from './ephemeral.ts'
import { DM_ACCOUNT, opensThreads, threadOf } from './incoming.ts'
import { readButton } from './payload.ts'
import type { People } from './people.ts'
import type { Placeholders } from './placeholders.ts'

/** Hears commands and clicks. Each is acknowledged before anything else is waited for: Discord gives 3 seconds. */
export function createInteractions(options: {
  api: DiscordApi
  deliveries: Deliveries
  placeholders: Placeholders
  people: People
  wording: Wording
  log: Log
  inbox: () => PlatformInbox
}) {
  const { api, deliveries, placeholders, people, wording, log, inbox } = options

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

  async function onClick(interaction: ButtonInteraction): Promise<void> {
    const button = readButton(interaction.customId)
    if (!button) return
    await acknowledge('a click', interaction.deferUpdate())
    let text: string | undefined
    try {
      const answer = await inbox().click({
        ...button,
        id: interaction.id,
        thread: threadOfClick(interaction),
        ref: { channel: interaction.channelId, id: interaction.message.id },
        author: senderOf(interaction),
        at: interaction.createdTimestamp,
      })
      text = answer.text
    } catch (error) {
      log.error({ error, click: interaction.id }, 'a click could not be handled')
      text = wording.runFailed
    }
    if (text) await followUp(api, interaction.applicationId, interaction.token, text)
  }

  /** A click on a message that answers in a channel, for lack of the right to open threads, belongs to the asked message. */
  function threadOfClick(interaction: ButtonInteraction): ThreadRef {
    const { message, channelId } = interaction
    const thread = threadOf(message, interaction.client.user.id)
    const root = message.reference?.messageId
    return thread.thread === message.id && root ? { ...thread, id: root, thread: root, channel: channelId } : thread
  }

  function senderOf(interaction: Interaction): Sender {
    const { user, guildId } = interaction
    if (interaction.inCachedGuild()) people.heard(guildId ?? DM_ACCOUNT, interaction.member)
    const name = interaction.inCachedGuild() ? interaction.member.displayName : user.displayName
    return { id: user.id, name, isBot: user.bot, isExternal: guildId !== null && !interaction.inCachedGuild() }
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
      author: senderOf(interaction),
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
    else if (interaction.isButton()) onClick(interaction).catch((error) => failed(error, 'a click'))
  }
}
