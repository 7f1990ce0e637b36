import { describe, expect, test } from 'vitest'
import type { MessageBody } from '../../src/platform/platform.ts'
import { type Bot, startBot, double as startDouble } from './discordHarness.ts'

const CALLBACK = 'POST /interactions/:id/:token/callback'
const NOT_ANSWERED = 'an interaction could not be answered'
const FOLLOW_UP = 'POST /webhooks/:id/:token'
/** Callback types: words, "thinking …", taken note of, a modal. */
const [WORDS, THINKING, NOTED] = [4, 5, 6]
const CARD: MessageBody = {
  markdown: 'Run it?',
  kind: 'card',
  buttons: [
    { action: 'approve', label: 'Approve', style: 'primary', value: 'a:b:c' },
    { action: 'edit', label: 'Edit…', style: 'plain', value: 'a:b:c' },
    { action: 'deny', label: 'Deny…', style: 'danger', value: 'a:b:c' },
  ],
}

async function card(bot: Bot) {
  bot.double.mention(bot.double.aliceId, bot.double.channelId, 'deploy')
  const [message] = await bot.inbox.received(1)
  const { thread } = message!
  const ref = await bot.platform.post(thread, CARD, { key: 'card' })
  const click = (label = 'Approve') => bot.double.click(bot.double.aliceId, ref.channel, ref.id, label)
  return { thread, ref, click }
}

const answered = (bot: Bot, interaction: { answeredWith?: number }) =>
  bot.double.waitFor('an answer', () => interaction.answeredWith)

/** An inbox that answers only when `decide` is called. */
function slowInbox(bot: Bot): { decide: () => void } {
  const slow = { decide: () => {} }
  bot.inbox.before = () =>
    new Promise((resolve) => {
      slow.decide = resolve
    })
  return slow
}

describe('a card', () => {
  test('rings, has coloured buttons in rows of five, and mentions nobody', async () => {
    const bot = await startBot()
    const { ref } = await card(bot)
    const [shown] = bot.double.find(ref.channel, ref.id)
    expect(shown!.flags & 4096).toBe(0)
    expect(shown!.components.map(({ components }) => components.map(({ style }) => style))).toEqual([[3, 2, 4]])
    const sent = bot.double.requests.find(({ body }) => body.content === 'Run it?')
    expect(sent!.body.allowed_mentions).toEqual({ parse: [], users: [], replied_user: false })
  })

  test('with a button without words, or a very long one, is posted all the same', async () => {
    const bot = await startBot()
    const { thread } = await card(bot)
    const labels = ['', '🧪'.repeat(90)]
    const buttons = labels.map((label, n) => ({ action: 'choose', label, style: 'plain' as const, value: `c/1/${n}` }))
    const ref = await bot.platform.post(thread, { ...CARD, buttons }, { key: 'q' })
    const [shown] = bot.double.find(ref.channel, ref.id)
    const said = shown!.components[0]!.components.map(({ label }) => label!)
    expect(said[0]).toBe('…')
    expect(said[1]!.isWellFormed()).toBe(true)
  })

  test('that is settled while its thread sleeps wakes it; one that was deleted is told as gone', async () => {
    const bot = await startBot()
    const { double, platform } = bot
    const { thread, ref } = await card(bot)
    double.archive(thread.id)
    await platform.edit(thread, ref, { markdown: 'Approved', kind: 'card' })
    expect(double.find(ref.channel, ref.id)[0]).toMatchObject({ content: 'Approved', components: [] })
    double.remove(ref.channel, ref.id)
    const settle = () => platform.edit(thread, ref, { markdown: 'Denied', kind: 'card' }).catch((error) => error)
    expect(await settle()).toMatchObject({ kind: 'notFound', code: '10008' })
    double.removeThread(thread.id)
    expect(await settle()).toMatchObject({ kind: 'notFound', code: '10003' })
    const posted = await platform.post(thread, CARD, { key: 'again' }).catch((error) => error)
    expect(posted).toMatchObject({ kind: 'notFound', code: '10003' })
    await platform.remove(thread, ref)
  })

  test('for a thread that people deleted while the bot was away opens no second one', async () => {
    const first = await startBot()
    const { double } = first
    const { thread } = await card(first)
    await first.platform.stop()
    double.removeThread(thread.id)
    const { platform } = await startBot({}, double)
    const posted = await platform.post(thread, CARD, { key: 'again' }).catch((error) => error)
    expect(posted).toMatchObject({ kind: 'notFound', code: '10003' })
    expect(double.requestsOf('POST /channels/:id/messages/:id/threads')).toHaveLength(1)
  })

  test('in a locked thread, or where the rights are gone, is refused with what would mend it', async () => {
    const bot = await startBot()
    const { double, platform } = bot
    const { thread, ref } = await card(bot)
    const settle = () => platform.edit(thread, ref, { markdown: 'Denied', kind: 'card' }).catch((error) => error)
    const post = (key: string) => platform.post(thread, CARD, { key }).catch((error) => error)
    double.archive(thread.id, true)
    expect(await settle()).toMatchObject({ kind: 'notEditable' })
    expect(await post('1')).toMatchObject({ kind: 'forbidden', mend: expect.stringContaining('unlocked') })
    double.deny(double.channelId, 'VIEW_CHANNEL')
    expect(await settle()).toMatchObject({ kind: 'forbidden', mend: expect.stringContaining('View Channel') })
  })

  test('is posted into a thread that fell asleep, which wakes by it', async () => {
    const bot = await startBot()
    const { thread } = await card(bot)
    bot.double.archive(thread.id)
    const ref = await bot.platform.post(thread, CARD, { key: 'second' })
    expect(ref.channel).toBe(thread.id)
    expect(bot.double.world.channels.get(thread.id)!.thread_metadata!.archived).toBe(false)
  })
})

