import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createGate, type LlmDouble, startLlmDouble } from '../doubles/llm/server.ts'
import { type SlackDouble, startSlackDouble } from '../doubles/slack/slackDouble.ts'
import { makeHome, type Program, type ProgramHome, until } from './program.ts'

const CHANNEL = 'C0DEV'
const WRITE = { toolCalls: [{ name: 'write_file', arguments: { path: 'note.txt', content: 'hello\n' } }] }

describe('stopping a run of the started program by Slack’s own means', () => {
  let slack: SlackDouble
  let llm: LlmDouble
  let home: ProgramHome
  let program: Program

  beforeEach(async () => {
    slack = await startSlackDouble()
    llm = await startLlmDouble()
    home = makeHome({
      SLACK_BOT_TOKEN: slack.botToken,
      SLACK_APP_TOKEN: slack.appToken,
      SLACK_API_URL: slack.apiUrl,
      OPENAI_API_KEY: llm.apiKey,
      OPENAI_BASE_URL: llm.baseUrl,
      OPENAI_MODEL: 'test-model',
    })
    program = await home.start()
  })

  afterEach(async () => {
    await home.remove()
    await Promise.all([slack.close(), llm.close()])
  })

  const seen = (ts: string) => slack.threadText(CHANNEL, ts)
  const shows = (ts: string, text: string, ms?: number) =>
    until(`the thread shows "${text}"`, () => seen(ts).includes(text), {
      ...(ms && { ms }),
      seen: () => `${seen(ts)}\n${program.stderr().slice(-3000)}`,
    })

  /** A run that has shown half of its answer. */
  async function halfAnswered() {
    const gate = createGate()
    llm.reply({ text: ['The first half, ', 'and the rest.', ' And the end.'], gate }, { text: 'Here again.' })
    const ts = slack.mention('U0ANNA', CHANNEL, 'go')
    gate.release(1)
    await shows(ts, 'The first half,')
    const live = slack.thread(CHANNEL, ts).find(({ botId }) => botId === 'B0BOT')!
    return { ts, gate, live }
  }

  test('the native Stop button: within a second the text stands as far as it came, marked as stopped', async () => {
    const { ts, gate } = await halfAnswered()
    slack.pressStop('U0BEN', CHANNEL, ts)
    await shows(ts, 'Stopped by Ben', 1_000)
    gate.open()
    expect(seen(ts)).toContain('The first half,')
    expect(seen(ts)).not.toContain('and the rest')
    await until('the session is at rest', () => slack.world.sessions.get(`${CHANNEL}:${ts}`) === 'active')
    slack.say('U0ANNA', CHANNEL, 'and now?', { threadTs: ts })
    await shows(ts, 'Here again.')
  })

  test('a stop sign on the live message does the same', async () => {
    const { ts, gate, live } = await halfAnswered()
    slack.react('U0BEN', CHANNEL, live.ts, 'octagonal_sign')
    await shows(ts, 'Stopped by Ben', 1_000)
    gate.open()
  })

  test('so does one on the message that is answered, but not on what others say, and not by people who may not', async () => {
    const { ts, gate } = await halfAnswered()
    const other = slack.say('U0CI', CHANNEL, 'build failed', { threadTs: ts })
    slack.react('U0ANNA', CHANNEL, other, 'octagonal_sign')
    slack.react('U0GUEST', CHANNEL, ts, 'octagonal_sign')
    await until('both reactions have arrived', () => slack.deliveries.pending() === 0)
    gate.release(1)
    await shows(ts, 'and the rest.')
    slack.react('U0BEN', CHANNEL, ts, 'octagonal_sign')
    await shows(ts, 'Stopped by Ben', 1_000)
    gate.open()
  })

  test('while a card waits, a stop sign on it gives up what waits', async () => {
    llm.reply(WRITE, { text: 'Here again.' })
    const ts = slack.mention('U0ANNA', CHANNEL, 'write a note')
    await shows(ts, '[Approve]')
    const card = slack.thread(CHANNEL, ts).find(({ blocks }) => JSON.stringify(blocks ?? '').includes('"Approve"'))!
    await until('the session waits', () => slack.world.sessions.get(`${CHANNEL}:${ts}`) === 'suspended')
    slack.react('U0BEN', CHANNEL, card.ts, 'stop_sign')
    await until('the card is settled', () => !seen(ts).includes('[Approve]'), { seen: () => seen(ts) })
    await shows(ts, 'topped by Ben')
    await until('nothing waits any more', () => slack.world.sessions.get(`${CHANNEL}:${ts}`) === 'active')
    await until('nor says so', () => !seen(ts).includes(':raised_hand:'), { seen: () => seen(ts) })
    slack.say('U0ANNA', CHANNEL, 'and now?', { threadTs: ts })
    await shows(ts, 'Here again.')
    expect(llm.problems()).toEqual([])
  })

  test('when nothing runs, a stop sign is passed over in silence', async () => {
    llm.reply({ text: 'All done.' }, { text: 'Here again.' })
    const ts = slack.mention('U0ANNA', CHANNEL, 'go')
    await shows(ts, 'test-model')
    const answer = slack.thread(CHANNEL, ts).at(-1)!
    slack.react('U0ANNA', CHANNEL, answer.ts, 'octagonal_sign')
    slack.say('U0ANNA', CHANNEL, 'and now?', { threadTs: ts })
    await shows(ts, 'Here again.')
    expect(seen(ts)).not.toMatch(/nothing is running|stopped|stopping/i)
  })
})
