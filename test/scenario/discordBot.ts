import { afterEach, beforeEach } from 'vitest'
import { type DiscordDouble, startDiscordDouble } from '../doubles/discord/server.ts'
import { type LlmDouble, startLlmDouble } from '../doubles/llm/server.ts'
import { makeHome, type Program, type ProgramHome, until } from './program.ts'

/** The started program beside a Discord and a model server of its own, for each test of the calling `describe`. */
export function useDiscordBot() {
  const bot = {
    discord: undefined as unknown as DiscordDouble,
    llm: undefined as unknown as LlmDouble,
    home: undefined as unknown as ProgramHome,
    program: undefined as unknown as Program,
    shows: (channel: string, text: string, ms?: number) =>
      until(`the thread shows "${text}"`, () => bot.discord.text(channel).includes(text), {
        ...(ms && { ms }),
        seen: () => `${bot.discord.text(channel)}\n${bot.program.stderr().slice(-3000)}`,
      }),
  }

  beforeEach(async () => {
    bot.discord = await startDiscordDouble()
    bot.llm = await startLlmDouble()
    bot.home = makeHome({
      ...bot.discord.env,
      ...bot.llm.env,
    })
    bot.program = await bot.home.start()
  })
  afterEach(async () => {
    await bot.home.remove()
    await Promise.all([bot.discord.close(), bot.llm.close()])
  })

  return bot
}
