import { startSlackDouble } from '../doubles/slack/slackDouble.ts'
import { shownText } from '../doubles/slack/threadText.ts'
import { until } from './program.ts'
import { type ScenarioWorld, scenarioSuite } from './scenarioSuite.ts'

const CHANNEL = 'C0DEV'
const ASKER = 'U0ANNA'

async function slackWorld(): Promise<ScenarioWorld> {
  const double = await startSlackDouble()
  const tsOf = (thread: unknown) => thread as string
  return {
    settings: { SLACK_BOT_TOKEN: double.botToken, SLACK_APP_TOKEN: double.appToken, SLACK_API_URL: double.apiUrl },
    started: async () => {},
    begin: async (text) => double.mention(ASKER, CHANNEL, text),
    reply: async (thread, text) => {
      double.say(ASKER, CHANNEL, text, { threadTs: tsOf(thread) })
    },
    mention: async (thread, text) => {
      double.mention(ASKER, CHANNEL, text, { threadTs: tsOf(thread) })
    },
    async plan(task) {
      const before = new Set(double.world.channels.get(CHANNEL)!.messages.map(({ ts }) => ts))
      await double.command(ASKER, CHANNEL, '/plan', task)
      return until('/plan opens a thread', () => {
        return double.world.channels.get(CHANNEL)!.messages.find(({ ts, threadTs }) => !before.has(ts) && !threadTs)?.ts
      })
    },
    seen: (thread) =>
      double.thread(CHANNEL, tsOf(thread)).map((message) => ({
        id: message.ts,
        text: shownText(double.world, message),
        isBot: message.botId === double.world.app.botId,
      })),
    files: (thread) =>
      double.thread(CHANNEL, tsOf(thread)).flatMap(({ files }) => (files ?? []).map(({ name }) => name)),
    fileText: (thread, name) => {
      const file = double
        .thread(CHANNEL, tsOf(thread))
        .flatMap(({ files }) => files ?? [])
        .find((one) => one.name === name)
      return String(file!.content)
    },
    close: () => double.close(),
  }
}

scenarioSuite('Slack', slackWorld)
