import {
  ApplicationCommandOptionType,
  ApplicationCommandType,
  ApplicationIntegrationType,
  InteractionContextType,
  type RESTPutAPIApplicationCommandsJSONBody,
  Routes,
} from 'discord.js'
import { PlatformError, SetupError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { DiscordApi } from './discordApi.ts'

/** A slash command with one text behind it, as the command registry describes it. */
export interface CommandSpec {
  /** Lower-case, at most 32 characters, without the slash. */
  name: string
  /** At most 100 characters. */
  description: string
  option: { name: string; description: string; required: boolean }
}

/**
 * Makes the commands known to Discord: in one server at once, everywhere within minutes. Replaces those that were there.
 *
 * @throws SetupError when the bot is not in the server of DISCORD_GUILD_ID
 */
export async function registerCommands(
  specs: readonly CommandSpec[],
  options: { api: DiscordApi; applicationId: string; guildId: string | undefined; log: Log },
): Promise<void> {
  const { api, applicationId, guildId, log } = options
  const route = guildId
    ? Routes.applicationGuildCommands(applicationId, guildId)
    : Routes.applicationCommands(applicationId)
  try {
    await api.call('register the commands', [], (rest) =>
      rest.put(route, { body: specs.map((spec) => commandOf(spec, guildId)) }),
    )
  } catch (error) {
    if (guildId && error instanceof PlatformError && ['forbidden', 'notFound'].includes(error.kind)) {
      throw notInGuild(guildId, applicationId, error)
    }
    log.error({ error }, 'the slash commands could not be registered; mentions work all the same')
  }
}

/** What to tell whoever set DISCORD_GUILD_ID to a server that the bot is not in. */
export function notInGuild(guildId: string, applicationId: string, cause?: unknown): SetupError {
  const invite = `https://discord.com/oauth2/authorize?client_id=${applicationId}&scope=bot+applications.commands&permissions=309237763136`
  return new SetupError(
    [
      {
        problem: `The bot is not in the Discord server ${guildId} that DISCORD_GUILD_ID names.`,
        mend: `Correct DISCORD_GUILD_ID, or invite the bot: ${invite}`,
      },
    ],
    { cause },
  )
}

function commandOf(
  { name, description, option }: CommandSpec,
  guildId: string | undefined,
): RESTPutAPIApplicationCommandsJSONBody[number] {
  return {
    type: ApplicationCommandType.ChatInput,
    name,
    description,
    options: [{ type: ApplicationCommandOptionType.String, ...option }],
    // Commands of one server have no contexts: they are never offered elsewhere.
    ...(guildId
      ? {}
      : {
          integration_types: [ApplicationIntegrationType.GuildInstall],
          contexts: [InteractionContextType.Guild, InteractionContextType.BotDM],
        }),
  }
}
