import { startDiscordDouble } from '../doubles/discord/server.ts'
import { until } from './program.ts'
import { type ScenarioWorld, scenarioSuite } from './scenarioSuite.ts'

/** A mention in a text channel opens a thread whose id is that of the message. */
async function discordWorld(): Promise<ScenarioWorld> {
  const double = await startDiscordDouble()
  const alice = double.aliceId
  const idOf = (thread: unknown) => thread as string
  const spoken = (thread: unknown) => double.messages(idOf(thread)).filter(({ type }) => [0, 19, 20].includes(type))
  return {
    settings: { DISCORD_TOKEN: double.token, DISCORD_API_URL: double.apiUrl, DISCORD_GUILD_ID: double.guildId },
    started: async () => {},
    begin: async (text) => double.mention(alice, double.channelId, text).id,
    reply: async (thread, text) => {
      double.say(alice, idOf(thread), text)
    },
    mention: async (thread, text) => {
      double.mention(alice, idOf(thread), text)
    },
    async plan(task) {
      double.slash(alice, double.channelId, 'plan', { task })
      return until('/plan opens a thread', () => {
        const placeholder = double.botMessages(double.channelId).at(-1)
        return placeholder && double.messages(placeholder.id).length > 0 ? placeholder.id : null
      })
    },
    seen: (thread) =>
      spoken(thread).map(({ id, content, author }) => ({ id, text: content, isBot: author.id === double.botId })),
    files: (thread) => spoken(thread).flatMap(({ attachments }) => attachments.map(({ filename }) => filename)),
    async fileText(thread, name) {
      const file = spoken(thread)
        .flatMap(({ attachments }) => attachments)
        .find(({ filename }) => filename === name)
      return (await fetch(file!.url)).text()
    },
    close: () => double.close(),
  }
}

scenarioSuite('Discord', discordWorld)
