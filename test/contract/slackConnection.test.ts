import { createServer } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createSlackPlatform, type SlackOptions } from '../../src/platform/slack/slackPlatform.ts'
import { SetupError } from '../../src/shared/errors.ts'
import { ALL_SCOPES, type SlackDouble, startSlackDouble } from '../doubles/slack/slackDouble.ts'
import { createRecordingInbox, until } from './recordingInbox.ts'
import { recordingLog, type SlackHarness, type SlackMode, slackFor, startSlack } from './slackHarness.ts'

describe('starting', () => {
  let double: SlackDouble
  beforeEach(async () => {
    double = await startSlackDouble()
  })
  afterEach(() => double.close())

  /** The problems that a start reports; everything but a SetupError fails the test. */
  async function problemsOf(mode: SlackMode, options: Partial<SlackOptions>) {
    const platform = slackFor(double, mode, options)
    const error = await platform.start(createRecordingInbox()).then(
      () => undefined,
      (failure: unknown) => failure,
    )
    await platform.stop()
    expect(error).toBeInstanceOf(SetupError)
    return (error as SetupError).problems
  }

  test('a wrong bot token is named, with where the right one is', async () => {
    for (const mode of ['socket', 'http'] as const) {
      const [problem, ...others] = await problemsOf(mode, { botToken: 'xoxb-wrong' })
      expect(problem!.problem).toContain('SLACK_BOT_TOKEN (invalid_auth)')
      expect(problem!.mend).toContain('OAuth & Permissions')
      expect(others).toEqual([])
    }
  })

  test('an app token in the place of the bot token, and the other way round, are each named', async () => {
    const [asBot] = await problemsOf('socket', { botToken: double.appToken })
    expect(asBot!.problem).toContain('SLACK_BOT_TOKEN')
    const [asApp] = await problemsOf('socket', { appToken: double.botToken })
    expect(asApp!.problem).toContain('SLACK_APP_TOKEN (not_allowed_token_type)')
    expect(asApp!.mend).toContain('connections:write')
  })

  test('a wrong app token is named at once', async () => {
    const [problem] = await problemsOf('socket', { appToken: 'xapp-wrong' })
    expect(problem!.problem).toContain('SLACK_APP_TOKEN (invalid_auth)')
  })

  test('missing scopes are named together', async () => {
    double.setScopes(ALL_SCOPES.filter((scope) => scope !== 'files:write' && scope !== 'users:read'))
    const [problem, ...others] = await problemsOf('socket', {})
    expect(problem!.problem).toContain('files:write, users:read')
    expect(problem!.mend).toContain('install the app')
    expect(others).toEqual([])
  })

  test('a scope that is only wanted is a line in the log', async () => {
    const log = recordingLog()
    double.setScopes(ALL_SCOPES.filter((scope) => scope !== 'files:read'))
    const platform = slackFor(double, 'socket', { log })
    await platform.start(createRecordingInbox())
    await platform.stop()
    expect(log.lines).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        fields: { scopes: ['files:read'], mend: expect.stringContaining('install') },
      }),
    )
  })

  test('neither app token nor signing secret is a problem with both ways out', async () => {
    const { log, botToken, apiUrl } = { log: recordingLog(), botToken: double.botToken, apiUrl: double.apiUrl }
    const failure = await createSlackPlatform({ botToken, apiUrl, log })
      .start(createRecordingInbox())
      .catch((error) => error)
    expect(failure).toBeInstanceOf(SetupError)
    expect(failure.message).toContain('SLACK_APP_TOKEN')
    expect(failure.message).toContain('SLACK_SIGNING_SECRET')
  })

  test('a Slack that can’t be reached is a problem, not an exception', async () => {
    const unused = createServer()
    await new Promise<void>((resolve) => unused.listen(0, '127.0.0.1', resolve))
    const { port } = unused.address() as { port: number }
    await new Promise((resolve) => unused.close(resolve))
    const [problem] = await problemsOf('socket', { apiUrl: `http://127.0.0.1:${port}/api/` })
    expect(problem!.problem).toContain('could not be reached')
    expect(problem!.mend).toContain('SLACK_API_URL')
  })

  test('a Slack that says no hello does not hold the start for ever', async () => {
    double.socket.hello = 'never'
    const [problem] = await problemsOf('socket', { startTimeoutMs: 300 })
    expect(problem!.problem).toContain('no Socket Mode connection within')
    expect(problem!.mend).toContain('Socket Mode is switched on')
  })

  test('a socket on which Slack says no hello is given up for another one', async () => {
    double.socket.hello = 'never'
    const platform = slackFor(double, 'socket', { startTimeoutMs: 3_000 })
    const started = platform.start(createRecordingInbox())
    await until(() => double.calls('apps.connections.open').length === 1, 'the first attempt')
    await until(() => double.socket.silent() === 1, 'a silent socket')
    double.socket.hello = 'atOnce'
    await started
    await until(() => double.socket.silent() === 0, 'the end of the silent socket')
    expect(double.socket.count()).toBe(1)
    await platform.stop()
  })

  test('a Slack in trouble at the start is tried again', async () => {
    double.fail('apps.connections.open', { kind: 'error', code: 'internal_error' }, 1)
    double.fail('apps.connections.open', { kind: 'http', status: 503 }, 1)
    const platform = slackFor(double, 'socket')
    await platform.start(createRecordingInbox())
    expect(double.socket.count()).toBe(1)
    await platform.stop()
  })

  test('only one auth.test and one apps.connections.open are made for a start', async () => {
    const platform = slackFor(double, 'socket')
    await platform.start(createRecordingInbox())
    await platform.stop()
    expect(double.calls().map(({ method }) => method)).toEqual(['auth.test', 'apps.connections.open'])
  })
})

