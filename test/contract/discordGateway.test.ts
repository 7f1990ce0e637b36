import { createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { SetupError } from '../../src/shared/errors.ts'
import { adapter, answer, type Bot, startBot, double as startDouble } from './discordHarness.ts'

async function refusal(starting: Promise<void>): Promise<{ problem: string; mend: string }> {
  const error = await starting.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(SetupError)
  return (error as SetupError).problems[0]!
}

describe('a start that cannot succeed names the setting and the mend', () => {
  test('without a token', async () => {
    const { platform, inbox } = adapter(await startDouble(), { token: ' ' })
    expect((await refusal(platform.start(inbox))).problem).toContain('DISCORD_TOKEN')
  })

  test('with a wrong token', async () => {
    const { platform, inbox } = adapter(await startDouble(), { token: 'wrong' })
    const { problem, mend } = await refusal(platform.start(inbox))
    expect(problem).toContain('does not accept DISCORD_TOKEN')
    expect(mend).toContain('Bot page')
  })

  test('with a token that the gateway refuses (4004)', async () => {
    const double = await startDouble()
    double.gateway.refuse(4004)
    const { platform, inbox } = adapter(double)
    expect((await refusal(platform.start(inbox))).problem).toContain('does not accept DISCORD_TOKEN')
  })

  test('without the message content intent (4014)', async () => {
    const { platform, inbox } = adapter(await startDouble({ messageContentIntent: false }))
    const { problem, mend } = await refusal(platform.start(inbox))
    expect(problem).toContain('message content intent')
    expect(mend).toContain('Message Content Intent')
  })

  test('with a server that the bot is not in', async () => {
    const { platform, inbox } = adapter(await startDouble(), { guildId: '123456789012345678' })
    const { problem, mend } = await refusal(platform.start(inbox))
    expect(problem).toContain('DISCORD_GUILD_ID')
    expect(mend).toContain('https://discord.com/oauth2/authorize?client_id=')
  })

  test('where nothing listens', async () => {
    const double = await startDouble()
    const { platform, inbox } = adapter(double, { apiUrl: 'http://127.0.0.1:9/api' })
    const { problem, mend } = await refusal(platform.start(inbox))
    expect(problem).toContain('http://127.0.0.1:9/api')
    expect(mend).toContain('DISCORD_API_URL')
  })

  test('where the gateway never answers', async () => {
    const silent = createServer(() => {})
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void silent.close())
    const address = silent.address()
    const port = typeof address === 'object' && address ? address.port : 0
    const double = await startDouble()
    double.gateway.url = () => `ws://127.0.0.1:${port}`
    const { platform, inbox } = adapter(double, { startLimitMs: 300 })
    expect((await refusal(platform.start(inbox))).problem).toContain('no connection within 0.3 s')
  })
})

describe('a connection that fails', () => {
  async function hears(bot: Bot, text: string) {
    const before = bot.inbox.messages.length
    bot.double.mention(bot.double.aliceId, bot.double.channelId, text)
    const messages = await bot.inbox.received(before + 1)
    expect(messages[before]!.text).toBe(text)
  }

  test('without a word is resumed, and what was said meanwhile is replayed in order', async () => {
    const bot = await startBot()
    await hears(bot, 'before')
    bot.double.gateway.drop()
    for (let n = 1; n <= 3; n++) bot.double.mention(bot.double.aliceId, bot.double.channelId, `meanwhile ${n}`)
    const messages = await bot.inbox.received(4)
    expect(messages.slice(1).map(({ text }) => text)).toEqual(['meanwhile 1', 'meanwhile 2', 'meanwhile 3'])
    await bot.double.waitFor('the resume', () => bot.double.gateway.resumes === 1)
    expect(bot.double.gateway.identified).toHaveLength(1)
    await hears(bot, 'after')
  })

  test('is resumed when Discord asks for it (op 7)', async () => {
    const bot = await startBot()
    bot.double.gateway.askToReconnect()
    await bot.double.waitFor('the resume', () => bot.double.gateway.resumes === 1)
    await hears(bot, 'after')
  })

  test('delivers once what comes twice', async () => {
    const bot = await startBot()
    await hears(bot, 'once')
    bot.double.gateway.redeliver('MESSAGE_CREATE')
    await hears(bot, 'next')
    expect(bot.inbox.messages).toHaveLength(2)
  })

  test('for good is told in the log and does not end the process', async () => {
    const bot = await startBot()
    bot.double.gateway.close(4004)
    await bot.double.waitFor('the line', () =>
      bot.lines.find(({ level, message }) => level === 'error' && message.includes('for good')),
    )
  })

  test('after which the session is lost (op 9) catches up before it goes on', async () => {
    const bot = await startBot()
    const { double, inbox, platform } = bot
    await hears(bot, 'start')
    const { thread, ref } = inbox.messages[0]!
    await platform.post(thread, answer('started'), { key: '1' })
    inbox.followedThreads = [{ thread, lastSeen: ref }]
    double.gateway.invalidate()
    double.say(double.aliceId, thread.id, 'missed 1')
    double.say(double.aliceId, thread.id, 'missed 2')
    await double.waitFor('a new session', () => double.gateway.identified.length === 2, 15_000)
    double.say(double.aliceId, thread.id, 'live again')
    const messages = await inbox.received(4)
    expect(messages.slice(1).map(({ text }) => text)).toEqual(['missed 1', 'missed 2', 'live again'])
    expect(messages[1]).toMatchObject({ addressed: 'thread', thread: { id: thread.id } })
  })
})

