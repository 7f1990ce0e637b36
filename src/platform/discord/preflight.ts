import { type Client, PermissionFlagsBits } from 'discord.js'
import type { Log } from '../../shared/log.ts'

/** The rights that answering in threads needs, by the names of the server settings. */
const NEEDED = {
  'View Channels': PermissionFlagsBits.ViewChannel,
  'Send Messages': PermissionFlagsBits.SendMessages,
  'Create Public Threads': PermissionFlagsBits.CreatePublicThreads,
  'Send Messages in Threads': PermissionFlagsBits.SendMessagesInThreads,
  'Read Message History': PermissionFlagsBits.ReadMessageHistory,
  'Attach Files': PermissionFlagsBits.AttachFiles,
  'Add Reactions': PermissionFlagsBits.AddReactions,
}

/** Says in the log which rights the bot lacks in a server. Channels may still give or take some. */
export function warnOfMissingRights(client: Client, log: Log): void {
  for (const guild of client.guilds.cache.values()) {
    const rights = guild.members.me?.permissions
    if (!rights) continue
    const missing = Object.entries(NEEDED).flatMap(([name, right]) => (rights.has(right) ? [] : [name]))
    if (missing.length > 0) {
      log.warn({ server: guild.name, missing }, `the bot lacks rights in ${guild.name}: ${missing.join(', ')}`)
    }
  }
}