describe('a connection', () => {
  let slack: SlackHarness
  let log: ReturnType<typeof recordingLog>
  const unhandled: unknown[] = []
  const note = (reason: unknown) => void unhandled.push(reason)

  beforeEach(async () => {
    unhandled.length = 0
    process.on('unhandledRejection', note)
    log = recordingLog()
    slack = await startSlack('socket', { log })
  })
  afterEach(async () => {
    await slack.close()
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })

  async function reconnected(times = 2) {
    await until(() => slack.double.socket.opened >= times && slack.double.socket.count() === 1, 'a new connection')
  }

  test('that is cut is opened again at once, and what was said meanwhile arrives', async () => {
    slack.double.socket.drop()
    slack.double.direct('U0BEN', 'said in the gap')
    await reconnected()
    const [message] = await slack.inbox.received(1)
    expect(message!.text).toBe('said in the gap')
  })

  test('that Slack refreshes is opened again', async () => {
    slack.double.socket.disconnect('refresh_requested')
    await reconnected()
    slack.double.direct('U0BEN', 'still there?')
    await slack.inbox.received(1)
  })

  test('that Slack refreshes while it keeps the TCP connection open is replaced within seconds', async () => {
    slack.double.socket.keepTcpOpen = true
    slack.double.socket.drop()
    await reconnected()
    const began = performance.now()
    slack.double.socket.disconnect('refresh_requested')
    await until(() => slack.double.socket.opened >= 3, 'a third connection')
    expect(performance.now() - began).toBeLessThan(4_000)
  })

  test('that Slack ends again and again is opened with growing pauses, and the reason is logged', async () => {
    const began = performance.now()
    for (let times = 1; times <= 3; times++) {
      await reconnected(times)
      slack.double.socket.disconnect('link_disabled')
      await until(() => slack.double.socket.count() === 0, 'the end of the connection')
    }
    await reconnected(4)
    // 0.5 s, 1 s and 2 s, of which at least half is waited.
    expect(performance.now() - began).toBeGreaterThan(1_700)
    expect(log.lines.filter(({ level }) => level === 'error')).toHaveLength(3)
  })

  test('survives that it can’t be opened for a while, again and again', async () => {
    slack.double.fail('apps.connections.open', { kind: 'error', code: 'internal_error' }, 1)
    slack.double.fail('apps.connections.open', { kind: 'reset' }, 1)
    slack.double.socket.drop()
    await reconnected()
    slack.double.direct('U0BEN', 'back again')
    await slack.inbox.received(1)
    expect(log.lines.filter(({ message }) => message.includes('trying again'))).toHaveLength(2)
  })

  test('is not ended by frames that hold no event', async () => {
    slack.double.socket.frame({ envelope_id: 'e1', type: 'events_api', payload: { type: 'app_rate_limited' } })
    slack.double.socket.frame('this is no JSON')
    slack.double.socket.frame({ type: 'something_new', envelope_id: 'e2', payload: {} })
    slack.double.direct('U0BEN', 'all well?')
    await slack.inbox.received(1)
    expect(slack.double.socket.opened).toBe(1)
    expect(log.lines.some(({ message }) => message.includes('limiting our events'))).toBe(true)
  })

  test('that is stopped is not opened again, and what was under way is finished first', async () => {
    let store = () => {}
    slack.inbox.before = () => new Promise((resolve) => (store = resolve))
    slack.double.direct('U0BEN', 'the last one')
    await until(() => slack.inbox.deliveries.length === 1, 'the delivery')
    const stopped = slack.platform.stop()
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(slack.double.socket.count()).toBe(1)
    store()
    await stopped
    await until(() => slack.double.socket.count() === 0, 'the end of the connection')
    expect(slack.double.deliveries.pending()).toBe(0)
    expect(slack.inbox.messages).toHaveLength(1)
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(slack.double.socket.opened).toBe(1)
  })
})
