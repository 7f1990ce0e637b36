import { existsSync, readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { MessageBody } from '../../src/platform/platform.ts'
import { PlatformError } from '../../src/shared/errors.ts'
import type { ThreadRef } from '../../src/shared/thread.ts'
import { reportedIn } from '../reported.ts'
import { conversation, kindOf, says } from './platformSuite.ts'
import { until } from './recordingInbox.ts'
import { recordingLog, type SlackHarness, startSlack } from './slackHarness.ts'

const CASES = new URL('../../../shared/cases/', import.meta.url)
const noCases = !existsSync(CASES)
const reported = reportedIn(CASES)

describe('what goes to Slack', () => {
  let slack: SlackHarness
  let thread: ThreadRef
  let log: ReturnType<typeof recordingLog>
  beforeEach(async () => {
    log = recordingLog()
    slack = await startSlack('socket', { log, callTimeoutMs: 400 })
    thread = await conversation(slack)
  })
  afterEach(() => slack.close())

  const post = (body: MessageBody = says('hello'), key = 'k', inDoubt = false) =>
    slack.platform.post(thread, body, { key, inDoubt })
  const botPosts = () => slack.double.thread(thread.channel, thread.thread!).filter(({ botId }) => botId === 'B0BOT')
  async function failureOf(call: Promise<unknown>): Promise<PlatformError> {
    const failure = await call.then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(failure).toBeInstanceOf(PlatformError)
    return failure as PlatformError
  }

  test('every post stands in the thread, unfurls nothing, and hides its key', async () => {
    await post(says('see https://example.org'), 'thread/1:answer')
    const { args } = slack.double.calls('chat.postMessage')[0]!
    expect(args).toMatchObject({ channel: 'C0DEV', thread_ts: thread.thread, unfurl_links: false, unfurl_media: false })
    expect(JSON.stringify(args)).not.toContain('thread/1:answer')
  })

  test('whatever goes out unfurls nothing, and makes no mention out of a name', async () => {
    const body = says('@channel #general, see https://example.org')
    const task = { id: 'c', title: '@here', state: 'running' } as const
    const ref = await post(body)
    await slack.platform.open(slack.hooks.place, body, { key: 'opened' })
    await slack.platform.open(slack.hooks.place, body, { key: 'in doubt', inDoubt: true })
    await post({ ...body, kind: 'activity', task }, 'card')
    await slack.platform.edit(thread, ref, { ...body, kind: 'activity', task })
    slack.double.world.refusedBlocks.add('task_card')
    await post({ ...body, kind: 'activity', task }, 'no card')
    await post({ ...body, kind: 'card', mentions: ['U0BEN'] }, 'asks')
    await slack.platform.edit(thread, ref, says('@here'))
    await slack.platform.whisper(thread, 'U0BEN', '@here')
    const calls = ['chat.postMessage', 'chat.update', 'chat.postEphemeral'].map((method) => slack.double.calls(method))
    expect(calls.map(({ length }) => length)).toEqual([7, 2, 1])
    for (const { method, args } of calls.flat()) {
      expect(args, method).toMatchObject({ parse: 'none', link_names: false })
      if (method === 'chat.postMessage') expect(args).toMatchObject({ unfurl_links: false, unfurl_media: false })
    }
  })

  test('case SE-01: no call carries more than Slack edits; what is longer is refused before it is sent', async () => {
    const text = noCases ? 'word '.repeat(1_300) : readFileSync(new URL('md/plain_6500.md', CASES), 'utf8')
    const ref = await post(says('…'))
    expect(await kindOf(slack.platform.edit(thread, ref, says(text)))).toBe('tooLong')
    expect(await kindOf(post(says(text), 'long'))).toBe('tooLong')
    expect(slack.double.calls('chat.update')).toHaveLength(0)
    const fitting = text.slice(0, slack.platform.limits.text - 50)
    expect(slack.platform.size(fitting)).toBeLessThanOrEqual(slack.platform.limits.text)
    await slack.platform.edit(thread, ref, says(fitting))
    expect(String(slack.double.calls('chat.update')[0]!.args.text).length).toBeLessThanOrEqual(4_000)
  })

  test('an edit refused as too long says so', async () => {
    const ref = await post()
    slack.double.fail('chat.update', { kind: 'error', code: 'msg_too_long' })
    expect(await kindOf(slack.platform.edit(thread, ref, says('x')))).toBe('tooLong')
  })

  describe('a post whose outcome is open', () => {
    const faults = {
      'a time-out after it was stored': { kind: 'hang', afterEffect: true },
      'a server error after it was stored': { kind: 'http', status: 502, afterEffect: true },
      'a cut connection after it was stored': { kind: 'reset', afterEffect: true },
      'a page instead of an answer after it was stored': { kind: 'html', afterEffect: true },
      'an internal error after it was stored': { kind: 'error', code: 'internal_error', afterEffect: true },
      'an answer that comes too late': { kind: 'slow', ms: 700 },
    } as const
    test.each(Object.entries(faults))('%s: is found in the thread and made once', async (_, fault) => {
      slack.double.fail('chat.postMessage', fault)
      const ref = await post()
      expect(botPosts().map(({ ts }) => ts)).toEqual([ref.id])
      expect(slack.double.calls('chat.postMessage')).toHaveLength(1)
    })

    test('without effect it stays open for the caller, who finds nothing and sends again', async () => {
      slack.double.fail('chat.postMessage', { kind: 'http', status: 503 })
      expect(await failureOf(post())).toMatchObject({ kind: 'unavailable', uncertain: true })
      await post(says('hello'), 'k', true)
      expect(botPosts()).toHaveLength(1)
    })

    test('while the thread can’t be read nothing is sent, and it stays in doubt', async () => {
      await post()
      slack.double.fail('conversations.replies', { kind: 'error', code: 'internal_error' })
      expect(await failureOf(post(says('hello'), 'k', true))).toMatchObject({ kind: 'unavailable', uncertain: true })
      expect(botPosts()).toHaveLength(1)
    })

    test('is found beyond the first page of a long thread', async () => {
      for (let n = 0; n < 230; n++) slack.double.say('U0BEN', 'C0DEV', `talk ${n}`, { threadTs: thread.thread! })
      const ref = await post()
      expect(await post(says('hello'), 'k', true)).toEqual(ref)
    })

    test('a message that only looks like it, by somebody else or with another key, is not taken for it', async () => {
      await post(says('hello'), 'another')
      slack.double.world.post(slack.double.world.channels.get('C0DEV')!, {
        user: 'U0CI',
        botId: 'B0CI',
        text: 'hello',
        threadTs: thread.thread!,
        metadata: { ...botPosts()[0]!.metadata },
      })
      const ref = await post(says('hello'), 'another', true)
      expect(ref.id).toBe(botPosts()[0]!.ts)
      await post(says('hello'), 'third', true)
      expect(botPosts()).toHaveLength(2)
    })

    test('a refused connection is certain: nothing was sent', async () => {
      const { platform, double } = slack
      await double.close()
      const failure = await failureOf(platform.post(thread, says('hello'), { key: 'k' }))
      expect(failure).toMatchObject({ kind: 'unavailable', uncertain: false, code: 'ECONNREFUSED' })
    })
  })

  describe('a rate limit', () => {
    test('tells how long to wait, with or without a header or a status', async () => {
      const ref = await post()
      const edit = () => failureOf(slack.platform.edit(thread, ref, says('x')))
      slack.double.fail('chat.update', { kind: 'rateLimited', retryAfter: 7 })
      expect(await edit()).toMatchObject({ kind: 'rateLimited', retryAfterMs: 7_000 })
      slack.double.fail('chat.update', { kind: 'rateLimited', retryAfter: null })
      expect(await edit()).toMatchObject({ kind: 'rateLimited', retryAfterMs: 5_000 })
      slack.double.fail('chat.update', { kind: 'error', code: 'ratelimited' })
      expect(await edit()).toMatchObject({ kind: 'rateLimited', retryAfterMs: 5_000 })
    })

    test('of edits holds up no post', async () => {
      const ref = await post()
      slack.double.fail('chat.update', { kind: 'rateLimited', retryAfter: 30 })
      await failureOf(slack.platform.edit(thread, ref, says('x')))
      const began = performance.now()
      await post(says('an answer'), 'answer')
      await slack.platform.edit(thread, ref, says('y'))
      expect(performance.now() - began).toBeLessThan(1_000)
    })

    test('of the documented size is kept by the double: the 51st edit within a minute is refused', async () => {
      const ref = await post()
      slack.double.rateLimits(true)
      for (let n = 0; n < 50; n++) await slack.platform.edit(thread, ref, says(`frame ${n}`))
      const failure = await failureOf(slack.platform.edit(thread, ref, says('one too many')))
      expect(failure.kind).toBe('rateLimited')
      expect(failure.retryAfterMs).toBeGreaterThan(30_000)
      expect((await slack.hooks.view(thread)).at(-1)!.text).toContain('frame 49')
    })
  })

  test.each([
    ['message_not_found', 'notFound'],
    ['cant_update_message', 'notEditable'],
    ['edit_window_closed', 'notEditable'],
    ['is_archived', 'notEditable'],
    ['channel_not_found', 'forbidden'],
    ['token_revoked', 'forbidden'],
    ['invalid_blocks', 'invalid'],
    ['fatal_error', 'unavailable'],
  ])('case RL-04: an edit that Slack refuses with %s in a 200 is %s', async (code, kind) => {
    const ref = await post()
    slack.double.fail('chat.update', { kind: 'error', code })
    expect(await kindOf(slack.platform.edit(thread, ref, says('x')))).toBe(kind)
  })

  test('what an admin has to do is said: a missing scope by its name, a channel by the invitation', async () => {
    slack.double.fail('chat.postMessage', { kind: 'error', code: 'missing_scope', extra: { needed: 'chat:write' } })
    expect(await failureOf(post())).toMatchObject({ kind: 'forbidden', mend: expect.stringContaining('chat:write') })
    const place = { platform: 'slack', account: 'T0DOUBLE', channel: 'C0OPS' } as const
    const outside = await failureOf(slack.platform.open(place, says('a plan'), { key: 'k' }))
    expect(outside).toMatchObject({ kind: 'forbidden', code: 'not_in_channel' })
    expect(outside.mend).toContain('/invite @toycoder')
    const secret = await failureOf(slack.platform.open({ ...place, channel: 'C0SECRET' }, says('a plan'), { key: 'k' }))
    expect(secret).toMatchObject({ kind: 'forbidden', code: 'channel_not_found' })
  })

  reported('case MN-02: no payload can notify a channel, a group or a person', async () => {
    const text = readFileSync(new URL('md/mention_injection.md', CASES), 'utf8')
    const ref = await post(says(text))
    await slack.platform.edit(thread, ref, { markdown: text, kind: 'activity' })
    await slack.platform.upload(thread, { name: '<!channel>.txt', content: text, comment: text }, { key: 'f' })
    await slack.platform.whisper(thread, 'U0BEN', text)
    await until(() => botPosts().some(({ files }) => files), 'the file')
    expect(await slack.hooks.pings(thread)).toEqual([])
    const sent = slack.double.calls().filter(({ method }) => /^(chat|files\.complete)/.test(method))
    expect(sent).toHaveLength(4)
    for (const { args } of sent) {
      const { files: _plainText, ...rest } = args
      expect(JSON.stringify(rest)).not.toMatch(/<!(channel|here|everyone|subteam)|<@U/)
    }
  })

  test('case TH-05: of a thread of 260 messages the root and the newest come, in order, and the cut is said', async () => {
    for (let n = 1; n <= 259; n++) slack.double.say('U0BEN', 'C0DEV', `note ${n}`, { threadTs: thread.thread! })
    const ts = slack.double.mention('U0ANNA', 'C0DEV', 'and now?', { threadTs: thread.thread! })
    const { messages, cut } = await slack.platform.history(thread, { channel: 'C0DEV', id: ts }, 50)
    expect(cut).toBe(true)
    expect(messages.map(({ text }) => text)).toEqual([
      'hello bot',
      ...Array.from({ length: 49 }, (_, index) => `note ${index + 211}`),
    ])
    expect(messages[1]!.author).toEqual({ id: 'U0BEN', name: 'Ben', isBot: false, isSelf: false })
    expect(slack.double.calls('conversations.replies')).toHaveLength(2)
  })

  test('history names the people who are mentioned, and tells bots from people', async () => {
    const options = { threadTs: thread.thread!, raw: true }
    slack.double.say('U0BEN', 'C0DEV', 'ask <@U0ANNA> &amp; <@U0BOT>', options)
    slack.double.say('U0CI', 'C0DEV', 'build failed', options)
    const { messages } = await slack.platform.history(thread, null, 10)
    expect(messages.slice(1).map(({ text, author }) => [text, author.isBot])).toEqual([
      ['ask @Anna &', false],
      ['build failed', true],
    ])
  })

  test('a thread that can’t be read has no history, and the log says why', async () => {
    slack.double.fail('conversations.replies', { kind: 'error', code: 'missing_scope', extra: { needed: 'x:history' } })
    expect(await slack.platform.history(thread, null, 10)).toEqual({ messages: [], cut: true })
    expect(JSON.stringify(log.lines)).toContain('x:history')
    slack.double.fail('conversations.replies', { kind: 'error', code: 'fatal_error' })
    expect(await kindOf(slack.platform.history(thread, null, 10))).toBe('unavailable')
  })

  describe('a file', () => {
    const file = { name: 'transcript.md', content: '# Größe\n', comment: 'Here & there' }
    const files = () => botPosts().flatMap((message) => message.files ?? [])

    test('arrives byte for byte, with its comment', async () => {
      await slack.platform.upload(thread, file, { key: 'f' })
      await until(() => files().length === 1, 'the file')
      expect(files()[0]!.content.toString()).toBe(file.content)
      expect(slack.double.threadText('C0DEV', thread.thread!)).toContain('Here & there\n[file transcript.md]')
    })

    test('whose sharing failed after it took effect is shared once', async () => {
      slack.double.fail('files.completeUploadExternal', { kind: 'http', status: 500, afterEffect: true })
      const ref = await slack.platform.upload(thread, file, { key: 'f' }).catch(() => null)
      await until(() => files().length === 1, 'the file')
      await slack.platform.upload(thread, file, { key: 'f', inDoubt: true })
      await new Promise((resolve) => setTimeout(resolve, 50))
      expect(files()).toHaveLength(1)
      if (ref) expect(ref.id).toBe(botPosts().find((message) => message.files)!.ts)
    })

    test('whose bytes did not arrive is not shared, and a refusal to share says what is missing', async () => {
      slack.double.fail('upload', { kind: 'http', status: 500 })
      expect(await kindOf(slack.platform.upload(thread, file, { key: 'f' }))).toBe('unavailable')
      slack.double.setScopes(['chat:write'])
      const failure = await failureOf(slack.platform.upload(thread, file, { key: 'f' }))
      expect(failure.mend).toContain('files:write')
      expect(files()).toHaveLength(0)
    })

    test('that is empty is refused before anything is sent', async () => {
      expect(await kindOf(slack.platform.upload(thread, { ...file, content: '' }, { key: 'f' }))).toBe('invalid')
      expect(slack.double.calls('files.getUploadURLExternal')).toHaveLength(0)
    })
  })

  describe('signs of life', () => {
    const reactions = (id: string) =>
      slack.double
        .thread('C0DEV', thread.thread!)
        .find(({ ts }) => ts === id)!
        .reactions.map(({ name }) => name)

    test('one reaction at a time stands on a message, with no call too many', async () => {
      const { ref } = slack.inbox.messages[0]!
      await slack.platform.react(thread, ref, 'working')
      expect(reactions(ref.id)).toEqual(['eyes'])
      await slack.platform.react(thread, ref, 'working')
      await slack.platform.react(thread, ref, 'done')
      expect(reactions(ref.id)).toEqual(['white_check_mark'])
      await slack.platform.react(thread, ref, null)
      expect(reactions(ref.id)).toEqual([])
      expect(slack.double.calls('reactions.add')).toHaveLength(2)
      expect(slack.double.calls('reactions.remove')).toHaveLength(2)
    })

    test('what an earlier life of the program left on a message is taken off', async () => {
      const ts = slack.double.say('U0BEN', 'C0OPS', 'from before', {})
      slack.double.world.channels.get('C0OPS')!.members.add('U0BOT')
      const message = slack.double.thread('C0OPS', ts)[0]!
      message.reactions.push({ name: 'raised_hand', users: ['U0BOT'] })
      await slack.platform.react(thread, { channel: 'C0OPS', id: ts }, 'done')
      expect(message.reactions.map(({ name }) => name)).toEqual(['white_check_mark'])
    })

    test('the status is shown and cleared, and never again asked for where it is not to be had', async () => {
      const { statuses } = slack.double.world
      await slack.platform.status(thread, 'is working on it')
      expect([...statuses.values()]).toEqual(['is working on it'])
      await slack.platform.status(thread, null)
      expect(statuses.size).toBe(0)
      slack.double.fail('assistant.threads.setStatus', { kind: 'error', code: 'invalid_thread_ts' })
      await slack.platform.status(thread, 'once more')
      slack.double.fail('assistant.threads.setStatus', { kind: 'error', code: 'feature_not_enabled' })
      for (let n = 0; n < 3; n++) await slack.platform.status(thread, 'is working on it')
      expect(slack.double.calls('assistant.threads.setStatus')).toHaveLength(4)
    })
  })

  describe('words for one person', () => {
    test('come by the address of what they did, and another way when that has expired', async () => {
      await slack.double.command('U0BEN', 'C0DEV', '/plan', 'x')
      const { place, token } = slack.inbox.commands[0]!
      expect(await slack.platform.whisper(place, 'U0BEN', 'first', { token })).toBe(true)
      expect(slack.double.calls('chat.postEphemeral')).toHaveLength(0)
      slack.double.expireResponseUrls()
      expect(await slack.platform.whisper(place, 'U0BEN', 'second', { token })).toBe(true)
      expect(slack.double.calls('chat.postEphemeral')).toHaveLength(1)
      expect(slack.double.world.ephemerals.map(({ user, text }) => [user, text])).toEqual([
        ['U0BEN', 'first'],
        ['U0BEN', 'second'],
      ])
    })

    test('that can’t be shown are dropped without an error', async () => {
      expect(await slack.platform.whisper(thread, 'U0NOBODY', 'psst')).toBe(false)
    })
  })

  test('people are asked for once in five minutes, and again afterwards', async () => {
    let now = Date.now()
    await slack.close()
    slack = await startSlack('socket', { now: () => now })
    const ask = () => slack.platform.person('T0DOUBLE', 'U0OTHER')
    expect((await Promise.all([ask(), ask()]))[0]).toMatchObject({ name: 'Olga', isExternal: true, isAdmin: false })
    await ask()
    expect(slack.double.calls('users.info')).toHaveLength(1)
    now += 5 * 60_000
    await ask()
    expect(slack.double.calls('users.info')).toHaveLength(2)
    expect((await slack.platform.person('T0DOUBLE', 'U0BEN')).locale).toBe('zh-CN')
    expect(await slack.platform.person('T0DOUBLE', 'U0NOBODY')).toMatchObject({ isGuest: true, isExternal: true })
  })

  test('a message has an address to point to, and one that is gone has none', async () => {
    const ref = await post()
    expect(await slack.platform.permalink(thread, ref)).toContain(`/archives/C0DEV/p${ref.id.replace('.', '')}`)
    expect(await slack.platform.permalink(thread, { channel: 'C0DEV', id: '1.000001' })).toBeNull()
  })
})
