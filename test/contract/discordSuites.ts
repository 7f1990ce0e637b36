import { createDiscordPlatform } from '../../src/platform/discord/discordPlatform.ts'
import { silentLog } from '../../src/shared/log.ts'
import type { ThreadRef } from '../../src/shared/thread.ts'
import { type DiscordDouble, startDiscordDouble } from '../doubles/discord/server.ts'
import type { Message } from '../doubles/discord/world.ts'
import type { CardHarness, CardHooks } from './cardSuite.ts'
import { createRecordingInbox } from './recordingInbox.ts'

const ROUTES = {
  post: 'POST /channels/:id/messages',
  edit: 'PATCH /channels/:id/messages/:id',
  upload: 'POST /channels/:id/messages',
  react: 'PUT /channels/:id/messages/:id/reactions/:emoji/@me',
  status: 'POST /channels/:id/typing',
}

/** The real adapter, started against a double of its own, with the hooks of the shared suites. */
export async function startDiscord(): Promise<CardHarness> {
  const double = await startDiscordDouble({ rateLimits: false })
  const { aliceId: alice, channelId: channel, guildId: account } = double
  const inbox = createRecordingInbox()
  const platform = createDiscordPlatform({ token: double.token, apiUrl: double.apiUrl, log: silentLog })
  await platform.start(inbox)

  /** A thread of a mention is opened by the first answer; where a person writes first, the person opens it. */
  const opened = ({ id }: ThreadRef) => {
    if (!double.world.channels.has(id)) double.thread(alice, channel, 'a talk', id)
    return id
  }

  return {
    platform,
    inbox,
    cards: cardHooks(double),
    hooks: {
      mention: async (text, thread) => void double.mention(alice, thread ? opened(thread) : channel, text),
      reply: async (thread, text) => void double.say(alice, opened(thread), text),
      direct: async (text) => void double.dm(alice, text),
      place: { platform: 'discord', account, channel },
      view: ({ id, channel: parent }) =>
        [...(double.find(parent, id) ?? []), ...double.messages(id)]
          .filter(({ type }) => type === 0 || type === 19)
          .map((message) => ({
            id: message.id,
            author: message.author.id === double.botId ? ('bot' as const) : ('person' as const),
            text: message.content,
            files: message.attachments.map(({ filename }) => filename),
          })),
      pings: ({ id }) =>
        double.botMessages(id).flatMap((message) => {
          const { everyone, users, roles } = double.notified(id, message.id)!
          return [...(everyone ? ['everyone'] : []), ...users, ...roles]
        }),
      deleteMessage: async (ref) => void double.remove(ref.channel, ref.id),
      failNext(operation, how) {
        const route = ROUTES[operation]
        if (how === 'rateLimited') double.fault({ route, status: 429, retryAfter: 2 })
        else double.fault({ route, status: 502, after: how === 'stored' })
      },
      people: {
        admin: double.user('Ada', { permissions: ['MANAGE_GUILD'] }),
        member: alice,
        bot: double.user('another bot', { bot: true }),
      },
    },
    async close() {
      await platform.stop()
      await double.close()
    },
  }
}

/** Cards and dialogs as people see them on Discord. */
function cardHooks(double: DiscordDouble): CardHooks {
  let pressed: ReturnType<DiscordDouble['click']> | undefined
  const labels = ({ components }: Pick<Message, 'components'>) =>
    components.flatMap((row) => row.components.map(({ label }) => label ?? ''))
  /** Answered, or told as failed by Discord's client. */
  const settled = async (interaction: { answeredWith?: number }) => {
    await double.waitFor('an answer', () => interaction.answeredWith !== undefined)
  }
  return {
    buttons: (ref) => double.find(ref.channel, ref.id).flatMap(labels),
    async pressButton(ref, label, by) {
      pressed = double.click(by, ref.channel, ref.id, label)
      await settled(pressed)
    },
    openedDialog() {
      const modal = pressed?.modal
      if (!modal) return null
      const fields = modal.inputs.map(({ name, label, value, multiline, required }) => ({
        ...{ name, label, value, multiline, required },
      }))
      // Discord's own words stand on a modal's buttons, and it closes before anybody can say what is wrong.
      return { title: modal.title, submit: '', fields, errors: {} }
    },
    async submitDialog(fields) {
      if (pressed) await settled(double.sendOff(pressed, fields))
    },
    saidAlone: (person) =>
      double.saidAlone(person).map((message) => ({
        ref: { channel: message.channel_id, id: message.id },
        text: message.content,
        buttons: labels(message),
      })),
  }
}
