import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { PlatformError } from '../../src/shared/errors.ts'
import { CHANNEL } from '../doubles/discord/world.ts'
import { reportedIn } from '../reported.ts'
import { answer, startBot } from './discordHarness.ts'

const CREATE_THREAD = 'POST /channels/:id/messages/:id/threads'
const cases = new URL('../../../shared/cases/', import.meta.url)
const reported = reportedIn(cases)

describe('a mention in a Discord channel', () => {
  test('is in the inbox before its thread exists, and the first post opens the thread on it', async () => {
    const { double, inbox, platform } = await startBot()
    const asked = double.mention(double.aliceId, double.channelId, 'please **plan** the 2.0 release\nin detail')
    const [message] = await inbox.received(1)
    expect(message!.thread).toEqual({
      platform: 'discord',
      account: double.guildId,
      id: asked.id,
      channel: double.channelId,
      thread: asked.id,
    })
    expect(double.world.channels.has(asked.id)).toBe(false)

    const ref = await platform.post(message!.thread, { ...answer('Thinking'), live: true }, { key: 'a' })
    await platform.edit(message!.thread, ref, answer('Here is the plan.'))
    expect(ref.channel).toBe(asked.id)
    expect(double.world.channels.get(asked.id)).toMatchObject({ name: 'please plan the 2.0 release' })
    expect(double.text(asked.id)).toBe('toycoder: Here is the plan.')
  })

  test('gives a thread of its own to each question (TH-04)', async () => {
    const { double, inbox, platform } = await startBot()
    double.mention(double.aliceId, double.channelId, 'my word is fig')
    double.mention(double.aliceId, double.channelId, 'what is my word?')
    const [first, second] = await inbox.received(2)
    await platform.post(first!.thread, answer('one'), { key: '1' })
    await platform.post(second!.thread, answer('two'), { key: '2' })
    expect(double.text(first!.thread.id)).toBe('toycoder: one')
    expect(double.text(second!.thread.id)).toBe('toycoder: two')
  })

  test('gets one thread when status, post and upload come at the same time', async () => {
    const { double, inbox, platform } = await startBot()
    double.mention(double.aliceId, double.channelId, 'go')
    const [message] = await inbox.received(1)
    const { thread } = message!
    await Promise.all([
      platform.status(thread, 'works'),
      platform.post(thread, answer('text'), { key: 'p' }),
      platform.upload(thread, { name: 'a.md', content: '# a' }, { key: 'u' }),
    ])
    expect(double.requestsOf(CREATE_THREAD)).toHaveLength(1)
    expect(double.botMessages(thread.id)).toHaveLength(2)
  })

  test('finds the thread that another process has opened meanwhile (160004), also while it is stopping', async () => {
    const { double, inbox, platform } = await startBot()
    const asked = double.mention(double.aliceId, double.channelId, 'go')
    const [message] = await inbox.received(1)
    await platform.stop() // hears nothing any more, but finishes what it has to say
    const other = await startBot({}, double)
    await other.platform.post(message!.thread, answer('from the other'), { key: '1' })
    await platform.post(message!.thread, answer('from the first'), { key: '2' })
    expect(double.requestsOf(CREATE_THREAD).map(({ status }) => status)).toEqual([200, 400])
    expect(double.text(asked.id)).toBe('toycoder: from the other\ntoycoder: from the first')
  })

  test('is answered in a new process that has never heard it', async () => {
    const first = await startBot()
    const { double } = first
    double.mention(double.aliceId, double.channelId, 'name *me*')
    const [message] = await first.inbox.received(1)
    await first.platform.stop()
    const second = await startBot({}, double)
    await second.platform.post(message!.thread, answer('late, but here'), { key: '1' })
    expect(double.text(message!.thread.id)).toBe('toycoder: late, but here')
    expect(double.world.channels.get(message!.thread.id)).toMatchObject({ name: 'name me' })
  })

  test('is answered in the channel, with one sentence on the missing right, where no thread may be opened (TH-10)', async () => {
    const { double, inbox, platform } = await startBot()
    double.deny(double.channelId, 'CREATE_PUBLIC_THREADS')
    const asked = double.mention(double.aliceId, double.channelId, 'hello?')
    const [message] = await inbox.received(1)
    const ref = await platform.post(message!.thread, answer('first'), { key: '1' })
    await platform.post(message!.thread, answer('second'), { key: '2' })
    await platform.edit(message!.thread, ref, answer('first, edited'))
    const said = double.botMessages(double.channelId)
    expect(said.map(({ content }) => content)).toEqual([
      `I can't open a thread here: I need the permission "Create Public Threads" in this channel.`,
      'first, edited',
      'second',
    ])
    expect(said.every(({ message_reference: to }) => to?.message_id === asked.id)).toBe(true)
    expect(double.requestsOf(CREATE_THREAD)).toHaveLength(1)

    // A reply to such an answer goes on in the same conversation.
    double.say(double.aliceId, double.channelId, 'and then?', { replyTo: said[2]!.id })
    const [, followUp] = await inbox.received(2)
    expect(followUp).toMatchObject({ addressed: 'mention', thread: { id: asked.id } })
  })

  test('is answered in the channel where the thread opens but may not be written into (TH-10)', async () => {
    const { double, inbox, platform } = await startBot()
    double.deny(double.channelId, 'SEND_MESSAGES_IN_THREADS')
    double.mention(double.aliceId, double.channelId, 'hello?')
    const [message] = await inbox.received(1)
    await platform.post(message!.thread, answer('here instead'), { key: '1' })
    expect(double.botMessages(double.channelId).map(({ content }) => content)).toEqual([
      `I can't open a thread here: I need the permission "Send Messages in Threads" in this channel.`,
      'here instead',
    ])
  })

  test('is answered in the channel, too, when the right went later (50013), by whichever process', async () => {
    const first = await startBot()
    const { double } = first
    const asked = double.mention(double.aliceId, double.channelId, 'hello?')
    const { thread } = (await first.inbox.received(1))[0]!
    await first.platform.post(thread, answer('in the thread'), { key: '1' })
    const second = await startBot({}, double)
    for (const { platform } of [first, second]) {
      double.fault({ route: 'POST /channels/:id/messages', status: 403, code: 50013 })
      await platform.post(thread, answer('here instead'), { key: '2' })
    }
    const said = double.botMessages(double.channelId)
    expect(said.map(({ content }) => content)).toEqual([
      expect.stringContaining('I need the permission'),
      'here instead',
    ])
    expect(said.every(({ message_reference: to }) => to?.message_id === asked.id)).toBe(true)
  })

  reported('gets a well-formed thread name from any text (TH-08)', async () => {
    const { double, inbox, platform } = await startBot()
    const file = readFileSync(new URL('discord/thread_names.json', cases), 'utf8')
    const names: { content: string; expect: string }[] = JSON.parse(file)
    expect(names.length).toBeGreaterThan(4)
    for (const [index, { content, expect: wanted }] of names.entries()) {
      const text = content.replaceAll('<@100>', `<@${double.botId}>`)
      double.say(double.aliceId, double.channelId, text)
      const message = (await inbox.received(index + 1))[index]!
      await platform.post(message.thread, answer('ok'), { key: `${index}` })
      const name = double.world.channels.get(message.thread.id)!.name!
      expect(name.isWellFormed()).toBe(true)
      expect([...name].length).toBeLessThanOrEqual(100)
      if (wanted === 'default name') expect(name).toBe('ToyCoder')
    }
  })

  test('whose message is deleted before the answer is told as gone', async () => {
    const { double, inbox, platform } = await startBot()
    const asked = double.mention(double.aliceId, double.channelId, 'never mind')
    const [message] = await inbox.received(1)
    double.remove(double.channelId, asked.id)
    const failure = await platform.post(message!.thread, answer('x'), { key: '1' }).catch((error) => error)
    expect(failure).toBeInstanceOf(PlatformError)
    expect(failure.kind).toBe('notFound')
  })
})

