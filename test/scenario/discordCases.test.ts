import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createGate } from '../doubles/llm/server.ts'
import { useDiscordBot } from './discordBot.ts'
import { until } from './program.ts'

const EDIT = 'PATCH /channels/:id/messages/:id'
const POST = 'POST /channels/:id/messages'
const LOOK = { toolCalls: [{ name: 'list_directory', arguments: { path: '.' } }] }

describe('reported faults of other bots, on Discord and in the started program', () => {
  const bot = useDiscordBot()
  const { shows } = bot
  const mention = (text: string) => bot.discord.mention(bot.discord.aliceId, bot.discord.channelId, text).id
  const said = (id: string) => bot.discord.botMessages(id).map(({ content }) => content)

  test('SE-04: an edit that is slow on its way is never applied after the final text', async () => {
    const gate = createGate()
    bot.llm.reply({ text: ['One. ', 'Two. ', 'Three.'], gate })
    const id = mention('count')
    gate.release(1)
    await shows(id, 'One.')
    bot.discord.fault({ route: EDIT, delayMs: 800 })
    gate.release(1)
    await until('the slow edit is on its way', () => bot.discord.underWay(EDIT) === 1)
    gate.open()
    await shows(id, 'test-model')
    await until('nothing is on its way', () => bot.discord.underWay(EDIT) === 0)
    expect(bot.discord.requestsOf(EDIT).map(({ body }) => String(body.content).slice(0, 16))).toEqual([
      'One. Two. ▍',
      'One. Two. Three.',
    ])
    expect(said(id)).toEqual([expect.stringMatching(/^One\. Two\. Three\.\n-# test-model/)])
  })

  test('SE-05: a model that is done before the first post has answered makes one message', async () => {
    bot.discord.fault({ route: POST, delayMs: 600, after: true })
    bot.llm.reply({ text: 'one two three four five six seven eight nine ten eleven twelve'.split(/(?<= )/) })
    const id = mention('be quick')
    await shows(id, 'test-model')
    expect(said(id)).toEqual([expect.stringMatching(/^one two .* twelve\n-# test-model/)])
  })

  test('SE-08: what is asked during a run is answered by a new message below it', async () => {
    const gate = createGate()
    bot.llm.respond(({ lastUser }) =>
      lastUser.includes('staging') ? { text: 'Staging is fine.' } : { text: ['Looking ', 'at production.'], gate },
    )
    const id = mention('check production')
    gate.release(1)
    await shows(id, 'Looking')
    const question = bot.discord.say(bot.discord.aliceId, id, 'also check staging')
    gate.open()
    await shows(id, 'Staging is fine.')
    const answer = bot.discord.botMessages(id).find(({ content }) => content.includes('Staging is fine.'))!
    expect(BigInt(answer.id)).toBeGreaterThan(BigInt(question.id))
    expect(said(id)[0]).toContain('Looking at production.')
    expect(said(id)[0]).not.toContain('Staging')
  })

  test('SP-12: nothing said after two calls becomes one set sentence, and the thread goes on', async () => {
    bot.llm.respond(({ body, lastUser }) => {
      if (lastUser.includes('go on')) return { text: 'Here again.' }
      return body.messages.filter(({ role }) => role === 'tool').length < 2 ? LOOK : { text: '   \n' }
    })
    const id = mention('look twice')
    await shows(id, 'Finished without a message.')
    expect(bot.discord.isTyping(id)).toBe(false)
    bot.discord.say(bot.discord.aliceId, id, 'go on')
    await shows(id, 'Here again.')
    expect(bot.discord.requests.filter(({ status }) => status === 400)).toEqual([])
    expect(bot.llm.problems()).toEqual([])
  })

  test('RL-02: a final edit that is refused twice for its rate is made when the stated wait is over', async () => {
    const gate = createGate()
    bot.llm.reply({ text: ['Half of it ', 'is here.'], gate })
    const id = mention('tell me')
    gate.release(1)
    await shows(id, 'Half of it')
    bot.discord.fault({ route: EDIT, status: 429, retryAfter: 2, times: 2 })
    gate.open()
    await shows(id, 'is here.')
    await shows(id, 'test-model')
    expect(said(id)).toHaveLength(1)
    const edits = bot.discord.requestsOf(EDIT)
    const refused = edits.flatMap(({ status, at }) => (status === 429 ? [at] : []))
    expect(refused).toHaveLength(2)
    // Nothing is tried within the wait that Discord has named.
    for (const at of refused) {
      expect(edits.filter((edit) => edit.at > at && edit.at < at + 1_900)).toEqual([])
    }
  })

  test('MN-01: nothing that a model, a tool, a file name or a card says rings anybody', async () => {
    const { discord } = bot
    const role = discord.world.guilds.get(discord.guildId)!.roles.find(({ name }) => name === 'toycoder')!
    const hostile = `@everyone @here <@&${role.id}> <@${discord.aliceId}> <@${discord.ownerId}>`
    writeFileSync(join(bot.home.folder, 'workspace', 'hostile.txt'), `${hostile}\n`)
    bot.llm.reply(
      {
        text: `First ${hostile}`,
        toolCalls: [
          { name: 'read_file', arguments: { path: 'hostile.txt' } },
          { name: 'read_file', arguments: { path: `missing ${hostile}` } },
        ],
      },
      { toolCalls: [{ name: 'write_file', arguments: { path: 'x.txt', content: `${hostile}\n` } }] },
      { text: `done ${hostile}` },
    )
    const id = mention('ring them')
    const card = await until('a card', () =>
      discord.botMessages(id).find(({ components }) => JSON.stringify(components).includes('"Approve"')),
    )
    discord.click(discord.aliceId, id, card.id, 'Approve')
    await shows(id, 'test-model')
    expect(said(id).length).toBeGreaterThanOrEqual(5)
    for (const message of discord.botMessages(id)) {
      expect(discord.notified(id, message.id)).toEqual({ everyone: false, users: [], roles: [] })
    }
    // The double refuses every text that leaves it open whom it rings.
    expect(discord.requests.filter(({ status }) => status === 400)).toEqual([])
  })

  test('/plan in a forum post plans there, and a mention carries on; also where the post fell asleep', async () => {
    const { discord } = bot
    const post = discord.forumPost(discord.aliceId, discord.forumId, 'Release', 'What is left for 2.0?')
    const id = post.channel_id
    discord.archive(id)
    bot.llm.reply({ text: '1. Test it. 2. Ship it.' }, { text: 'Shipped.' })
    discord.slash(discord.aliceId, id, 'plan', { task: 'ship 2.0' })
    await shows(id, '1. Test it.')
    await shows(id, 'test-model')
    expect(discord.text(id)).toContain('ship 2.0')
    expect(discord.text(id)).not.toContain('…thinking')
    discord.mention(discord.aliceId, id, 'go ahead')
    await shows(id, 'Shipped.')
    expect(JSON.stringify(bot.llm.requests.at(-1)!.body.messages)).toContain('1. Test it.')
    expect(discord.requests.filter(({ status, path }) => status >= 400 || path.endsWith('/threads'))).toEqual([])
  })
})
