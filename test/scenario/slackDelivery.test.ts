import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createGate, type LlmDouble, startLlmDouble } from '../doubles/llm/server.ts'
import { type SlackDouble, startSlackDouble } from '../doubles/slack/slackDouble.ts'
import { makeHome, type ProgramHome, until } from './program.ts'

const CHANNEL = 'C0DEV'

describe('Slack events and the started program', () => {
  let slack: SlackDouble
  let llm: LlmDouble
  let home: ProgramHome

  beforeEach(async () => {
    slack = await startSlackDouble()
    llm = await startLlmDouble()
    home = makeHome({
      SLACK_BOT_TOKEN: slack.botToken,
      SLACK_API_URL: slack.apiUrl,
      ...llm.env,
    })
  })

  afterEach(async () => {
    await home.remove()
    await Promise.all([slack.close(), llm.close()])
  })

  const socket = () => ({ SLACK_APP_TOKEN: slack.appToken })
  const shows = (ts: string, text: string) =>
    until(`the thread shows "${text}"`, () => slack.threadText(CHANNEL, ts).includes(text), {
      seen: () => slack.threadText(CHANNEL, ts),
    })
  const answers = (ts: string, text: string) =>
    slack
      .threadText(CHANNEL, ts)
      .split('\n')
      .filter((line) => line.startsWith('toycoder:') && line.includes(text)).length

  test('an event is stored before it is acknowledged: killed between the two, it is answered once after the restart', async () => {
    slack.deliveries.redeliverAfterMs = 3_600_000
    const preload = `--import=${join(import.meta.dirname, 'killAtAck.ts')}`
    const first = await home.start({ ...socket(), NODE_OPTIONS: preload })
    const ts = slack.mention('U0BEN', CHANNEL, 'answer this KILL_AT_ACK')
    expect((await first.exited).signal).toBe('SIGKILL')
    llm.reply({ text: 'Here is the answer.' })
    const second = await home.start(socket())
    await shows(ts, 'Here is the answer.')
    expect(llm.requests.length).toBe(1)
    expect(await second.stop()).toBe(0)
  })

  test('killed before the acknowledgement and delivered again, it is still answered once', async () => {
    slack.deliveries.redeliverAfterMs = 300
    const preload = `--import=${join(import.meta.dirname, 'killAtAck.ts')}`
    const first = await home.start({ ...socket(), NODE_OPTIONS: preload })
    const ts = slack.mention('U0BEN', CHANNEL, 'answer this KILL_AT_ACK')
    await first.exited
    llm.respond(() => ({ text: 'Here is the answer.' }))
    await home.start(socket())
    await shows(ts, 'Here is the answer.')
    await shows(ts, 'test-model')
    llm.respond(() => ({ text: 'The second answer.' }))
    slack.say('U0BEN', CHANNEL, 'and this', { threadTs: ts })
    await shows(ts, 'The second answer.')
    expect(llm.requests.length).toBe(2)
    expect(answers(ts, 'Here is the answer.')).toBe(1)
  })

  test('a mention in an old thread brings what people said there as background, and later talk follows without a mention', async () => {
    await home.start(socket())
    llm.reply({ text: 'About figs, I see.' }, { text: 'Yes.' })
    const root = slack.say('U0ANNA', CHANNEL, 'I like figs')
    slack.say('U0BEN', CHANNEL, 'me too', { threadTs: root })
    slack.mention('U0BEN', CHANNEL, 'what is this about?', { threadTs: root })
    await shows(root, 'About figs, I see.')
    const [, background, asked] = llm.requests[0]!.body.messages.map(({ content }) => String(content))
    expect(background).toContain('I like figs')
    expect(background).toContain('me too')
    expect(background).toContain('background')
    expect(asked).toContain('what is this about?')
    slack.say('U0ANNA', CHANNEL, 'really?', { threadTs: root })
    await shows(root, 'Yes.')
  })

  test('people talking in a thread the bot was never named in are left alone', async () => {
    await home.start(socket())
    const root = slack.say('U0ANNA', CHANNEL, 'lunch?')
    slack.say('U0BEN', CHANNEL, 'yes', { threadTs: root })
    llm.reply({ text: 'Named.' })
    const other = slack.mention('U0BEN', CHANNEL, 'hello')
    await shows(other, 'Named.')
    expect(llm.requests.length).toBe(1)
    expect(slack.threadText(CHANNEL, root)).not.toContain('toycoder:')
  })

  test('a direct message is answered in its own thread', async () => {
    await home.start(socket())
    llm.reply({ text: 'Hello, you.' })
    const { channel, ts } = slack.direct('U0BEN', 'hello')
    await until('an answer', () => slack.threadText(channel, ts).includes('Hello, you.'))
  })

  test('in a direct message an answer is streamed: it grows by additions and ends with its small print', async () => {
    await home.start(socket())
    const gate = createGate()
    llm.reply({ text: ['The first half, ', 'and the **second** half.'], gate })
    const { channel, ts } = slack.direct('U0ANNA', 'hello')
    gate.release(1)
    await until('the first half', () => slack.threadText(channel, ts).includes('The first half,'))
    expect(slack.thread(channel, ts)[1]!.stream).toBeDefined()
    gate.open()
    await until('the whole answer', () => slack.threadText(channel, ts).includes('test-model'))
    expect(slack.threadText(channel, ts)).toContain('The first half, and the **second** half.')
    expect(slack.thread(channel, ts)).toHaveLength(2)
    expect(slack.thread(channel, ts)[1]!.stream).toBeUndefined()
    expect([...slack.calls('chat.postMessage'), ...slack.calls('chat.update')]).toEqual([])
    await until('the session is at rest', () => slack.world.sessions.get(`${channel}:${ts}`) === 'active')
  })

  test('killed in the middle of a stream, the program ends it after the restart, and the answer stands once', async () => {
    const first = await home.start(socket())
    const gate = createGate()
    llm.reply(
      { text: ['Words of the first process, ', 'never said.'], gate },
      { text: 'The answer of the second one.' },
    )
    const { channel, ts } = slack.direct('U0ANNA', 'hello')
    gate.release(1)
    await until('a stream', () => slack.thread(channel, ts)[1]?.stream)
    await first.kill()
    gate.open()
    await home.start(socket())
    const seen = () => slack.threadText(channel, ts)
    await until('the answer', () => seen().includes('The answer of the second one.') && seen().includes('test-model'), {
      seen,
    })
    expect(slack.thread(channel, ts)).toHaveLength(2)
    expect(slack.thread(channel, ts)[1]!.stream).toBeUndefined()
    expect(seen()).not.toContain('first process')
  })

  test('text before a call that waits: the stream is ended, the card stands below, the session is suspended', async () => {
    await home.start(socket())
    const write = { name: 'write_file', arguments: { path: 'note.txt', content: 'hello\n' } }
    llm.reply({ text: 'I will write a note for you now, and then say more. ', toolCalls: [write] }, { text: 'Done.' })
    const { channel, ts } = slack.direct('U0ANNA', 'write a note')
    const seen = () => slack.threadText(channel, ts)
    await until('a card', () => seen().includes('[Approve]'), { seen })
    const [, said, card] = slack.thread(channel, ts)
    expect(said!.text).toContain('I will write a note')
    expect(said!.stream).toBeUndefined()
    await until('the session waits', () => slack.world.sessions.get(`${channel}:${ts}`) === 'suspended')
    await slack.click('U0ANNA', channel, card!.ts, 'Approve')
    await until('the answer', () => seen().includes('Done.'), { seen })
    expect(seen().match(/I will write a note/g)).toHaveLength(1)
  })

  test('Slack’s Stop in a direct message: the stream ends where it is, and says who stopped it', async () => {
    await home.start(socket())
    const gate = createGate()
    llm.reply({ text: ['The first half, ', 'and the rest.'], gate })
    const { channel, ts } = slack.direct('U0ANNA', 'hello')
    gate.release(1)
    const seen = () => slack.threadText(channel, ts)
    await until('a stream', () => seen().includes('The first half,'))
    slack.pressStop('U0ANNA', channel, ts)
    await until('who stopped it', () => seen().includes('Stopped by Anna'), { ms: 1_000, seen })
    gate.open()
    expect(seen()).toMatch(/The first half,\s+_Stopped by Anna\._/)
    expect(slack.thread(channel, ts)).toHaveLength(2)
  })

  test('HTTP mode: signed events, commands and the answer to both', async () => {
    const program = await home.start({ SLACK_SIGNING_SECRET: slack.signingSecret })
    slack.deliverTo(`${program.url}/slack/events`)
    llm.reply({ text: 'By HTTP.' }, { text: '1. Plan by HTTP.' })
    const ts = slack.mention('U0BEN', CHANNEL, 'hello')
    await shows(ts, 'By HTTP.')
    expect((await slack.command('U0BEN', CHANNEL, '/plan', 'a trip')).acknowledged).toBe(true)
    await until('the plan', () =>
      slack.world.channels
        .get(CHANNEL)!
        .messages.some(({ text, blocks }) => JSON.stringify([text, blocks]).includes('Plan by HTTP')),
    )
  })

  test('/plan where the bot is no member is refused privately with the mend', async () => {
    await home.start(socket())
    await slack.command('U0BEN', 'C0OPS', '/plan', 'a trip')
    const privately = () => JSON.stringify(slack.world.ephemerals)
    await until('a private word', () => privately().includes('/invite'), { seen: privately })
    expect(llm.requests.length).toBe(0)
  })

  test('guests are refused in private and the model is not asked', async () => {
    await home.start(socket())
    slack.mention('U0GUEST', CHANNEL, 'let me in')
    await until('a refusal', () => slack.calls('chat.postEphemeral').length > 0)
    expect(llm.requests.length).toBe(0)
  })

  test('a socket that drops during a run loses nothing', async () => {
    const gate = createGate()
    await home.start(socket())
    llm.reply({ text: ['Before, ', 'after.'], gate }, { text: 'Still here.' })
    const ts = slack.mention('U0BEN', CHANNEL, 'go')
    gate.release(1)
    await shows(ts, 'Before,')
    slack.socket.drop()
    gate.open()
    await shows(ts, 'after.')
    slack.say('U0BEN', CHANNEL, 'are you there?', { threadTs: ts })
    await shows(ts, 'Still here.')
  }, 40_000)
})