describe('places that are threads already', () => {
  test('a follow-up in a thread needs no mention and keeps the key', async () => {
    const { double, inbox, platform } = await startBot()
    double.mention(double.aliceId, double.channelId, 'hello')
    const [message] = await inbox.received(1)
    await platform.post(message!.thread, answer('hi'), { key: '1' })
    double.say(double.aliceId, message!.thread.id, 'also the docs', { files: [{ name: 'notes.md', content: '# n' }] })
    const [, followUp] = await inbox.received(2)
    expect(followUp).toMatchObject({ addressed: 'thread', thread: message!.thread, text: 'also the docs' })
    const [file] = followUp!.attachments
    expect(file).toMatchObject({ name: 'notes.md', bytes: 3 })
    expect(await (await fetch(file!.url)).text()).toBe('# n')
  })

  test("a mention in people's thread says that there is earlier talk", async () => {
    const { double, inbox } = await startBot()
    const thread = double.thread(double.aliceId, double.channelId, 'release talk')
    double.say(double.aliceId, thread, 'the build is red')
    double.mention(double.aliceId, thread, 'what do you think?')
    const [first, second] = await inbox.received(2)
    expect(first).toMatchObject({ addressed: 'thread', hasEarlier: false })
    expect(second).toMatchObject({ addressed: 'mention', hasEarlier: true, thread: { id: thread } })
  })

  test('a forum post arrives once; only a mention in it names the bot', async () => {
    const { double, inbox, platform } = await startBot()
    const quiet = double.forumPost(double.aliceId, double.forumId, 'Flaky test', 'it fails at night')
    const asked = double.forumPost(double.aliceId, double.forumId, 'Help', `<@${double.botId}> why is it slow?`)
    const [first, second] = await inbox.received(2)
    expect(first).toMatchObject({ id: quiet.id, addressed: 'thread', hasEarlier: false, thread: { id: quiet.id } })
    expect(second).toMatchObject({ id: asked.id, addressed: 'mention', hasEarlier: false, text: 'why is it slow?' })
    expect(second!.thread).toMatchObject({ channel: double.forumId, thread: asked.id })
    await platform.post(second!.thread, answer('caches'), { key: '1' })
    expect(double.text(asked.id)).toBe(`Alice: <@${double.botId}> why is it slow?\ntoycoder: caches`)
    expect(double.requestsOf(CREATE_THREAD)).toHaveLength(0)
  })

  test('a direct message is answered in place', async () => {
    const { double, inbox, platform } = await startBot()
    double.dm(double.aliceId, 'hi, can you help?')
    const [message] = await inbox.received(1)
    const channel = double.dmChannel(double.aliceId)
    expect(message).toMatchObject({ addressed: 'direct', thread: { account: '@me', id: channel, channel } })
    await platform.post(message!.thread, answer('yes'), { key: '1' })
    expect(double.text(channel)).toBe('Alice: hi, can you help?\ntoycoder: yes')
  })

  test('a refused direct message is told so, since nobody else reads it', async () => {
    const { double, inbox } = await startBot()
    inbox.receipt = { outcome: 'refused', text: 'Sorry, not here.' }
    double.dm(double.aliceId, 'hi')
    const channel = double.dmChannel(double.aliceId)
    await double.waitFor('the refusal', () => double.botMessages(channel).length === 1)
    expect(double.botMessages(channel)[0]!.content).toBe('Sorry, not here.')
  })

  test('a voice channel is answered in place, too', async () => {
    const { double, inbox, platform } = await startBot()
    const voice = double.channel('stand-up', CHANNEL.voice)
    double.mention(double.aliceId, voice, 'take notes')
    const [message] = await inbox.received(1)
    await platform.post(message!.thread, answer('noted'), { key: '1' })
    expect(double.botMessages(voice).map(({ content }) => content)).toEqual(['noted'])
  })

  test('a thread that fell asleep is woken for an edit; a locked one says that it can no longer be edited', async () => {
    const { double, inbox, platform } = await startBot()
    double.mention(double.aliceId, double.channelId, 'hello')
    const [message] = await inbox.received(1)
    const { thread } = message!
    const ref = await platform.post(thread, answer('card'), { key: '1' })
    double.archive(thread.id)
    await platform.edit(thread, ref, answer('card, settled'))
    expect(double.botMessages(thread.id)[0]!.content).toBe('card, settled')
    double.archive(thread.id, true)
    const failure = await platform.edit(thread, ref, answer('again')).catch((error) => error)
    expect(failure.kind).toBe('notEditable')
    const refusal = await platform.post(thread, answer('more'), { key: '2' }).catch((error) => error)
    expect(refusal).toMatchObject({ kind: 'forbidden', mend: expect.stringContaining('unlocked') })
  })

  test("a right that is missing in people's thread is named, and nothing goes into the channel", async () => {
    const { double, inbox, platform } = await startBot()
    const thread = double.thread(double.aliceId, double.channelId, 'talk')
    double.mention(double.aliceId, thread, 'hi')
    const [message] = await inbox.received(1)
    double.deny(double.channelId, 'SEND_MESSAGES_IN_THREADS')
    const failure = await platform.post(message!.thread, answer('x'), { key: '1' }).catch((error) => error)
    expect(failure).toMatchObject({ kind: 'forbidden', mend: expect.stringContaining('Send Messages in Threads') })
    expect(double.botMessages(double.channelId)).toEqual([])
  })
})

