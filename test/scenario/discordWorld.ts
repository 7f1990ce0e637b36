import type { Interaction } from '../doubles/discord/interactions.ts'
import { startDiscordDouble } from '../doubles/discord/server.ts'
import type { ApprovalWorld } from './approvalSuite.ts'
import { until } from './program.ts'

/** A mention in a text channel opens a thread whose id is that of the message. */
export async function discordWorld(): Promise<ApprovalWorld> {
  const double = await startDiscordDouble()
  // May manage the server, so that she is an admin of the bot.
  const alice = double.user('Ada', { permissions: ['MANAGE_GUILD'] })
  const other = double.aliceId
  const idOf = (thread: unknown) => thread as string
  const spoken = (thread: unknown) => double.messages(idOf(thread)).filter(({ type }) => [0, 19, 20].includes(type))
  let pressed: Interaction | null = null

  function pressable(thread: unknown): { id: string; label: string }[] {
    return spoken(thread).flatMap(({ id, components }) =>
      components.flatMap((row) => row.components).flatMap(({ label }) => (label ? [{ id, label }] : [])),
    )
  }

  return {
    settings: double.env,
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

    severalPeople: true,
    tooManyLines: 800,
    buttons: (thread) => pressable(thread).map(({ label }) => label),
    async press(thread, label, by = 'asker') {
      const { id } = pressable(thread).findLast((one) => one.label === label)!
      const act = double.click(by === 'asker' ? alice : other, idOf(thread), id, label)
      pressed = act
      await until('the click is answered', () => act.answeredWith !== undefined)
    },
    async submit(fields) {
      const opener = await until('a modal is open', () => (pressed?.modal ? pressed : null))
      double.sendOff(opener, fields)
    },
    async forge(thread, action, value) {
      double.forgeClick(alice, idOf(thread), `toycoder:${action}:${value}`)
    },
    saidAlone: () => [alice, other].flatMap((id) => double.saidAlone(id).map(({ content }) => content)).join('\n'),
    close: () => double.close(),
  }
}
