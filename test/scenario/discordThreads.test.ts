import { describe, expect, test } from 'vitest'
import { createGate } from '../doubles/llm/server.ts'
import { useDiscordBot } from './discordBot.ts'
import { until } from './program.ts'

const EDIT = 'PATCH /channels/:id/messages/:id'
const POST = 'POST /channels/:id/messages'

describe('a thread of Discord that changes under an answer', () => {
  const bot = useDiscordBot()
  const { shows } = bot

  /** A run that has shown half of its answer. */
  async function halfAnswered(rest = 'the second half.') {
    const gate = createGate()
    bot.llm.reply({ text: ['The first half, ', rest], gate }, { text: 'Here again.' })
    const { id } = bot.discord.mention(bot.discord.aliceId, bot.discord.channelId, 'go')
    gate.release(1)
    await shows(id, 'The first half,')
    return { id, gate }
  }

  const reactions = (id: string) =>
    bot.discord.find(bot.discord.channelId, id).flatMap((message) => message.reactions.map(({ emoji }) => emoji.name))
  const logs = (text: string) =>
    until(`the log says "${text}"`, () => bot.program.stderr().includes(text), { seen: () => bot.program.stderr() })
  /** How often messages of this channel were written, with what Discord said. */
  const writes = (id: string, route: string) =>
    bot.discord.requestsOf(route).flatMap(({ path, status }) => (path.includes(id) ? [status] : []))
  async function answersElsewhere() {
    const { id } = bot.discord.mention(bot.discord.aliceId, bot.discord.channelId, 'still there?')
    await shows(id, 'Here again.')
  }

  test('asleep: it is woken, and the same message has the answer', async () => {
    const { id, gate } = await halfAnswered()
    bot.discord.archive(id)
    gate.open()
    await shows(id, 'The first half, the second half.')
    await shows(id, 'test-model')
    expect(bot.discord.botMessages(id)).toHaveLength(1)
  })

  test('locked (50083, 160005): whoever asked is told so below the question, once, and after the unlocking it goes on', async () => {
    const { id, gate } = await halfAnswered()
    bot.discord.archive(id, true)
    gate.open()
    await shows(bot.discord.channelId, `I can't go on in the thread on this message: the thread has to be unlocked`)
    await logs('will not be')
    await until('the sign of work goes', () => reactions(id).length === 0)
    const [told] = bot.discord.botMessages(bot.discord.channelId)
    expect(told!.message_reference?.message_id).toBe(id)
    // It was tried by an edit and by a new message, and not again.
    expect(writes(id, POST).filter((status) => status !== 200)).toEqual([403])
    expect(writes(id, EDIT).filter((status) => status !== 200)).toEqual([400])
    Object.assign(bot.discord.world.channels.get(id)!.thread_metadata!, { locked: false, archived: false })
    bot.discord.say(bot.discord.aliceId, id, 'go on')
    await shows(id, 'Here again.')
    expect(JSON.stringify(bot.llm.requests.at(-1)!.body.messages)).toContain('the second half.')
    expect(bot.discord.botMessages(bot.discord.channelId)).toHaveLength(1)
  })

  test('deleted (10003): the answer is tried once more, the log says what was not shown, and no thread comes back', async () => {
    const { id, gate } = await halfAnswered()
    bot.discord.removeThread(id)
    gate.open()
    await logs('will not be')
    await until('the sign of work goes', () => reactions(id).length === 0)
    expect(writes(id, POST).filter((status) => status !== 200)).toEqual([404])
    expect(bot.discord.world.channels.has(id)).toBe(false)
    await answersElsewhere()
  })

  test('in a channel that the bot may no longer see (50001): the log names the right, and nothing is tried for ever', async () => {
    const { id, gate } = await halfAnswered()
    bot.discord.deny(bot.discord.channelId, 'VIEW_CHANNEL')
    gate.open()
    await logs('will not be')
    expect(bot.program.stderr()).toContain('I need the permission \\"View Channel\\" in this channel.')
    expect(writes(id, EDIT).filter((status) => status !== 200)).toEqual([403])
    bot.discord.dm(bot.discord.aliceId, 'still there?')
    await shows(bot.discord.dmChannel(bot.discord.aliceId), 'Here again.')
  })

  test('that the bot may no longer write into (50001): what is still to be posted stands below the question', async () => {
    const { id, gate } = await halfAnswered(`${'word '.repeat(600)}and the end.`)
    bot.discord.deny(bot.discord.channelId, 'SEND_MESSAGES_IN_THREADS')
    gate.open()
    await shows(bot.discord.channelId, 'and the end.')
    await shows(bot.discord.channelId, 'test-model')
    const [why, rest] = bot.discord.botMessages(bot.discord.channelId)
    expect(why!.content).toContain('I need the permission "Send Messages in Threads"')
    expect(rest!.message_reference?.message_id).toBe(id)
    const whole = `${bot.discord.text(id)} ${rest!.content}`
    expect(whole.match(/word/g)).toHaveLength(600)
  })
})
