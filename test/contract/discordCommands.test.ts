import { describe, expect, test } from 'vitest'
import type { CommandSpec } from '../../src/platform/discord/commands.ts'
import type { Place } from '../../src/platform/platform.ts'
import { answer, type Bot, startBot, double as startDouble } from './discordHarness.ts'

const CALLBACK = 'POST /interactions/:id/:token/callback'
const POST = 'POST /channels/:id/messages'
const COMMANDS: CommandSpec[] = [
  {
    name: 'plan',
    description: 'Plans a task',
    option: { name: 'task', description: 'What to plan', required: true },
  },
  {
    name: 'toycoder',
    description: 'Talks to ToyCoder',
    option: { name: 'command', description: 'For example help', required: true },
  },
]

async function commanded(bot: Bot, channel = bot.double.channelId, task = 'ship 2.0') {
  const before = bot.inbox.commands.length
  const interaction = bot.double.slash(bot.double.aliceId, channel, 'plan', { task })
  const command = await bot.double.waitFor('the command', () => bot.inbox.commands[before])
  return { interaction, command }
}

const thinking = (bot: Bot, channel = bot.double.channelId) =>
  bot.double.waitFor('the placeholder', () => bot.double.botMessages(channel).find(({ flags }) => flags & 128))

describe('registering', () => {
  test('goes to the server that is named, else everywhere', async () => {
    const here = await startBot({ commands: COMMANDS })
    expect(here.double.commands('global').map(({ name }) => name)).toEqual(['plan', 'toycoder'])
    const double = await startDouble()
    await startBot({ commands: COMMANDS, guildId: double.guildId }, double)
    expect(double.commands('global')).toEqual([])
    expect(double.commands(double.guildId)[0]).toMatchObject({
      name: 'plan',
      options: [{ type: 3, name: 'task', description: 'What to plan', required: true }],
    })
  })

  test('that fails leaves the bot working and says so in the log', async () => {
    const double = await startDouble()
    double.fault({ route: 'PUT /applications/:id/commands', status: 403, code: 50001 })
    const bot = await startBot({ commands: COMMANDS }, double)
    expect(bot.lines.some(({ level, message }) => level === 'error' && message.includes('slash commands'))).toBe(true)
    double.mention(double.aliceId, double.channelId, 'still here?')
    await bot.inbox.received(1)
  })
})

describe('/plan in a channel', () => {
  test('is acknowledged before the store has answered (IN-01)', async () => {
    const bot = await startBot()
    let store = () => {}
    bot.inbox.before = () => new Promise((resolve) => (store = resolve))
    const interaction = bot.double.slash(bot.double.aliceId, bot.double.channelId, 'plan', { task: 'x' })
    const placeholder = await thinking(bot)
    expect(bot.inbox.commands).toEqual([])
    expect(bot.double.requestsOf(CALLBACK).map(({ status }) => status)).toEqual([200])
    store()
    const command = await bot.double.waitFor('the command', () => bot.inbox.commands[0])
    expect(command).toMatchObject({ id: interaction.id, name: 'plan', text: 'x', token: interaction.token })
    expect(placeholder.interaction_metadata!.id).toBe(interaction.id)
  })

  test('turns its placeholder into the first message of a thread, with the bot token', async () => {
    const bot = await startBot()
    const { command } = await commanded(bot)
    const placeholder = await thinking(bot)
    expect(command.thread).toBeUndefined()
    bot.double.advance(20 * 60_000) // the interaction's token has ended long ago
    const key = `command:${command.id}`
    const { thread, ref } = await bot.platform.open(command.place, answer('**Alice** asked for a plan: ship 2.0'), {
      key,
    })
    expect(ref).toEqual({ channel: bot.double.channelId, id: placeholder.id })
    expect(thread).toMatchObject({ id: placeholder.id, channel: bot.double.channelId, thread: placeholder.id })
    await bot.platform.post(thread, answer('1. Do it'), { key: 'step' })
    expect(bot.double.text(bot.double.channelId)).toBe('toycoder: **Alice** asked for a plan: ship 2.0')
    expect(bot.double.world.channels.get(thread.id)!.name).toBe('Alice asked for a plan: ship 2.0')
    expect(bot.double.text(thread.id)).toBe('toycoder: 1. Do it')
    expect(await bot.platform.open(command.place, answer('again'), { key, inDoubt: true })).toEqual({ thread, ref })
  })

  test('finds its placeholder after a restart', async () => {
    const first = await startBot()
    const { double } = first
    const { command } = await commanded(first)
    const placeholder = await thinking(first)
    for (let n = 0; n < 120; n++) double.say(double.aliceId, double.channelId, `chatter ${n}`)
    await first.platform.stop()
    const second = await startBot({}, double)
    const { ref } = await second.platform.open(command.place, answer('a plan'), { key: `command:${command.id}` })
    expect(ref.id).toBe(placeholder.id)
  })

  test('goes on without a placeholder: too late, or deleted', async () => {
    const bot = await startBot()
    const { double, platform } = bot
    double.fault({ route: CALLBACK, status: 404, code: 10062 })
    const late = await commanded(bot)
    const first = await platform.open(late.command.place, answer('plan one'), { key: `command:${late.command.id}` })
    expect(double.text(double.channelId)).toBe('toycoder: plan one')
    expect(double.world.channels.has(first.thread.id)).toBe(true)
    const { command } = await commanded(bot)
    const placeholder = await thinking(bot)
    double.remove(double.channelId, placeholder.id)
    const second = await platform.open(command.place, answer('plan two'), { key: `command:${command.id}` })
    await platform.post(second.thread, answer('step'), { key: 'step' })
    expect(double.text(second.thread.id)).toBe('toycoder: step')
  })

  test('that is refused is told to the person alone, and nothing stays in the channel', async () => {
    const bot = await startBot()
    bot.inbox.receipt = { outcome: 'refused', text: 'Sorry, not here.' }
    const { interaction } = await commanded(bot)
    await bot.double.waitFor('the refusal', () => interaction.ephemeral.length === 1)
    expect(interaction.ephemeral[0]!.content).toBe('Sorry, not here.')
    await bot.double.waitFor('a clean channel', () => bot.double.botMessages(bot.double.channelId).length === 0)
  })

  test('that is not for the bot leaves nothing behind', async () => {
    const bot = await startBot()
    bot.inbox.receipt = { outcome: 'ignored' }
    await commanded(bot)
    await bot.double.waitFor(
      'the placeholder came and went',
      () => bot.double.requestsOf(CALLBACK).length === 1 && bot.double.botMessages(bot.double.channelId).length === 0,
    )
  })

  test('is delivered again when the store failed', async () => {
    const bot = await startBot()
    bot.inbox.failNext(2)
    const { command } = await commanded(bot)
    expect(command.text).toBe('ship 2.0')
  })

  test('where no thread may be opened answers in the channel', async () => {
    const bot = await startBot()
    const { double, platform } = bot
    double.deny(double.channelId, 'CREATE_PUBLIC_THREADS')
    const { command } = await commanded(bot)
    const { thread } = await platform.open(command.place, answer('a plan'), { key: `command:${command.id}` })
    await platform.post(thread, answer('step one'), { key: 'step' })
    expect(double.botMessages(double.channelId).map(({ content }) => content)).toEqual([
      'a plan',
      `I can't open a thread here: I need the permission "Create Public Threads" in this channel.`,
      'step one',
    ])
  })
})

