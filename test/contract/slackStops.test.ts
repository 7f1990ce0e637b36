import { afterEach, describe, expect, test } from 'vitest'
import type { ThreadRef } from '../../src/shared/thread.ts'
import { until } from './recordingInbox.ts'
import { recordingLog, type SlackHarness, slackFor, startSlack } from './slackHarness.ts'

const CHANNEL = 'C0DEV'

describe('stopping by Slack’s own means', () => {
  let slack: SlackHarness
  afterEach(() => slack?.close())

  const asked = async () => {
    const ts = slack.double.mention('U0BEN', CHANNEL, 'go')
    const [message] = await slack.inbox.received(1)
    return { ts, thread: message!.thread }
  }
  const stops = async (count: number) => {
    await until(() => slack.inbox.stops.length >= count, `${count} stop(s)`)
    return slack.inbox.stops
  }
  const post = (thread: ThreadRef, key: string) =>
    slack.platform.post(thread, { markdown: 'At work', kind: 'answer', live: true }, { key })

  for (const mode of ['socket', 'http'] as const) {
    test(`the native Stop button arrives as a stop of its thread (${mode})`, async () => {
      slack = await startSlack(mode)
      const { ts, thread } = await asked()
      slack.double.pressStop('U0ANNA', CHANNEL, ts)
      const [stop] = await stops(1)
      expect(stop).toMatchObject({ thread, author: { id: 'U0ANNA', isBot: false } })
      expect(stop).not.toHaveProperty('on')
    })
  }

  test('a stop sign on a message of the bot’s stops, whichever of its names it has', async () => {
    slack = await startSlack('socket')
    const { thread } = await asked()
    const ref = await post(thread, 'k')
    for (const name of ['octagonal_sign', 'stop_sign', 'black_square_for_stop']) {
      slack.double.react('U0ANNA', CHANNEL, ref.id, name)
    }
    for (const stop of await stops(3)) {
      expect(stop).toMatchObject({ thread, author: { id: 'U0ANNA' } })
      expect(stop).not.toHaveProperty('on')
    }
    expect(new Set(slack.inbox.stops.map(({ id }) => id)).size).toBe(3)
  })

  test('one on a person’s message says which, and other reactions and the bot’s own say nothing', async () => {
    slack = await startSlack('socket')
    const { ts, thread } = await asked()
    slack.double.react('U0ANNA', CHANNEL, ts, 'thumbsup')
    slack.double.react('U0BOT', CHANNEL, ts, 'octagonal_sign')
    slack.double.react('U0ANNA', CHANNEL, ts, 'octagonal_sign')
    const [stop] = await stops(1)
    expect(stop).toMatchObject({ thread, on: { channel: CHANNEL, id: ts }, author: { id: 'U0ANNA' } })
    await until(() => slack.double.deliveries.pending() === 0, 'everything is acknowledged')
    expect(slack.inbox.stops.length).toBe(1)
  })

  test('after a restart Slack is asked which thread a message stands in', async () => {
    slack = await startSlack('socket')
    const { thread } = await asked()
    const ref = await post(thread, 'k')
    await slack.platform.stop()
    const second = slackFor(slack.double, 'socket')
    await second.start(slack.inbox)
    slack.double.react('U0ANNA', CHANNEL, ref.id, 'octagonal_sign')
    expect((await stops(1))[0]).toMatchObject({ thread })
    await second.stop()
  })

  test('a stop that could not be stored is not acknowledged and comes again as the same one', async () => {
    slack = await startSlack('socket')
    const { ts } = await asked()
    await until(() => slack.double.deliveries.pending() === 0, 'the mention is acknowledged')
    slack.inbox.failNext(1)
    slack.double.pressStop('U0ANNA', CHANNEL, ts)
    expect((await stops(1)).length).toBe(1)
  })
})

describe('what Slack shows of the bot at work', () => {
  let slack: SlackHarness
  const log = recordingLog()
  afterEach(async () => {
    await slack?.close()
    log.lines.length = 0
  })

  const begin = async () => {
    slack = await startSlack('socket', { log })
    const ts = slack.double.mention('U0BEN', CHANNEL, 'go')
    const [message] = await slack.inbox.received(1)
    return { place: `${CHANNEL}:${ts}`, thread: message!.thread, ref: message!.ref }
  }

  test('the session is processing while it works, suspended while it waits for people, and active at the end', async () => {
    const { place, thread, ref } = await begin()
    const { world } = slack.double
    await slack.platform.status(thread, 'is working…')
    await until(() => world.sessions.get(place) === 'processing', 'processing')
    await slack.platform.status(thread, 'is working…')
    await slack.platform.status(thread, null)
    await slack.platform.react(thread, ref, 'waiting')
    await until(() => world.sessions.get(place) === 'suspended', 'suspended')
    await slack.platform.status(thread, 'is working…')
    await slack.platform.status(thread, null)
    await until(() => world.sessions.get(place) === 'active', 'active')
    expect(world.statuses.has(place)).toBe(false)
    expect(log.lines.filter(({ level }) => level === 'warn')).toEqual([])
  })

  test('a late renewal of the status never comes after its end', async () => {
    const { place, thread } = await begin()
    slack.double.fail('assistant.threads.setStatus', { kind: 'slow', ms: 300 })
    await Promise.all([slack.platform.status(thread, 'is working…'), slack.platform.status(thread, null)])
    expect(slack.double.world.statuses.has(place)).toBe(false)
    expect(slack.double.calls('assistant.threads.setStatus').map(({ args }) => args.status)).toEqual([
      'is working…',
      '',
    ])
  })

  test('an app that is no agent works on without sessions, and the log says once what mends it', async () => {
    const { thread, ref } = await begin()
    slack.double.world.agent.isDeclared = false
    await slack.platform.status(thread, 'is working…')
    const told = () => log.lines.filter(({ message }) => message.includes('agent sessions'))
    await until(() => told().length > 0, 'a line in the log')
    await slack.platform.status(thread, null)
    await slack.platform.react(thread, ref, 'waiting')
    await slack.platform.status(thread, 'is working…')
    expect(told()).toEqual([
      {
        level: 'warn',
        fields: expect.objectContaining({ mend: expect.stringContaining('agent_view') }),
        message: expect.any(String),
      },
    ])
    expect(slack.double.calls('agents.sessions.setStatus').length).toBe(1)
  })

  test('where the app is not subscribed to the Stop button, the log names the mend once', async () => {
    const { thread } = await begin()
    slack.double.world.agent.hearsStop = false
    await slack.platform.status(thread, 'is working…')
    await slack.platform.status(thread, null)
    await until(() => slack.double.calls('agents.sessions.setStatus').length === 2, 'both states are set')
    const told = () => log.lines.filter(({ message }) => message.includes('Stop button'))
    await until(() => told().length > 0, 'a line in the log')
    expect(told()).toHaveLength(1)
    expect(told()[0]!.fields).toMatchObject({ mend: expect.stringContaining('agent_session_stopped') })
  })
})
