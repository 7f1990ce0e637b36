import { describe, expect, test } from 'vitest'
import { createGate } from '../doubles/llm/server.ts'
import { useDiscordBot } from './discordBot.ts'
import { until } from './program.ts'

describe('stopping a run of the started program by a reaction on Discord', () => {
  const bot = useDiscordBot()
  const { shows } = bot
  const seen = (id: string) => bot.discord.text(id)

  /** A run that has shown half of its answer. */
  async function halfAnswered() {
    const gate = createGate()
    bot.llm.reply({ text: ['The first half, ', 'and the rest.', ' And the end.'], gate }, { text: 'Here again.' })
    const { id } = bot.discord.mention(bot.discord.aliceId, bot.discord.channelId, 'go')
    gate.release(1)
    await shows(id, 'The first half,')
    const live = bot.discord.botMessages(id).at(-1)!
    return { id, gate, live }
  }

  test('a stop sign on the live message: within a second the text stands as far as it came, marked as stopped', async () => {
    const bob = bot.discord.user('Bob')
    const { id, gate, live } = await halfAnswered()
    bot.discord.react(bob, id, live.id, '🛑')
    await shows(id, 'Stopped by Bob', 1_000)
    gate.open()
    expect(seen(id)).toContain('The first half,')
    expect(seen(id)).not.toContain('and the rest')
    bot.discord.say(bot.discord.aliceId, id, 'and now?')
    await shows(id, 'Here again.')
    expect(bot.llm.problems()).toEqual([])
  })

  test('so does one on the question, but not on what another bot says, and not by bots or by people who may not', async () => {
    const { discord } = bot
    const robot = discord.user('robot', { bot: true })
    const guest = discord.user('Guest')
    discord.world.member(discord.guildId, guest)!.flags = 16
    const { id, gate, live } = await halfAnswered()
    const other = discord.say(robot, id, 'the build failed')
    discord.react(discord.aliceId, id, other.id, '🛑')
    discord.react(robot, id, live.id, '🛑')
    discord.react(guest, id, live.id, '⏹️')
    // The last of them is handled when Discord has been asked who that is.
    await until('the guest is looked up', () => discord.requests.some(({ path }) => path.endsWith(guest)))
    gate.release(1)
    await shows(id, 'and the rest.')
    expect(seen(id)).not.toContain('topped')
    discord.react(discord.aliceId, discord.channelId, id, '⏹️')
    await shows(id, 'Stopped by Alice', 1_000)
    gate.open()
  })

  test('when nothing runs, a stop sign is passed over in silence', async () => {
    bot.llm.reply({ text: 'All done.' }, { text: 'Here again.' })
    const { id } = bot.discord.mention(bot.discord.aliceId, bot.discord.channelId, 'go')
    await shows(id, 'test-model')
    bot.discord.react(bot.discord.aliceId, id, bot.discord.botMessages(id).at(-1)!.id, '🛑')
    bot.discord.say(bot.discord.aliceId, id, 'and now?')
    await shows(id, 'Here again.')
    expect(seen(id)).not.toMatch(/nothing is running|stopped|stopping/i)
  })
})
