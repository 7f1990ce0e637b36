import { startSlackDouble } from '../doubles/slack/slackDouble.ts'
import { shownText } from '../doubles/slack/threadText.ts'
import type { Fields } from '../doubles/slack/world.ts'
import type { ApprovalWorld } from './approvalSuite.ts'
import { until } from './program.ts'

const CHANNEL = 'C0DEV'
const ASKER = 'U0ANNA'
const OTHER = 'U0BEN'

export async function slackWorld(): Promise<ApprovalWorld> {
  const double = await startSlackDouble()
  const tsOf = (thread: unknown) => thread as string

  /** Buttons with the messages that carry them, what only the asker sees at the end. */
  function pressable(thread: unknown): { ts: string; label: string }[] {
    const messages = [
      ...double.thread(CHANNEL, tsOf(thread)),
      ...double.world.ephemerals.filter(({ user }) => user === ASKER),
    ]
    return messages.flatMap(({ ts, blocks }) => labelsOf(blocks).map((label) => ({ ts, label })))
  }

  return {
    settings: double.env,
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

    severalPeople: true,
    tooManyLines: 800,
    buttons: (thread) => pressable(thread).map(({ label }) => label),
    async press(thread, label, by = 'asker') {
      const { ts } = pressable(thread).findLast((one) => one.label === label)!
      await double.click(by === 'asker' ? ASKER : OTHER, CHANNEL, ts, label)
    },
    async submit(fields) {
      await until('a dialog is open', () => double.openView(ASKER))
      await double.submitView(ASKER, fields)
    },
    async forge(thread, action, value) {
      const button = pressable(thread).find(({ label }) => label.toLowerCase().startsWith(action))!
      await double.click(ASKER, CHANNEL, button.ts, button.label, value)
    },
    saidAlone: () => double.world.ephemerals.map(({ text }) => text).join('\n'),
    close: () => double.close(),
  }
}

function labelsOf(blocks: Fields[] | undefined): string[] {
  const rows = (blocks ?? []).filter(({ type }) => type === 'actions')
  return rows.flatMap(({ elements }) => (elements as { text: Fields }[]).map(({ text }) => String(text.text)))
}
