import { describe, expect, test } from 'vitest'
import type { ThreadRef } from '../../src/shared/thread.ts'
import { answer, type Bot, startBot } from './discordHarness.ts'
import { until } from './recordingInbox.ts'

/** A mention in a channel, and the thread that its first answer opens. */
async function begun(bot: Bot) {
  bot.double.mention(bot.double.aliceId, bot.double.channelId, 'go')
  const { thread, ref: question } = (await bot.inbox.received(1))[0]!
  const live = await bot.platform.post(thread, answer('At work'), { key: 'live' })
  return { thread, question, live }
}

async function stops({ inbox }: Bot, count: number) {
  await until(() => inbox.stops.length >= count, `${count} stop(s)`)
  return inbox.stops
}

describe('stopping by a reaction on Discord', () => {
  test('a stop sign on a message of the bot’s stops its thread, and so does the stop button’s emoji', async () => {
    const bot = await startBot()
    const { thread, live } = await begun(bot)
    for (const name of ['🛑', '⏹️']) bot.double.react(bot.double.aliceId, live.channel, live.id, name)
    for (const stop of await stops(bot, 2)) {
      expect(stop).toMatchObject({ thread, author: { id: bot.double.aliceId, name: 'Alice', isBot: false } })
      expect(stop).not.toHaveProperty('on')
    }
    expect(new Set(bot.inbox.stops.map(({ id }) => id)).size).toBe(2)
  })

  test('one on the question in the channel says which question, and means the thread that was opened on it', async () => {
    const bot = await startBot()
    const { thread, question } = await begun(bot)
    bot.double.react(bot.double.aliceId, question.channel, question.id, '🛑')
    expect(await stops(bot, 1)).toMatchObject([{ thread, on: question }])
  })

  test('other reactions and the bot’s own say nothing, and another bot’s is told as a bot’s', async () => {
    const bot = await startBot()
    const { live } = await begun(bot)
    const robot = bot.double.user('robot', { bot: true })
    bot.double.react(bot.double.aliceId, live.channel, live.id, '👍')
    bot.double.react(bot.double.botId, live.channel, live.id, '🛑')
    bot.double.react(robot, live.channel, live.id, '🛑')
    bot.double.react(bot.double.aliceId, live.channel, live.id, '🛑')
    const told = (await stops(bot, 2)).map(({ author }) => ({ id: author.id, isBot: author.isBot }))
    expect(told).toEqual([
      { id: robot, isBot: true },
      { id: bot.double.aliceId, isBot: false },
    ])
  })

  test('in a direct message and in a forum post it means the conversation there', async () => {
    const bot = await startBot()
    const { double } = bot
    const direct = double.dm(double.aliceId, 'hello')
    const post = double.forumPost(double.aliceId, double.forumId, 'Build', `<@${double.botId}> why is it red?`)
    const threads = (await bot.inbox.received(2)).map(({ thread }) => thread)
    for (const { channel_id, id } of [direct, post]) double.react(double.aliceId, channel_id, id, '🛑')
    const on = [direct, post].map(({ channel_id: channel, id }) => ({ channel, id }))
    const told = await stops(bot, 2)
    for (const n of [0, 1]) expect(told).toContainEqual(expect.objectContaining({ thread: threads[n], on: on[n] }))
  })

  test('an answer that had to stand in the channel belongs to its question', async () => {
    const bot = await startBot()
    bot.double.deny(bot.double.channelId, 'CREATE_PUBLIC_THREADS')
    const { thread, live } = await begun(bot)
    expect(live.channel).toBe(bot.double.channelId)
    bot.double.react(bot.double.aliceId, live.channel, live.id, '🛑')
    const [stop] = await stops(bot, 1)
    expect(stop).toMatchObject({ thread })
    expect(stop).not.toHaveProperty('on')
  })

  test('after a restart, messages that nobody remembers are known all the same', async () => {
    const first = await startBot()
    const { thread, question, live } = await begun(first)
    const open = await first.platform.open(placeOf(thread), answer('A plan'), { key: 'plan' })
    await first.platform.stop()
    const second = await startBot({}, first.double)
    for (const ref of [question, live, open.ref]) {
      second.double.react(second.double.aliceId, ref.channel, ref.id, '🛑')
    }
    const told = await stops(second, 3)
    expect(told).toContainEqual(expect.objectContaining({ thread, on: question }))
    const ours = told.filter(({ on }) => !on).map((stop) => stop.thread)
    expect(ours).toContainEqual(thread)
    expect(ours).toContainEqual(open.thread)
  })

  test('one that is delivered twice is one stop; taken back and put on again it is another', async () => {
    const bot = await startBot()
    const { live } = await begun(bot)
    bot.double.react(bot.double.aliceId, live.channel, live.id, '🛑')
    bot.double.gateway.redeliver('MESSAGE_REACTION_ADD')
    bot.double.unreact(bot.double.aliceId, live.channel, live.id, '🛑')
    bot.double.react(bot.double.aliceId, live.channel, live.id, '🛑')
    const [one, again, anew] = (await stops(bot, 3)).map(({ id }) => id)
    expect(again).toBe(one)
    expect(anew).not.toBe(one)
  })

  test('one that could not be stored is handed over again', async () => {
    const bot = await startBot()
    const { live } = await begun(bot)
    bot.inbox.failNext(1)
    bot.double.react(bot.double.aliceId, live.channel, live.id, '🛑')
    expect(await stops(bot, 1)).toHaveLength(1)
  })

  test('one on a message that is gone stops nothing and harms nothing', async () => {
    const bot = await startBot()
    const { live } = await begun(bot)
    const gone = bot.double.say(bot.double.aliceId, bot.double.channelId, 'never mind')
    bot.double.fault({ route: 'GET /channels/:id/messages/:id', status: 404, code: 10008 })
    bot.double.react(bot.double.aliceId, gone.channel_id, gone.id, '🛑')
    bot.double.react(bot.double.aliceId, live.channel, live.id, '🛑')
    await stops(bot, 1)
    expect(bot.lines.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([])
  })
})

function placeOf({ account, channel }: ThreadRef) {
  return { platform: 'discord' as const, account, channel }
}
