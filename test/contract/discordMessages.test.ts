import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Button } from '../../src/platform/platform.ts'
import { PlatformError } from '../../src/shared/errors.ts'
import { reportedIn } from '../reported.ts'
import { answer, type Bot, startBot, double as startDouble } from './discordHarness.ts'

const POST = 'POST /channels/:id/messages'
const EDIT = 'PATCH /channels/:id/messages/:id'
const cases = new URL('../../../shared/cases/', import.meta.url)
const reported = reportedIn(cases)

async function asked(bot: Bot, text = 'hello') {
  const before = bot.inbox.messages.length
  bot.double.mention(bot.double.aliceId, bot.double.channelId, text)
  return (await bot.inbox.received(before + 1))[before]!
}

describe('who addresses the bot', () => {
  reported('only an explicit mention of the bot counts (MN-05)', async () => {
    const { double, inbox } = await startBot()
    const file = readFileSync(new URL('discord/everyone_messages.json', cases), 'utf8')
    const role = double.world.guilds.get(double.guildId)!.roles.find(({ name }) => name === 'toycoder')!
    const expected: string[] = []
    for (const { content, expect_run: run } of JSON.parse(file) as { content: string; expect_run: unknown }[]) {
      const text = content.replaceAll('<@100>', `<@${double.botId}>`).replaceAll('<@&900>', `<@&${role.id}>`)
      double.say(double.aliceId, double.channelId, text)
      // Decided: a name in code only is talked about, not talked to.
      if (run === true) expected.push(text)
    }
    double.mention(double.aliceId, double.channelId, 'last')
    const messages = await inbox.received(expected.length + 1)
    expect(messages.map(({ text }) => text)).toEqual(['@everyone help', 'last'])
  })

  test('a reply to the bot with the ping left on counts, without it not', async () => {
    const { double, inbox, platform } = await startBot()
    const { thread } = await asked({ double, inbox, platform, lines: [] })
    const place = { platform: 'discord' as const, account: double.guildId, channel: double.channelId }
    const { ref } = await platform.open(place, answer('a plan'), { key: 'p' })
    double.say(double.aliceId, double.channelId, 'thanks', { replyTo: ref.id, ping: false })
    double.say(double.aliceId, double.channelId, 'and now?', { replyTo: ref.id })
    const [, reply] = await inbox.received(2)
    expect(reply).toMatchObject({ text: 'and now?', addressed: 'mention' })
    expect(reply!.thread.id).not.toBe(thread.id)
  })

  test('bots, webhooks, system messages and the bot itself never do (DD-09)', async () => {
    const { double, inbox, platform } = await startBot()
    const { thread } = await asked({ double, inbox, platform, lines: [] })
    await platform.post(thread, answer('hi'), { key: '1' })
    const robot = double.user('robot', { bot: true })
    for (let n = 0; n < 50; n++) double.mention(robot, thread.id, `again ${n}`)
    double.mention(double.aliceId, thread.id, 'by webhook', { webhook: true })
    double.say(double.aliceId, double.channelId, `<@${double.botId}> joined`, { type: 7 })
    double.say(double.aliceId, thread.id, 'a person at last')
    const messages = await inbox.received(2)
    expect(messages[1]!.text).toBe('a person at last')
    expect(inbox.deliveries).toHaveLength(2)
  })

  test('a mention that an edit adds asks the bot; other edits and unfurling do not', async () => {
    const { double, inbox } = await startBot()
    const message = double.say(double.aliceId, double.channelId, 'please explain')
    double.edit(double.channelId, message.id, `<@${double.botId}> please explain`)
    const [heard] = await inbox.received(1)
    expect(heard).toMatchObject({ id: message.id, edited: true, text: 'please explain' })
    double.edit(double.channelId, message.id, `<@${double.botId}> please explain`)
    double.mention(double.aliceId, double.channelId, 'next')
    await inbox.received(2)
    expect(inbox.deliveries).toHaveLength(2)
  })

  test('text arrives as it was meant: names for mentions, forwarded words quoted', async () => {
    const { double, inbox } = await startBot()
    const bob = double.user('Bob')
    double.mention(
      double.aliceId,
      double.channelId,
      `ask <@${bob}> in <#${double.channelId}> about \`<@${bob}>\` <:ok:123456789012345678> <t:0:R>`,
    )
    const [message] = await inbox.received(1)
    expect(message!.text).toBe(`ask @Bob in #general about \`<@${bob}>\` :ok: 1970-01-01T00:00:00.000Z`)
    expect(message!.author).toEqual({ id: double.aliceId, name: 'Alice', isBot: false, isExternal: false })
    double.dm(double.aliceId, '', { forward: 'the build fails\non arm64' })
    const [, forwarded] = await inbox.received(2)
    expect(forwarded!.text).toBe('Forwarded message:\n> the build fails\n> on arm64')
  })
})

