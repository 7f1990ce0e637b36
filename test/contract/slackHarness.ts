import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createSlackPlatform, type SlackOptions, type SlackPlatform } from '../../src/platform/slack/slackPlatform.ts'
import { type Log, silentLog } from '../../src/shared/log.ts'
import { type SlackDouble, startSlackDouble } from '../doubles/slack/slackDouble.ts'
import { buttonsOf, ephemeralText, shownText } from '../doubles/slack/threadText.ts'
import { inputsOf } from '../doubles/slack/views.ts'
import type { Fields } from '../doubles/slack/world.ts'
import type { CardHarness, CardHooks } from './cardSuite.ts'
import { createRecordingInbox, type RecordingInbox } from './recordingInbox.ts'

export interface SlackHarness extends CardHarness {
  double: SlackDouble
  platform: SlackPlatform
  inbox: RecordingInbox
  /** Where Slack's requests go in HTTP mode. */
  eventsUrl?: string
}

export type SlackMode = 'socket' | 'http'

/** The real adapter with real Bolt, started against a double of its own. */
export async function startSlack(mode: SlackMode, overrides: Partial<SlackOptions> = {}): Promise<SlackHarness> {
  const double = await startSlackDouble()
  // Long enough that a busy machine acknowledges in time, short enough for tests that wait for it.
  double.deliveries.redeliverAfterMs = 1_000
  const platform = slackFor(double, mode, overrides)
  const inbox = createRecordingInbox()
  const server = platform.httpHandler && createServer(platform.httpHandler)
  let eventsUrl: string | undefined
  if (server) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    eventsUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/slack/events`
    double.deliverTo(eventsUrl)
  }
  await platform.start(inbox)
  const { world } = double
  return {
    double,
    platform,
    inbox,
    ...(eventsUrl && { eventsUrl }),
    cards: cardHooks(double),
    async close() {
      await platform.stop()
      server?.closeAllConnections()
      if (server) await new Promise((resolve) => server.close(resolve))
      await double.close()
    },
    hooks: {
      place: { platform: 'slack', account: 'T0DOUBLE', channel: 'C0DEV' },
      people: { admin: 'U0ANNA', member: 'U0BEN', guest: 'U0GUEST', bot: 'U0CI' },
      async mention(text, thread) {
        double.mention('U0BEN', 'C0DEV', text, thread?.thread ? { threadTs: thread.thread } : {})
      },
      async reply(thread, text) {
        double.say('U0BEN', thread.channel, text, { threadTs: thread.thread! })
      },
      async direct(text) {
        double.direct('U0BEN', text)
      },
      view: (thread) =>
        double.thread(thread.channel, thread.thread!).map((message) => ({
          id: message.ts,
          author: message.botId === world.app.botId ? 'bot' : 'person',
          text: shownText(world, message),
          files: (message.files ?? []).map(({ name }) => name),
        })),
      pings: (thread) => {
        const noted = world.notified.filter((note) => note.thread === thread.thread)
        return [...new Set(noted.map(({ who }) => who))]
      },
      async deleteMessage(ref) {
        double.deleteMessage(ref.channel, ref.id)
      },
      failNext(operation, how) {
        const method = {
          post: 'chat.postMessage',
          edit: 'chat.update',
          upload: 'files.completeUploadExternal',
          react: 'reactions.add',
          status: 'assistant.threads.setStatus',
        }[operation]
        if (how === 'rateLimited') double.fail(method, { kind: 'rateLimited', retryAfter: 2 })
        else double.fail(method, { kind: 'http', status: 500, afterEffect: how === 'stored' })
      },
    },
  }
}

function cardHooks(double: SlackDouble): CardHooks {
  const { world } = double
  const labels = (blocks: Fields[] | undefined) => buttonsOf(blocks).map(({ text }) => String((text as Fields).text))
  let lastPressed = ''
  return {
    buttons: (ref) => labels(world.channels.get(ref.channel)!.messages.find(({ ts }) => ts === ref.id)?.blocks),
    async pressButton(ref, label, by) {
      lastPressed = by
      await double.click(by, ref.channel, ref.id, label)
    },
    openedDialog() {
      const open = double.openView(lastPressed)
      if (!open) return null
      const words = (value: unknown) => String((value as Fields).text)
      return {
        title: words(open.view.title),
        submit: words(open.view.submit),
        errors: open.errors,
        fields: inputsOf(open.view).map(({ block_id: name, label, element, optional }) => ({
          name: String(name),
          label: words(label),
          value: open.values[String(name)]!,
          multiline: (element as Fields).multiline === true,
          required: optional !== true,
        })),
      }
    },
    async submitDialog(fields) {
      await double.submitView(lastPressed, fields)
    },
    saidAlone: (person) =>
      world.ephemerals
        .filter(({ user }) => user === person)
        .map((words) => ({
          ref: { channel: words.channel, id: words.ts },
          text: ephemeralText(world, words),
          buttons: labels(words.blocks),
        })),
  }
}

/** The adapter for a double, not started. */
export function slackFor(double: SlackDouble, mode: SlackMode, overrides: Partial<SlackOptions> = {}): SlackPlatform {
  return createSlackPlatform({
    botToken: double.botToken,
    ...(mode === 'socket' ? { appToken: double.appToken } : { signingSecret: double.signingSecret }),
    apiUrl: double.apiUrl,
    log: silentLog,
    callTimeoutMs: 2_000,
    startTimeoutMs: 5_000,
    ...overrides,
  })
}

/** A log that keeps its lines, to see what whoever runs the bot is told. */
export function recordingLog(): Log & { lines: { level: string; fields: object; message: string }[] } {
  const lines: { level: string; fields: object; message: string }[] = []
  const at = (level: string) => (fields: object, message: string) => void lines.push({ level, fields, message })
  const log = { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: () => log }
  return log
}
