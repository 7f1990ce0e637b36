import type { ButtonInteraction, Interaction, ModalSubmitInteraction } from 'discord.js'
import type { ThreadRef } from '../../shared/thread.ts'
import type { Sender } from '../platform.ts'
import { DM_ACCOUNT, opensThreads } from './incoming.ts'
import type { People } from './people.ts'

/** Who acts, by what the interaction itself tells. */
export function senderOf(interaction: Interaction, people: People): Sender {
  const { user, guildId } = interaction
  if (interaction.inCachedGuild()) people.heard(guildId ?? DM_ACCOUNT, interaction.member)
  const name = interaction.inCachedGuild() ? interaction.member.displayName : user.displayName
  return { id: user.id, name, isBot: user.bot, isExternal: guildId !== null && !interaction.inCachedGuild() }
}

/**
 * Where somebody clicked or sent a dialog off, by the channel that Discord names; nothing that the bot once wrote into a
 * button counts. A message that answers in a channel, for lack of the right to open threads, belongs to the asked message.
 */
export function threadOfAct(interaction: ButtonInteraction | ModalSubmitInteraction): ThreadRef {
  const { channel, guildId, message } = interaction
  const id = interaction.channelId ?? message?.channelId ?? ''
  const here = { platform: 'discord', account: guildId ?? DM_ACCOUNT } as const
  if (channel?.isThread()) return { ...here, id, channel: channel.parentId ?? id, thread: id }
  // A place that the bot does not know, such as another server's, is told by its id alone.
  if (!channel || !message || !opensThreads(channel.type)) return { ...here, id, channel: id }
  const root = message.reference?.messageId ?? message.id
  return { ...here, id: root, channel: id, thread: root }
}