describe('after a restart', () => {
  /** A bot that has answered in a thread and in a direct message and is down now. */
  async function down() {
    const first = await startBot()
    const { double, inbox, platform } = first
    double.mention(double.aliceId, double.channelId, 'start')
    double.dm(double.aliceId, 'hi')
    const [mention, direct] = await inbox.received(2)
    await platform.post(mention!.thread, answer('started'), { key: '1' })
    await platform.post(direct!.thread, answer('hello'), { key: '2' })
    await platform.stop()
    const followed = [mention!, direct!].map(({ thread, ref }) => ({ thread, lastSeen: ref }))
    return { double, followed, thread: mention!.thread, dm: direct!.thread }
  }

  test('threads and direct messages are read from the last message seen, in order', async () => {
    const { double, followed, thread, dm } = await down()
    for (let n = 1; n <= 120; n++) double.say(double.aliceId, thread.id, `missed ${n}`)
    double.dm(double.aliceId, 'are you there?')
    double.mention(double.user('robot', { bot: true }), thread.id, 'not me')
    const second = adapter(double)
    second.inbox.followedThreads = followed
    await second.platform.start(second.inbox)
    const messages = await second.inbox.received(121)
    const inThread = messages.filter((message) => message.thread.id === thread.id)
    expect(inThread.map(({ text }) => text)).toEqual(Array.from({ length: 120 }, (_, n) => `missed ${n + 1}`))
    expect(messages.find((message) => message.thread.id === dm.id)).toMatchObject({
      text: 'are you there?',
      addressed: 'direct',
      thread: dm,
    })
    expect(second.inbox.deliveries).toHaveLength(121)
  })

  test('what comes while the past is read keeps its place', async () => {
    const { double, followed, thread } = await down()
    double.say(double.aliceId, thread.id, 'missed')
    const second = adapter(double)
    second.inbox.followedThreads = followed
    double.fault({ route: 'GET /channels/:id/messages', delayMs: 300, times: 2 })
    await second.platform.start(second.inbox)
    double.say(double.aliceId, thread.id, 'live 1')
    double.say(double.aliceId, thread.id, 'live 2')
    double.mention(double.aliceId, double.channelId, 'elsewhere')
    const messages = await second.inbox.received(4)
    // Another thread is not held up; in this one the order holds, and nothing comes twice.
    expect(messages[0]!.text).toBe('elsewhere')
    expect(messages.slice(1).map(({ text }) => text)).toEqual(['missed', 'live 1', 'live 2'])
    expect(second.inbox.deliveries).toHaveLength(4)
  })

  test('too much is bounded: the newest 300 of a thread come, and the log says so', async () => {
    const { double, followed, thread } = await down()
    for (let n = 1; n <= 320; n++) double.say(double.aliceId, thread.id, `missed ${n}`)
    const second = adapter(double)
    second.inbox.followedThreads = followed
    await second.platform.start(second.inbox)
    const messages = await second.inbox.received(300)
    expect(messages[0]!.text).toBe('missed 21')
    expect(messages[299]!.text).toBe('missed 320')
    expect(second.lines.some(({ level, message }) => level === 'warn' && message.includes('oldest left out'))).toBe(
      true,
    )
  })

  test('a thread that is gone or closed to the bot does not stop the others', async () => {
    const { double, followed, thread, dm } = await down()
    double.dm(double.aliceId, 'hello?')
    double.removeThread(thread.id)
    const hidden = double.channel('hidden')
    const other = double.thread(double.aliceId, hidden, 'secret')
    double.deny(hidden, 'VIEW_CHANNEL')
    const closed = { platform: 'discord' as const, account: double.guildId, id: other, channel: hidden, thread: other }
    const second = adapter(double)
    second.inbox.followedThreads = [{ thread: closed, lastSeen: followed[0]!.lastSeen }, ...followed]
    await second.platform.start(second.inbox)
    const [message] = await second.inbox.received(1)
    expect(message!.thread.id).toBe(dm.id)
  })

  test('a store that is away at first is asked again', async () => {
    const { double, followed, thread } = await down()
    double.say(double.aliceId, thread.id, 'missed')
    const second = adapter(double)
    let asked = 0
    second.inbox.followed = async () => {
      asked += 1
      if (asked < 3) throw new Error('the store is not there')
      return followed
    }
    await second.platform.start(second.inbox)
    double.mention(double.aliceId, double.channelId, 'live')
    const messages = await second.inbox.received(2)
    expect(messages.map(({ text }) => text).sort()).toEqual(['live', 'missed'])
  })
})