describe('/plan where there is a conversation already', () => {
  test('uses the thread; the placeholder shows what was asked', async () => {
    const bot = await startBot()
    const { double } = bot
    const thread = double.thread(double.aliceId, double.channelId, 'talk')
    const { command } = await commanded(bot, thread)
    expect(command).toMatchObject({
      thread: { id: thread, channel: double.channelId, thread },
      place: { channel: double.channelId },
    })
    await double.waitFor('the trace', () => double.text(thread).includes('`/plan` ship 2.0'))
  })

  test('uses a direct message', async () => {
    const bot = await startBot()
    const dm = bot.double.dmChannel(bot.double.aliceId)
    bot.double.dm(bot.double.aliceId, 'hi')
    const { command } = await commanded(bot, dm)
    expect(command.thread).toEqual({ platform: 'discord', account: '@me', id: dm, channel: dm })
  })
})

describe('whispering', () => {
  test('answers a command privately, once more too, and not after 15 minutes', async () => {
    const bot = await startBot()
    const { double, platform } = bot
    const { command, interaction } = await commanded(bot)
    await thinking(bot)
    const whisper = (text: string) => platform.whisper(command.place, double.aliceId, text, { token: command.token })
    expect(await whisper('I can do this: …')).toBe(true)
    expect(await whisper('And that.')).toBe(true)
    expect(interaction.ephemeral.map(({ content }) => content)).toEqual(['I can do this: …', 'And that.'])
    expect(double.botMessages(double.channelId)).toEqual([])
    double.advance(16 * 60_000)
    expect(await whisper('Too late.')).toBe(false)
  })

  test('works in a process that has not heard the command', async () => {
    const first = await startBot()
    const { command, interaction } = await commanded(first)
    await thinking(first)
    await first.platform.stop()
    const second = await startBot({}, first.double)
    const told = await second.platform.whisper(command.place, first.double.aliceId, 'Hello again.', {
      token: command.token,
    })
    expect(told).toBe(true)
    expect(interaction.ephemeral.map(({ content }) => content)).toEqual(['Hello again.'])
    expect(first.double.botMessages(first.double.channelId)).toEqual([])
  })

  test('leaves a thread alone that the command has opened meanwhile', async () => {
    const bot = await startBot()
    const { double, platform } = bot
    const { command, interaction } = await commanded(bot)
    await platform.open(command.place, answer('the plan'), { key: `command:${command.id}` })
    expect(await platform.whisper(command.place, double.aliceId, 'by the way', { token: command.token })).toBe(true)
    expect(interaction.ephemeral.map(({ content }) => content)).toEqual(['by the way'])
    expect(double.text(double.channelId)).toBe('toycoder: the plan')
  })

  test('has no means without an interaction', async () => {
    const { double, platform } = await startBot()
    const place: Place = { platform: 'discord', account: double.guildId, channel: double.channelId }
    expect(await platform.whisper(place, double.aliceId, 'psst')).toBe(false)
    expect(double.requestsOf(POST)).toEqual([])
  })
})