describe('what the bot sends', () => {
  reported('never rings anybody, on create, on edit and in files (MN-01)', async () => {
    const bot = await startBot()
    const { double, platform } = bot
    const { thread } = await asked(bot)
    const text = readFileSync(new URL('md/mention_injection.md', cases), 'utf8').replaceAll(
      '<@111111111111111111>',
      `<@${double.aliceId}>`,
    )
    const ref = await platform.post(thread, answer(text), { key: '1' })
    await platform.edit(thread, ref, answer(text))
    await platform.post(thread, { markdown: text, kind: 'activity' }, { key: '2' })
    await platform.upload(thread, { name: 'a.txt', content: 'a', comment: text }, { key: '3' })
    const sent = double.requests.filter(({ route }) => route === POST || route === EDIT)
    expect(sent).toHaveLength(4)
    for (const { body } of sent) expect(body.allowed_mentions).toEqual({ parse: [], users: [], replied_user: false })
    for (const { id } of double.botMessages(thread.id)) {
      expect(double.notified(thread.id, id)).toEqual({ everyone: false, users: [], roles: [] })
    }
  })

  test('is quiet for tool activity and never unfurls links', async () => {
    const bot = await startBot()
    const { thread } = await asked(bot)
    await bot.platform.post(thread, { markdown: 'grep …', kind: 'activity' }, { key: '1' })
    await bot.platform.post(thread, answer('see https://example.com'), { key: '2' })
    const live = { ...answer('see https://exam'), live: true }
    const ref = await bot.platform.post(thread, live, { key: '3' })
    await bot.platform.edit(thread, ref, answer('see https://example.com'))
    await bot.platform.post(thread, { ...answer('https://example.com?'), kind: 'card' }, { key: '4' })
    await bot.platform.upload(thread, { name: 'a.md', content: 'a', comment: 'https://example.com' }, { key: '5' })
    expect(bot.double.botMessages(thread.id).map(({ flags }) => flags)).toEqual([4096 | 4, 4, 4, 4, 4])
    const written = bot.double.requests.filter(({ route }) => route === POST || route === EDIT)
    expect(written).toHaveLength(6)
    // An edit without it would bring the previews back.
    for (const { body } of written) expect(Number(body.flags) & 4).toBe(4)
  })

  test('is made once when Discord stored it and then failed three times', async () => {
    const bot = await startBot()
    const { thread } = await asked(bot)
    bot.double.fault({ route: POST, status: 502, after: true, times: 3 })
    const failure = await bot.platform.post(thread, answer('once'), { key: 'k' }).catch((error) => error)
    expect(failure).toMatchObject({ kind: 'unavailable', uncertain: true })
    await bot.platform.post(thread, answer('once'), { key: 'k', inDoubt: true })
    expect(bot.double.botMessages(thread.id)).toHaveLength(1)
  })

  test('is made once across a restart, when the nonce is long forgotten and reading shows it late', async () => {
    const first = await startBot()
    const { double } = first
    const { thread } = await asked(first)
    const ref = await first.platform.post(thread, answer('the only answer'), { key: 'k' })
    await first.platform.stop()
    double.nonceWindow(0)
    const second = await startBot({}, double)
    expect(await second.platform.post(thread, answer('the only answer'), { key: 'k', inDoubt: true })).toEqual(ref)
    // Within the nonce's minutes reading may show nothing yet: the nonce finds it.
    double.nonceWindow(180_000)
    double.fault({ route: POST, invisibleForMs: 60_000 })
    const hidden = await second.platform.post(thread, answer('not shown yet'), { key: 'k2' })
    const third = await startBot({}, double)
    expect(await third.platform.post(thread, answer('not shown yet'), { key: 'k2', inDoubt: true })).toEqual(hidden)
    expect(double.botMessages(thread.id)).toHaveLength(2)
  })

  test('is found by what the gateway told when the answer was lost and Discord has forgotten the nonce', async () => {
    const bot = await startBot({ requestTimeoutMs: 150 })
    const { thread } = await asked(bot)
    await bot.platform.post(thread, answer('first'), { key: '0' })
    bot.double.fault({ route: POST, hang: true, after: true, times: 3, invisibleForMs: 60_000 })
    const failure = await bot.platform.post(thread, answer('lost'), { key: 'k' }).catch((error) => error)
    expect(failure).toMatchObject({ kind: 'unavailable', uncertain: true })
    bot.double.nonceWindow(0)
    const ref = await bot.platform.post(thread, answer('lost'), { key: 'k', inDoubt: true })
    expect(bot.double.botMessages(thread.id).map(({ id, content }) => [id, content])).toEqual([
      [expect.any(String), 'first'],
      [ref.id, 'lost'],
    ])
  })

  test('shows the newest words when the nonce brings back an earlier attempt', async () => {
    const first = await startBot()
    const { thread } = await asked(first)
    await first.platform.post(thread, { ...answer('Thin'), live: true }, { key: 'k' })
    const second = await startBot({}, first.double)
    await second.platform.post(thread, answer('Thinking is done.'), { key: 'k', inDoubt: true })
    expect(first.double.text(thread.id)).toBe('toycoder: Thinking is done.')
  })

  test('can be sent anew with the same key after somebody deleted it (SE-13)', async () => {
    const bot = await startBot()
    const { double, platform } = bot
    const { thread } = await asked(bot)
    const ref = await platform.post(thread, answer('half'), { key: 'k' })
    double.remove(ref.channel, ref.id)
    const failure = await platform.edit(thread, ref, answer('whole')).catch((error) => error)
    expect(failure).toMatchObject({ kind: 'notFound', code: '10008' })
    const again = await platform.post(thread, answer('whole'), { key: 'k', inDoubt: true })
    expect(again.id).not.toBe(ref.id)
    expect(double.text(thread.id)).toBe('toycoder: whole')
  })

  test('carries its buttons, and loses them with an edit without', async () => {
    const bot = await startBot()
    const { double, platform } = bot
    const { thread } = await asked(bot)
    const buttons: Button[] = [
      { action: 'approve', label: 'Approve', style: 'primary', value: 'call:3:1' },
      { action: 'deny', label: 'Deny', style: 'danger', value: 'call:3:1' },
    ]
    const ref = await platform.post(thread, { ...answer('Run it?'), buttons }, { key: 'k' })
    const shown = () => double.botMessages(thread.id)[0]!.components.flatMap(({ components }) => components)
    expect(shown().map(({ custom_id }) => custom_id)).toEqual(['toycoder:approve:call:3:1', 'toycoder:deny:call:3:1'])
    await platform.edit(thread, ref, answer('Approved by Alice.'))
    expect(shown()).toEqual([])
  })

  test('answers with a link to a message', async () => {
    const bot = await startBot()
    const { thread } = await asked(bot)
    const ref = await bot.platform.post(thread, answer('x'), { key: 'k' })
    expect(await bot.platform.permalink(thread, ref)).toBe(
      `https://discord.com/channels/${bot.double.guildId}/${thread.id}/${ref.id}`,
    )
  })

  test('refuses a file over 10 MiB before it is sent', async () => {
    const bot = await startBot()
    const { thread } = await asked(bot)
    const file = { name: 'big.bin', content: new Uint8Array(10 * 1024 * 1024 + 1) }
    const failure = await bot.platform.upload(thread, file, { key: 'k' }).catch((error) => error)
    expect(failure).toMatchObject({ kind: 'tooLong' })
    expect(bot.double.requestsOf(POST)).toHaveLength(0)
  })
})

