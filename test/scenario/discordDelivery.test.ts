import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type DiscordDouble, startDiscordDouble } from '../doubles/discord/server.ts'
import { createGate, type LlmDouble, startLlmDouble } from '../doubles/llm/server.ts'
import { makeHome, type ProgramHome, until } from './program.ts'

describe('Discord events and the started program', () => {
  let discord: DiscordDouble
  let llm: LlmDouble
  let home: ProgramHome

  beforeEach(async () => {
    discord = await startDiscordDouble()
    llm = await startLlmDouble()
    home = makeHome({
      DISCORD_TOKEN: discord.token,
      DISCORD_API_URL: discord.apiUrl,
      ...llm.env,
    })
  })

  afterEach(async () => {
    await home.remove()
    await Promise.all([discord.close(), llm.close()])
  })

  const shows = (channel: string, text: string) =>
    until(`the thread shows "${text}"`, () => discord.text(channel).includes(text), {
      seen: () => discord.text(channel),
    })

  test('what is written in its threads while the program is down is answered after the start, in order', async () => {
    llm.respond(({ lastUser }) => ({ text: `Answer to ${lastUser}` }))
    const first = await home.start()
    const { id } = discord.mention(discord.aliceId, discord.channelId, 'one')
    await shows(id, 'Answer to Alice: one')
    await shows(id, 'test-model')
    expect(await first.stop()).toBe(0)
    discord.say(discord.aliceId, id, 'two')
    discord.say(discord.aliceId, id, 'three')
    await home.start()
    await shows(id, 'Answer to Alice: three')
    const users = llm.requests.at(-1)!.body.messages.filter(({ role }) => role === 'user')
    expect(users.map(({ content }) => content)).toEqual(['Alice: one', 'Alice: two', 'Alice: three'])
    expect(discord.text(id).split('Answer to Alice: one').length).toBe(2)
  })

  test('an event delivered twice, and one replayed after a reconnect, start one run', async () => {
    llm.respond(({ lastUser }) => ({ text: `Answer to ${lastUser}` }))
    await home.start()
    const { id } = discord.mention(discord.aliceId, discord.channelId, 'once')
    discord.gateway.redeliver('MESSAGE_CREATE')
    await shows(id, 'test-model')
    discord.gateway.askToReconnect()
    discord.gateway.redeliver('MESSAGE_CREATE')
    discord.say(discord.aliceId, id, 'again')
    await shows(id, 'Answer to Alice: again')
    expect(llm.requests.length).toBe(2)
  })

  test('a forum post and a direct message are answered in place', async () => {
    llm.respond(({ lastUser }) => ({ text: `Answer to ${lastUser}` }))
    await home.start()
    const post = discord.forumPost(discord.aliceId, discord.forumId, 'Build', `<@${discord.botId}> why is it red?`)
    await shows(post.channel_id, 'Answer to Alice: why is it red?')
    discord.say(discord.aliceId, post.channel_id, 'and now?')
    await shows(post.channel_id, 'Answer to Alice: and now?')
    const direct = discord.dm(discord.aliceId, 'hello')
    await shows(direct.channel_id, 'Answer to Alice: hello')
  })

  test('two threads of one channel know nothing of each other', async () => {
    llm.respond(({ lastUser }) => ({ text: `Answer to ${lastUser}` }))
    await home.start()
    const a = discord.mention(discord.aliceId, discord.channelId, 'my word is fig')
    const b = discord.mention(discord.aliceId, discord.channelId, 'what is my word?')
    await shows(a.id, 'Answer to')
    await shows(b.id, 'Answer to')
    for (const { body, lastUser } of llm.requests) {
      expect(body.messages.filter(({ role }) => role === 'user').length, lastUser).toBe(1)
    }
  })

  test('a live message that is deleted in mid-stream: the answer is posted anew, once, and the process stays up', async () => {
    const gate = createGate()
    llm.reply({ text: ['The first half, ', 'the second half.'], gate }, { text: 'Still up.' })
    await home.start()
    const { id } = discord.mention(discord.aliceId, discord.channelId, 'go')
    gate.release(1)
    await shows(id, 'The first half,')
    const live = discord.botMessages(id).find(({ content }) => content.includes('The first half'))!
    discord.remove(id, live.id)
    gate.open()
    await shows(id, 'the second half.')
    discord.say(discord.aliceId, id, 'up?')
    await shows(id, 'Still up.')
    expect(discord.botMessages(id).filter(({ content }) => content.includes('second half')).length).toBe(1)
  })
})