describe("a thread's past", () => {
  test('begins with the message it was opened on, also when the middle is left out', async () => {
    const { double, inbox, platform } = await startBot()
    double.mention(double.aliceId, double.channelId, 'the task')
    const [message] = await inbox.received(1)
    const { thread } = message!
    await platform.post(thread, answer('started'), { key: '1' })
    for (let n = 1; n <= 230; n++) double.say(double.aliceId, thread.id, `remark ${n}`)
    const all = await platform.history(thread, null, 500)
    expect(all.cut).toBe(false)
    expect(all.messages).toHaveLength(232)
    expect(all.messages[0]).toMatchObject({ text: 'the task', author: { name: 'Alice', isSelf: false } })
    expect(all.messages[1]).toMatchObject({ text: 'started', author: { isSelf: true } })
    const some = await platform.history(thread, null, 150)
    expect(some.cut).toBe(true)
    expect(some.messages).toHaveLength(150)
    expect(some.messages[0]!.text).toBe('the task')
    expect(some.messages.slice(-2).map(({ text }) => text)).toEqual(['remark 229', 'remark 230'])
  })

  test('of a thread that is not opened yet is empty', async () => {
    const { double, inbox, platform } = await startBot()
    double.mention(double.aliceId, double.channelId, 'the task')
    const [message] = await inbox.received(1)
    expect(await platform.history(message!.thread, message!.ref, 20)).toEqual({ messages: [], cut: false })
  })
})