describe("Discord's limits", () => {
  test('edits beyond the budget are rejected at once with the wait, and never queue up stale', async () => {
    const bot = await startBot({}, await startDouble({ rateLimits: true }))
    const { double, platform } = bot
    const { thread } = await asked(bot)
    const ref = await platform.post(thread, answer('0'), { key: 'k' })
    const { most } = platform.limits.calls.find(({ calls }) => calls.includes('edit'))!
    for (let n = 1; n <= most; n++) await platform.edit(thread, ref, answer(`${n}`))
    // Within the budget that the limits name, a message is not held up behind edits.
    const before = performance.now()
    await platform.post(thread, answer('a card'), { key: 'card' })
    expect(performance.now() - before).toBeLessThan(1_000)

    await platform.edit(thread, ref, answer('5'))
    const failure = await platform.edit(thread, ref, answer('stale')).catch((error) => error)
    expect(failure).toBeInstanceOf(PlatformError)
    expect(failure.kind).toBe('rateLimited')
    expect(failure.retryAfterMs).toBeGreaterThan(0)
    expect(failure.retryAfterMs).toBeLessThanOrEqual(5_100)
    expect(double.requestsOf(EDIT)).toHaveLength(5)
    expect(double.botMessages(thread.id)[0]!.content).toBe('5')
  })

  test('length counts code points: 2,000 emoji fit', async () => {
    const bot = await startBot()
    const { thread } = await asked(bot)
    await bot.platform.post(thread, answer('😀'.repeat(2_000)), { key: 'k' })
    const failure = await bot.platform.post(thread, answer('😀'.repeat(2_001)), { key: 'l' }).catch((error) => error)
    expect(failure.kind).toBe('tooLong')
  })

  test('a stray 401 does not silence the bot: after a minute it tries again', async () => {
    let clock = 1_000_000
    const bot = await startBot({ now: () => clock })
    const { double, platform, lines } = bot
    const { thread } = await asked(bot)
    await platform.post(thread, answer('before'), { key: '0' })
    double.fault({ route: POST, status: 401 })
    const refused = await platform.post(thread, answer('x'), { key: '1' }).catch((error) => error)
    expect(refused).toMatchObject({ kind: 'forbidden', mend: expect.stringContaining('DISCORD_TOKEN') })
    const paused = await platform.post(thread, answer('x'), { key: '1' }).catch((error) => error)
    expect(paused.kind).toBe('forbidden')
    expect(double.requestsOf(POST).filter(({ status }) => status === 401)).toHaveLength(1)
    expect(lines.some(({ level, message }) => level === 'error' && message.includes('DISCORD_TOKEN'))).toBe(true)
    clock += 61_000
    await platform.post(thread, answer('after'), { key: '1' })
    expect(double.text(thread.id)).toBe('toycoder: before\ntoycoder: after')
  })

  test('a request that hangs is given up and told as uncertain', async () => {
    const bot = await startBot({ requestTimeoutMs: 100 })
    const { thread } = await asked(bot)
    await bot.platform.post(thread, answer('first'), { key: '0' })
    bot.double.fault({ route: EDIT, hang: true, times: 3 })
    const ref = { channel: thread.id, id: bot.double.botMessages(thread.id)[0]!.id }
    const failure = await bot.platform.edit(thread, ref, answer('x')).catch((error) => error)
    expect(failure).toMatchObject({ kind: 'unavailable', uncertain: true })
  })
})