describe('a click', () => {
  test('tells the inbox who pressed what where, and is answered once', async () => {
    const bot = await startBot()
    const { thread, ref, click } = await card(bot)
    const interaction = click()
    expect(await answered(bot, interaction)).toBe(NOTED)
    expect(bot.inbox.clicks).toMatchObject([{ id: interaction.id, thread, ref, action: 'approve', value: 'a:b:c' }])
    expect(bot.inbox.clicks[0]!.author).toMatchObject({ id: bot.double.aliceId, name: 'Alice', isExternal: false })
    expect(interaction.ephemeral).toEqual([])
    expect(bot.double.requestsOf(CALLBACK)).toHaveLength(1)
  })

  test('is answered to the clicking person alone, with what fits of it', async () => {
    const bot = await startBot()
    const { click } = await card(bot)
    bot.inbox.answer = { text: 'Bob was faster. @everyone' }
    const interaction = click()
    expect(await answered(bot, interaction)).toBe(WORDS)
    expect(interaction.ephemeral).toMatchObject([{ content: 'Bob was faster. @\u200beveryone', flags: 64 | 4 }])
    bot.inbox.answer = { text: 'a_b*c '.repeat(1_000) }
    const long = click()
    expect(await answered(bot, long)).toBe(WORDS)
    expect(long.ephemeral[0]!.content.length).toBeGreaterThan(1_000)
  })

  test('whose answer takes long shows that it is under way, then the words', async () => {
    const bot = await startBot({ answerWithinMs: 30 })
    const { click } = await card(bot)
    const slow = slowInbox(bot)
    bot.inbox.answer = { text: 'You may not decide this.' }
    const interaction = click()
    expect(await answered(bot, interaction)).toBe(THINKING)
    expect(interaction.ephemeral).toMatchObject([{ content: '', flags: 64 | 128 }])
    slow.decide()
    await bot.double.waitFor('the words', () => interaction.ephemeral[0]?.content === 'You may not decide this.')
    expect(interaction.ephemeral).toHaveLength(1)
  })

  test('whose answer takes long and has no words leaves nothing behind', async () => {
    const bot = await startBot({ answerWithinMs: 30 })
    const { ref, click } = await card(bot)
    const slow = slowInbox(bot)
    const interaction = click()
    await answered(bot, interaction)
    slow.decide()
    await bot.double.waitFor('nothing', () => interaction.ephemeral.length === 0)
    expect(bot.double.find(ref.channel, ref.id)).toHaveLength(1)
  })

  test('that the store could not take says so', async () => {
    const bot = await startBot()
    const { click } = await card(bot)
    bot.inbox.failNext(1)
    const interaction = click()
    await answered(bot, interaction)
    expect(interaction.ephemeral[0]!.content).toContain('press the button again')
    expect(bot.lines.some(({ level, message }) => level === 'error' && message.includes('not taken'))).toBe(true)
  })

  test.each([
    { code: 10062, status: 404, why: 'came too late' },
    { code: 40060, status: 400, why: 'was answered by another process' },
    { code: 50027, status: 401, why: 'has an ended token' },
    { code: 160005, status: 403, why: 'is in a locked thread' },
  ])('that $why ($code) counts all the same; that nobody could be told is logged', async ({ code, status }) => {
    const bot = await startBot()
    const { click } = await card(bot)
    bot.inbox.answer = { text: 'Thank you.' }
    bot.double.fault({ route: CALLBACK, status, code })
    const interaction = click()
    await bot.double.waitFor('a word in the log', () => bot.lines.some(({ message }) => message.includes(NOT_ANSWERED)))
    expect(bot.inbox.clicks).toHaveLength(1)
    expect(interaction.ephemeral).toEqual([])
    expect(bot.double.requestsOf(FOLLOW_UP)).toEqual([])
    // The token of an interaction is not the bot's own: the bot still speaks.
    click()
    await bot.double.waitFor('the next answer', () => bot.double.saidAlone(bot.double.aliceId).length === 1)
  })

  test('whose answer comes after its 15 minutes is logged', async () => {
    const bot = await startBot({ answerWithinMs: 30 })
    const { click } = await card(bot)
    const slow = slowInbox(bot)
    bot.inbox.answer = { text: 'At last.' }
    await answered(bot, click())
    bot.double.advance(16 * 60_000)
    slow.decide()
    await bot.double.waitFor('a word in the log', () => bot.lines.some(({ message }) => message.includes('had ended')))
  })

  test('on an old card in a thread that fell asleep long ago finds its conversation', async () => {
    const first = await startBot()
    const { double } = first
    const { thread, ref, click } = await card(first)
    await first.platform.stop()
    double.archive(thread.id)
    const second = await startBot({}, double)
    second.inbox.answer = { text: 'Noted.' }
    const interaction = click()
    expect(await answered(second, interaction)).toBe(WORDS)
    expect(second.inbox.clicks).toMatchObject([{ thread, ref, action: 'approve' }])
    await second.platform.edit(thread, ref, { markdown: 'Approved', kind: 'card' })
    expect(double.find(ref.channel, ref.id)[0]!.components).toEqual([])
  })

  test('on a card in the channel, for lack of the right to open threads, belongs to the asked conversation', async () => {
    const bot = await startBot()
    bot.double.deny(bot.double.channelId, 'CREATE_PUBLIC_THREADS')
    const { thread, ref, click } = await card(bot)
    expect(ref.channel).toBe(bot.double.channelId)
    await answered(bot, click())
    expect(bot.inbox.clicks[0]!.thread).toEqual(thread)
  })

  test('in a direct message belongs to it', async () => {
    const bot = await startBot()
    const { double, platform } = bot
    double.dm(double.aliceId, 'deploy')
    const [message] = await bot.inbox.received(1)
    const ref = await platform.post(message!.thread, CARD, { key: 'card' })
    await answered(bot, double.click(double.aliceId, ref.channel, ref.id, 'Approve'))
    expect(bot.inbox.clicks[0]).toMatchObject({ thread: message!.thread, ref })
  })
})

