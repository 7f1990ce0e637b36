import { afterEach, describe, expect, test } from 'vitest'
import { createEditScheduler } from '../../src/delivery/editScheduler.ts'
import { openThreadView, type ThreadView } from '../../src/delivery/threadView.ts'
import type { SlackOptions } from '../../src/platform/slack/slackPlatform.ts'
import { silentLog } from '../../src/shared/log.ts'
import type { ThreadRef } from '../../src/shared/thread.ts'
import { en } from '../../src/shared/wording/en.ts'
import type { Fault } from '../doubles/slack/faults.ts'
import { createMemoryOutbox } from '../unit/deliverySimulation.ts'
import { until } from './recordingInbox.ts'
import { recordingLog, type SlackHarness, startSlack } from './slackHarness.ts'

const TEXT = 'Here is **the answer**, which comes bit by bit: `code`, a [link](https://example.org) & so on. '
  .repeat(6)
  .trim()

/** Live text as the program shows it, with the real adapter and client, against the double. */
describe('Slack’s native streams', () => {
  let slack: SlackHarness
  let view: ThreadView | undefined
  const { outbox } = createMemoryOutbox()
  const log = recordingLog()
  let passed = 0

  afterEach(async () => {
    passed = 0
    await view?.abandon()
    view = undefined
    await slack?.close()
    log.lines.length = 0
  })

  async function begin(where: 'direct' | 'channel' = 'direct', overrides: Partial<SlackOptions> = {}) {
    slack = await startSlack('socket', { log, ...overrides })
    if (where === 'direct') slack.double.direct('U0BEN', 'hello')
    else slack.double.mention('U0BEN', 'C0DEV', 'hello')
    const [message] = await slack.inbox.received(1)
    return message!.thread
  }
  const openView = (thread: ThreadRef) => {
    const edits = createEditScheduler({ limits: slack.platform.limits })
    const now = () => performance.now() + passed
    view = openThreadView({ platform: slack.platform, thread, outbox, edits, wording: en, log: silentLog, now })
    return view
  }
  /** For us and for Slack. */
  function passTime(ms: number): void {
    passed += ms
    slack.double.passTime(ms)
  }
  async function say(shown: ThreadView, text: string, until = text.length) {
    for (let at = 0; at < until; at += 12) {
      shown.text('s1', text.slice(at, Math.min(until, at + 12)))
      await new Promise((resolve) => setTimeout(resolve, 15))
    }
  }
  const calls = (method: string) => slack.double.calls(`chat.${method}`)
  const answered = (method: string) => calls(method).filter(({ answer }) => answer?.ok === true).length
  const seen = (thread: ThreadRef, viewer?: string) => slack.double.threadText(thread.channel, thread.thread!, viewer)
  const messages = (thread: ThreadRef) =>
    slack.double.thread(thread.channel, thread.thread!).filter(({ botId }) => botId === 'B0BOT')

  test('an answer in a direct message grows by additions alone and stands whole at its end', async () => {
    const thread = await begin()
    const shown = openView(thread)
    await say(shown, TEXT)
    await shown.settle('s1', TEXT, { footer: 'test-model · 1 s' })
    expect(messages(thread)).toHaveLength(1)
    expect(messages(thread)[0]).toMatchObject({ text: TEXT, metadata: { event_type: 'toycoder_message' } })
    expect(messages(thread)[0]!.stream).toBeUndefined()
    expect(seen(thread)).toContain('test-model · 1 s')
    expect(answered('startStream')).toBe(1)
    expect(answered('appendStream')).toBeGreaterThan(0)
    expect(answered('stopStream')).toBe(1)
    expect([...calls('postMessage'), ...calls('update')]).toEqual([])
  })

  test('in channels it grows by edits unless the setting says `always`, and nowhere with `never`', async () => {
    for (const [where, streaming] of [
      ['channel', 'dm'],
      ['direct', 'never'],
    ] as const) {
      const thread = await begin(where, { streaming })
      const shown = openView(thread)
      await say(shown, TEXT, 100)
      await shown.settle('s1', TEXT)
      expect(calls('startStream')).toEqual([])
      expect(seen(thread)).toContain('so on.')
      await slack.close()
    }
    const thread = await begin('channel', { streaming: 'always' })
    const shown = openView(thread)
    await say(shown, TEXT, 120)
    await until(() => calls('appendStream').length > 0, 'additions')
    expect(calls('startStream')[0]!.args).toMatchObject({ recipient_user_id: 'U0BEN', recipient_team_id: 'T0DOUBLE' })
    await until(() => seen(thread, 'U0BEN').length > seen(thread, 'U0ANNA').length, 'Ben sees more than Anna')
    await shown.settle('s1', TEXT)
    expect(seen(thread, 'U0ANNA')).toBe(seen(thread, 'U0BEN'))
  })

  const refusals: [string, Fault, boolean][] = [
    ['feature_not_enabled', { kind: 'error', code: 'feature_not_enabled' }, false],
    ['unknown_method', { kind: 'error', code: 'unknown_method' }, false],
    ['method_deprecated', { kind: 'error', code: 'method_deprecated' }, false],
    ['channel_type_not_supported', { kind: 'error', code: 'channel_type_not_supported' }, false],
    ['internal_error', { kind: 'error', code: 'internal_error' }, true],
    ['an answer that is lost', { kind: 'http', status: 500, afterEffect: true }, true],
  ]
  test.each(refusals)('%s at the start: the text goes by edits, in one message', async (_, fault, isOfferedAgain) => {
    const thread = await begin()
    slack.double.fail('chat.startStream', fault)
    const shown = openView(thread)
    await say(shown, TEXT)
    await shown.settle('s1', TEXT)
    expect(messages(thread)).toHaveLength(1)
    expect(seen(thread)).toContain('so on.')
    expect(messages(thread)[0]!.stream).toBeUndefined()
    expect(slack.platform.streaming!.isOffered(thread)).toBe(isOfferedAgain)
  })

  test.each([1, 2, 4])('an error at addition %i: nothing is lost, and nothing stands twice', async (number) => {
    const thread = await begin()
    for (let n = 1; n < number; n++) slack.double.fail('chat.appendStream', { kind: 'slow', ms: 1 })
    slack.double.fail('chat.appendStream', { kind: 'error', code: 'messaging_processing_failed' })
    const shown = openView(thread)
    await say(shown, TEXT.repeat(3))
    await shown.settle('s1', TEXT.repeat(3))
    expect(messages(thread)).toHaveLength(1)
    expect(messages(thread)[0]!.stream).toBeUndefined()
    expect(seen(thread).match(/bit by bit/g)).toHaveLength(18)
    expect(calls('update').filter(({ answer }) => answer?.error === 'streaming_state_conflict')).toEqual([])
  })

  const faults: [string, Fault][] = [
    ...['message_not_in_streaming_state', 'stopped_by_user', 'streaming_mode_mismatch', 'msg_too_long'].map(asFault),
    ...['message_not_found', 'channel_type_not_supported', 'missing_scope', 'ratelimited', 'fatal_error'].map(asFault),
    ['a rate limit', { kind: 'rateLimited', retryAfter: 1 }],
    ['a server error', { kind: 'http', status: 503 }],
    ['an addition that is made and not confirmed', { kind: 'reset', afterEffect: true }],
    ['a page instead of JSON', { kind: 'html' }],
  ]
  function asFault(code: string): [string, Fault] {
    return [code, { kind: 'error', code }]
  }
  test.each(faults)('%s at an addition: it goes on by edits of the same message, whole', async (_, fault) => {
    const thread = await begin()
    slack.double.fail('chat.appendStream', fault)
    const shown = openView(thread)
    await say(shown, TEXT)
    await shown.settle('s1', TEXT, { footer: 'small print' })
    expect(messages(thread)).toHaveLength(1)
    expect(messages(thread)[0]!.stream).toBeUndefined()
    expect(seen(thread).match(/bit by bit/g)).toHaveLength(6)
    expect(seen(thread)).toContain('small print')
  })

  test('a stream is ended before Slack would end it for its age, and its message goes on by edits', async () => {
    const thread = await begin()
    const shown = openView(thread)
    await say(shown, TEXT, 120)
    await until(() => answered('appendStream') > 0, 'additions')
    passTime(4 * 60_000 + 1)
    shown.text('s1', TEXT.slice(120, 240))
    await until(() => answered('stopStream') === 1, 'the end of the stream')
    await until(() => answered('update') > 0, 'an edit')
    await shown.settle('s1', TEXT)
    expect(messages(thread)).toHaveLength(1)
    expect(seen(thread).match(/bit by bit/g)).toHaveLength(6)
    expect(slack.double.calls().filter(({ answer }) => answer?.ok === false)).toEqual([])
  })

  test.each([
    ['letters of one byte go on in a new stream', 'Here is some more of it, number by number.', 260, 'streams'],
    ['letters of three bytes go on by edits', '这是答案的下一句，一个字一个字地来。', 220, 'edits'],
  ])('no stream grows beyond what Slack takes: %s', async (_, sentence, count, by) => {
    const thread = await begin()
    const text = Array.from({ length: count }, (_, n) => `${n}: ${sentence}`).join('\n\n')
    const shown = openView(thread)
    for (let at = 0; at < text.length; at += 1_000) {
      shown.text('s1', text.slice(at, at + 1_000))
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
    await shown.settle('s1', text)
    const words = messages(thread).map(({ blocks, text }) => (blocks?.[0] as { text?: string })?.text ?? text)
    expect(words.join('\n\n')).toBe(text)
    // How many there are hangs on when the pieces came; whether the last one is a stream or a post, too.
    expect(answered('startStream') > 1).toBe(by === 'streams')
    expect(answered('update') > 0).toBe(by === 'edits')
    expect(slack.double.calls().filter(({ answer }) => answer?.ok === false)).toEqual([])
  })

  test('a stream that Slack has ended by itself is repaired by an edit', async () => {
    const thread = await begin()
    const shown = openView(thread)
    await say(shown, TEXT, 60)
    await until(() => answered('startStream') > 0, 'a stream')
    slack.double.passTime(5 * 60_000 + 1)
    await say(shown, TEXT.slice(60))
    await shown.settle('s1', TEXT)
    expect(messages(thread)).toHaveLength(1)
    expect(seen(thread)).toContain('so on.')
  })

  test('a size that is refused only at the end does no harm', async () => {
    const thread = await begin()
    slack.double.fail('chat.stopStream', { kind: 'error', code: 'msg_too_long' })
    const shown = openView(thread)
    await say(shown, TEXT)
    await shown.settle('s1', TEXT, { footer: 'small print' })
    expect(messages(thread)).toHaveLength(1)
    expect(messages(thread)[0]!.stream).toBeUndefined()
    expect(seen(thread)).toContain('small print')
  })

  test('an end whose answer is lost is not taken for a failure of the text', async () => {
    const thread = await begin()
    slack.double.fail('chat.stopStream', { kind: 'reset', afterEffect: true })
    const shown = openView(thread)
    await say(shown, TEXT)
    await shown.settle('s1', TEXT, { footer: 'small print' })
    expect(messages(thread)).toHaveLength(1)
    expect(seen(thread).match(/bit by bit/g)).toHaveLength(6)
  })

  test('a stream that an earlier process left open is ended and edited', async () => {
    const thread = await begin()
    const first = openView(thread)
    await say(first, 'What the first process said, at some length', 30)
    await until(() => answered('startStream') > 0, 'a stream')
    await first.abandon()
    expect(messages(thread)[0]!.stream).toBeDefined()
    await openView(thread).settle('s1', TEXT)
    expect(messages(thread)).toHaveLength(1)
    expect(messages(thread)[0]!.stream).toBeUndefined()
    expect(seen(thread)).toContain('so on.')
    expect(seen(thread)).not.toContain('first process')
  })

  test('a stream that was begun but never noted is found again', async () => {
    const thread = await begin()
    const key = `slack:T0DOUBLE:${thread.id}/s1/0`
    await outbox.intend(key)
    await slack.platform.streaming!.start(thread, 'What nobody noted')
    await openView(thread).settle('s1', TEXT)
    expect(messages(thread)).toHaveLength(1)
    expect(seen(thread)).not.toContain('nobody noted')
  })

  test('nothing that a stream says can ping, and no name in it becomes a link to somebody', async () => {
    const thread = await begin()
    const text = 'Hello <!channel>, <@U0ANNA> and `<!here>`, with &lt;!everyone> and <!subteam^S0ALL>. Bye.'
    const shown = openView(thread)
    await say(shown, text)
    await shown.settle('s1', text)
    expect(slack.double.world.notified).toEqual([])
    expect(answered('startStream')).toBe(1)
  })

  test('while the work goes on the end of a stream does not end the session', async () => {
    const thread = await begin()
    const place = `${thread.channel}:${thread.thread}`
    const shown = openView(thread)
    shown.working()
    await until(() => slack.double.world.sessions.get(place) === 'processing', 'processing')
    await say(shown, TEXT, 100)
    await shown.settle('s1', TEXT)
    expect(slack.double.world.sessions.get(place)).toBe('processing')
    await shown.idle()
    await until(() => slack.double.world.sessions.get(place) === 'active', 'active')
  })

  test('an app without sessions leaves none at work behind its streams', async () => {
    const thread = await begin()
    slack.double.world.agent.isDeclared = false
    const shown = openView(thread)
    shown.working()
    await say(shown, TEXT, 100)
    await shown.settle('s1', TEXT)
    await shown.idle()
    expect(slack.double.world.sessions.get(`${thread.channel}:${thread.thread}`)).toBe('active')
  })

  test('many texts at once keep to the limits: none is refused, none is lost', async () => {
    const thread = await begin()
    slack.double.rateLimits('bursts')
    const shown = openView(thread)
    const names = Array.from({ length: 12 }, (_, n) => `t${n}`)
    for (let at = 0; at < 300; at += 30) {
      for (const name of names) shown.text(name, TEXT.slice(at, at + 30))
      await new Promise((resolve) => setTimeout(resolve, 60))
    }
    await Promise.all(names.map((name) => shown.settle(name, TEXT)))
    expect(messages(thread)).toHaveLength(12)
    expect(seen(thread).match(/bit by bit/g)).toHaveLength(12 * 6)
    expect(slack.double.calls().filter(({ answer }) => answer?.error === 'ratelimited')).toEqual([])
  }, 60_000)
})