describe('who somebody is', () => {
  test('events tell it without a call; rights are those of the server, also in a direct message', async () => {
    const bot = await startBot()
    const { double, platform, inbox } = bot
    const ada = double.user('Ada', { permissions: ['MANAGE_GUILD'] })
    double.mention(ada, double.channelId, 'hello')
    await inbox.received(1)
    expect(await platform.person(double.guildId, ada)).toMatchObject({ name: 'Ada', isAdmin: true, isExternal: false })
    expect(double.requestsOf('GET /guilds/:id/members/:id')).toHaveLength(0)
    expect(await platform.person('@me', ada)).toMatchObject({ isAdmin: true })
    expect(await platform.person(double.guildId, double.ownerId)).toMatchObject({ isAdmin: true })
    const stranger = double.user('Stranger', { outside: true })
    expect(await platform.person('@me', stranger)).toMatchObject({ isAdmin: false, isExternal: true })
    // Somebody whom Discord does not know has no rights of anybody.
    expect(await platform.person(double.guildId, '123456789012345678')).toMatchObject({
      ...{ isGuest: true, isExternal: true, isAdmin: false, roles: [] },
    })
  })
})

describe('reactions', () => {
  test('keep one sign of the bot on a message, also across a restart', async () => {
    const first = await startBot()
    const { double } = first
    const { thread, ref } = await asked(first)
    const shown = () =>
      double
        .find(ref.channel, ref.id)[0]!
        .reactions.filter(({ me }) => me)
        .map(({ emoji }) => emoji.name)
    await first.platform.react(thread, ref, 'working')
    expect(shown()).toEqual(['👀'])
    await first.platform.react(thread, ref, 'waiting')
    expect(shown()).toEqual(['⏳'])
    const second = await startBot({}, double)
    await second.platform.react(thread, ref, 'done')
    expect(shown()).toEqual(['✅'])
    await second.platform.react(thread, ref, null)
    expect(shown()).toEqual([])
  })
})