describe('a button that was made up', () => {
  test.each(['toycoder:approve:c1.0/1', 'toycoder:approve:__proto__/../x:y', `toycoder:${'a'.repeat(91)}`])(
    '(%j) reaches the inbox as data only, with the place where it was pressed',
    async (customId) => {
      const bot = await startBot()
      const { double } = bot
      const interaction = double.forgeClick(double.aliceId, double.channelId, customId)
      expect(await answered(bot, interaction)).toBe(NOTED)
      expect(bot.inbox.clicks[0]!.thread).toMatchObject({ account: double.guildId, channel: double.channelId })
      expect(bot.inbox.clicks[0]!.action).toBe(customId.split(':')[1])
    },
  )

  test('in another server is told as pressed there, by somebody from outside', async () => {
    const bot = await startBot()
    const { double } = bot
    const { thread } = await card(bot)
    const channel = double.foreignChannel('elsewhere')
    const stranger = double.user('Mallory', { outside: true })
    const interaction = double.forgeClick(stranger, channel, `toycoder:approve:${thread.id}`)
    expect(await answered(bot, interaction)).toBe(NOTED)
    const [click] = bot.inbox.clicks
    expect(click!.thread.account).not.toBe(double.guildId)
    expect(click).toMatchObject({ thread: { channel }, author: { id: stranger, isExternal: true } })
  })

  test('and is none of ours is taken note of, and nobody is asked', async () => {
    const bot = await startBot()
    const { double } = bot
    for (const id of ['x', 'toycoder:', 'approve:c1.0/1']) {
      expect(await answered(bot, double.forgeClick(double.aliceId, double.channelId, id))).toBe(NOTED)
    }
    expect(bot.inbox.clicks).toEqual([])
  })
})

describe('words for one person with buttons', () => {
  const buttons = [{ action: 'queue', label: 'Send it', style: 'primary' as const, value: 'm7' }]

  test('are shown as the answer to a command, and a click on them comes from the thread', async () => {
    const bot = await startBot()
    const { double, platform, inbox } = bot
    const thread = double.thread(double.aliceId, double.channelId, 'talk')
    const interaction = double.slash(double.aliceId, thread, 'plan', { task: 'x' })
    const { token, ...command } = await double.waitFor('the command', () => inbox.commands[0])
    expect(await platform.whisper(command.thread!, double.aliceId, 'Busy. Later?', { token, buttons })).toBe(true)
    const [said] = interaction.ephemeral
    expect(said).toMatchObject({ content: 'Busy. Later?', components: [{ components: [{ label: 'Send it' }] }] })
    await answered(bot, double.click(double.aliceId, thread, said!.id, 'Send it'))
    expect(inbox.clicks).toMatchObject([
      { action: 'queue', value: 'm7', thread: { id: thread }, ref: { channel: thread, id: said!.id } },
    ])
  })

  test('have no means without an interaction, so that somebody else has to show them', async () => {
    const bot = await startBot({}, await startDouble())
    const { thread } = await card(bot)
    const before = bot.double.requests.length
    expect(await bot.platform.whisper(thread, bot.double.aliceId, 'Busy. Later?', { buttons })).toBe(false)
    expect(bot.double.requests).toHaveLength(before)
  })
})
