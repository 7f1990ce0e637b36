import { describe, expect, test } from 'vitest'
import { createGate } from '../doubles/llm/server.ts'
import { useDiscordBot } from './discordBot.ts'
import { until } from './program.ts'

const TYPING = 'POST /channels/:id/typing'
const POST = 'POST /channels/:id/messages'

describe('case SD-02 on Discord: typing and the sign of work', () => {
  const bot = useDiscordBot()
  const { shows } = bot
  const signs = (id: string) =>
    bot.discord.find(bot.discord.channelId, id).flatMap(({ reactions }) => reactions.map(({ emoji }) => emoji.name))
  const seen = (id: string) => `typing ${bot.discord.isTyping(id)}, ${signs(id)}, ${bot.discord.text(id)}`

  const mention = (text: string) => bot.discord.mention(bot.discord.aliceId, bot.discord.channelId, text).id
  const begun = (id: string) =>
    until('signs of work', () => bot.discord.isTyping(id) && signs(id).includes('👀'), { seen: () => seen(id) })
  const gone = (id: string) =>
    until('no signs of work', () => !bot.discord.isTyping(id) && signs(id).length === 0, { seen: () => seen(id) })

  /** A run that waits for the first word of the model. */
  async function thinking(...text: string[]) {
    const gate = createGate()
    bot.llm.reply({ text: text.length > 0 ? text : ['Thought.'], gate })
    const id = mention('think')
    await begun(id)
    return { id, gate }
  }

  test('are there while nothing is visible; typing ends with the first word, and the sign with the answer', async () => {
    const { id, gate } = await thinking('Slowly ', 'thought.')
    gate.release(1)
    await shows(id, 'Slowly')
    expect(bot.discord.isTyping(id)).toBe(false)
    expect(signs(id)).toEqual(['👀'])
    gate.open()
    await shows(id, 'test-model')
    await gone(id)
    expect(bot.discord.requestsOf(TYPING)).toHaveLength(1)
  })

  test('go when the model fails or says nothing', async () => {
    bot.llm.respond(({ lastUser }) =>
      lastUser.includes('fail') ? { status: 400, error: { error: { message: 'no' } } } : { text: '' },
    )
    const failed = mention('fail')
    await until('the failure stands', () => signs(failed).includes('❌') && !bot.discord.isTyping(failed), {
      seen: () => seen(failed),
    })
    const silent = mention('say nothing')
    await shows(silent, 'Finished without a message.')
    await gone(silent)
  })

  test('go when somebody stops the run before it has said anything', async () => {
    const { id, gate } = await thinking()
    bot.discord.react(bot.discord.aliceId, bot.discord.channelId, id, '🛑')
    await shows(id, 'Stopped by Alice')
    await until('only the stop sign stands', () => signs(id).join() === '🛑' && !bot.discord.isTyping(id))
    gate.open()
  })

  test('go when the answer can’t be posted: the sign at once, typing by itself after ten seconds', async () => {
    const { id, gate } = await thinking()
    bot.discord.fault({ route: POST, status: 403, code: 50007, times: 3 })
    gate.open()
    await until('the sign goes', () => signs(id).length === 0, { seen: () => seen(id) })
    bot.discord.advance(10_000)
    expect(bot.discord.isTyping(id)).toBe(false)
  })

  test('go when a card waits: its own sign stands there instead', async () => {
    bot.llm.reply(
      { toolCalls: [{ name: 'read_file', arguments: { path: 'missing.txt' } }] },
      { toolCalls: [{ name: 'write_file', arguments: { path: 'note.txt', content: 'x\n' } }] },
    )
    const id = mention('try')
    await until('it waits', () => signs(id).join() === '⏳' && !bot.discord.isTyping(id), { seen: () => seen(id) })
  })

  test('go when the process is killed while it thinks, and the next one answers', async () => {
    const { id, gate } = await thinking()
    await bot.program.kill()
    gate.open()
    bot.llm.reply({ text: 'Thought again.' })
    bot.program = await bot.home.start()
    await shows(id, 'Thought again.')
    await gone(id)
  })
})
