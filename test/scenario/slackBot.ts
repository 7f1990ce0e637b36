import { afterEach, beforeEach } from 'vitest'
import { type LlmDouble, startLlmDouble } from '../doubles/llm/server.ts'
import { type SlackDouble, startSlackDouble } from '../doubles/slack/slackDouble.ts'
import { makeHome, type Program, type ProgramHome, until } from './program.ts'

export const CHANNEL = 'C0DEV'

/** The started program beside a Slack and a model server of its own, for each test of the calling `describe`. */
export function useSlackBot() {
  const bot = {
    slack: undefined as unknown as SlackDouble,
    llm: undefined as unknown as LlmDouble,
    home: undefined as unknown as ProgramHome,
    program: undefined as unknown as Program,
    shows: (ts: string, text: string, ms?: number) =>
      until(`the thread shows "${text}"`, () => bot.slack.threadText(CHANNEL, ts).includes(text), {
        ...(ms && { ms }),
        seen: () => `${bot.slack.threadText(CHANNEL, ts)}\n${bot.program.stderr().slice(-3000)}`,
      }),
  }

  beforeEach(async () => {
    bot.slack = await startSlackDouble()
    bot.llm = await startLlmDouble()
    bot.home = makeHome({
      ...bot.slack.env,
      ...bot.llm.env,
    })
    bot.program = await bot.home.start()
  })
  afterEach(async () => {
    await bot.home.remove()
    await Promise.all([bot.slack.close(), bot.llm.close()])
  })

  return bot
}