describe('an inbox that fails', () => {
  test('gets every message again, in order, without holding up other threads', async () => {
    const bot = await startBot()
    const { double, inbox, platform } = bot
    double.mention(double.aliceId, double.channelId, 'start')
    const [first] = await inbox.received(1)
    await platform.post(first!.thread, answer('started'), { key: '1' })
    inbox.failNext(2)
    double.say(double.aliceId, first!.thread.id, 'one')
    double.say(double.aliceId, first!.thread.id, 'two')
    await double.waitFor('two failures', () => inbox.deliveries.length >= 3)
    double.mention(double.aliceId, double.channelId, 'elsewhere')
    const messages = await inbox.received(4)
    expect(messages.slice(1).map(({ text }) => text)).toEqual(['elsewhere', 'one', 'two'])
  })
})

describe('stopping', () => {
  test('waits for what is being stored, takes nothing more, and lets answers finish', async () => {
    const bot = await startBot()
    const { double, inbox, platform } = bot
    let store = () => {}
    inbox.before = () => new Promise((resolve) => (store = resolve))
    double.mention(double.aliceId, double.channelId, 'last words')
    await double.waitFor('the delivery', () => inbox.deliveries.length === 1)
    let stopped = false
    const stopping = platform.stop().then(() => (stopped = true))
    await new Promise((resolve) => setImmediate(resolve))
    expect(stopped).toBe(false)
    store()
    await stopping
    expect(double.gateway.connected()).toBe(0)
    await platform.post(inbox.messages[0]!.thread, answer('finished'), { key: '1' })
    expect(double.text(inbox.messages[0]!.thread.id)).toBe('toycoder: finished')
  })
})

describe('text that Discord holds back', () => {
  test('is told in the log once, and nothing empty reaches the inbox', async () => {
    const bot = await startBot()
    const { double, inbox, lines } = bot
    const thread = double.thread(double.aliceId, double.channelId, 'talk')
    double.say(double.aliceId, thread, '')
    double.say(double.aliceId, thread, '')
    double.mention(double.aliceId, thread, '')
    const [bare] = await inbox.received(1)
    expect(bare).toMatchObject({ addressed: 'mention', text: '' })
    expect(lines.filter(({ level, message }) => level === 'error' && message.includes('Message Content'))).toHaveLength(
      1,
    )
  })
})

describe('a listener that throws', () => {
  test('is told in the log, and the next event is heard', async () => {
    const bot = await startBot()
    const { double, inbox, lines } = bot
    double.gateway.dispatch('MESSAGE_CREATE', {
      id: double.world.snowflake(),
      channel_id: double.channelId,
      channel_type: 0,
      guild_id: double.guildId,
      type: 0,
      content: 'nobody wrote this',
    })
    double.mention(double.aliceId, double.channelId, 'next')
    const [message] = await inbox.received(1)
    expect(message!.text).toBe('next')
    expect(lines.some(({ level, message }) => level === 'error' && message.includes('could not be read'))).toBe(true)
  })
})

describe('rights at the start', () => {
  test('that are missing in the whole server are named in the log', async () => {
    const double = await startDouble()
    const guild = double.world.guilds.get(double.guildId)!
    guild.roles.find(({ name }) => name === 'toycoder')!.permissions = String((1n << 10n) | (1n << 11n))
    const { lines } = await startBot({}, double)
    const line = lines.find(({ message }) => message.includes('lacks rights'))
    expect(line!.message).toContain('Create Public Threads')
    expect(line!.message).not.toContain('Add Reactions')
  })
})
