import { describe, expect, test } from 'vitest'
import { createGate } from '../doubles/llm/server.ts'
import { until } from './program.ts'
import { CHANNEL, useSlackBot } from './slackBot.ts'

const WRITE = { toolCalls: [{ name: 'write_file', arguments: { path: 'note.txt', content: 'hello\n' } }] }

describe('stopping a run of the started program by Slack’s own means', () => {
  const bot = useSlackBot()
  const { shows } = bot
  const seen = (ts: string) => bot.slack.threadText(CHANNEL, ts)

  /** A run that has shown half of its answer. */
  async function halfAnswered() {
    const gate = createGate()
    bot.llm.reply({ text: ['The first half, ', 'and the rest.', ' And the end.'], gate }, { text: 'Here again.' })
    const ts = bot.slack.mention('U0ANNA', CHANNEL, 'go')
    gate.release(1)
    await shows(ts, 'The first half,')
    const live = bot.slack.thread(CHANNEL, ts).find(({ botId }) => botId === 'B0BOT')!
    return { ts, gate, live }
  }

  test('the native Stop button: within a second the text stands as far as it came, marked as stopped', async () => {
    const { ts, gate } = await halfAnswered()
    bot.slack.pressStop('U0BEN', CHANNEL, ts)
    await shows(ts, 'Stopped by Ben', 1_000)
    gate.open()
    expect(seen(ts)).toContain('The first half,')
    expect(seen(ts)).not.toContain('and the rest')
    await until('the session is at rest', () => bot.slack.world.sessions.get(`${CHANNEL}:${ts}`) === 'active')
    bot.slack.say('U0ANNA', CHANNEL, 'and now?', { threadTs: ts })
    await shows(ts, 'Here again.')
  })

  test('a stop sign on the live message does the same', async () => {
    const { ts, gate, live } = await halfAnswered()
    bot.slack.react('U0BEN', CHANNEL, live.ts, 'octagonal_sign')
    await shows(ts, 'Stopped by Ben', 1_000)
    gate.open()
  })

  test('so does one on the message that is answered, but not on what others say, and not by people who may not', async () => {
    const { ts, gate } = await halfAnswered()
    const other = bot.slack.say('U0CI', CHANNEL, 'build failed', { threadTs: ts })
    bot.slack.react('U0ANNA', CHANNEL, other, 'octagonal_sign')
    bot.slack.react('U0GUEST', CHANNEL, ts, 'octagonal_sign')
    await until('both reactions have arrived', () => bot.slack.deliveries.pending() === 0)
    gate.release(1)
    await shows(ts, 'and the rest.')
    bot.slack.react('U0BEN', CHANNEL, ts, 'octagonal_sign')
    await shows(ts, 'Stopped by Ben', 1_000)
    gate.open()
  })

  test('while a card waits, a stop sign on it gives up what waits', async () => {
    bot.llm.reply(WRITE, { text: 'Here again.' })
    const ts = bot.slack.mention('U0ANNA', CHANNEL, 'write a note')
    await shows(ts, '[Approve]')
    const card = bot.slack.thread(CHANNEL, ts).find(({ blocks }) => JSON.stringify(blocks ?? '').includes('"Approve"'))!
    await until('the session waits', () => bot.slack.world.sessions.get(`${CHANNEL}:${ts}`) === 'suspended')
    bot.slack.react('U0BEN', CHANNEL, card.ts, 'stop_sign')
    await until('the card is settled', () => !seen(ts).includes('[Approve]'), { seen: () => seen(ts) })
    await shows(ts, 'topped by Ben')
    await until('nothing waits any more', () => bot.slack.world.sessions.get(`${CHANNEL}:${ts}`) === 'active')
    await until('nor says so', () => !seen(ts).includes(':raised_hand:'), { seen: () => seen(ts) })
    bot.slack.say('U0ANNA', CHANNEL, 'and now?', { threadTs: ts })
    await shows(ts, 'Here again.')
    expect(bot.llm.problems()).toEqual([])
  })

  test('when nothing runs, a stop sign is passed over in silence', async () => {
    bot.llm.reply({ text: 'All done.' }, { text: 'Here again.' })
    const ts = bot.slack.mention('U0ANNA', CHANNEL, 'go')
    await shows(ts, 'test-model')
    const answer = bot.slack.thread(CHANNEL, ts).at(-1)!
    bot.slack.react('U0ANNA', CHANNEL, answer.ts, 'octagonal_sign')
    bot.slack.say('U0ANNA', CHANNEL, 'and now?', { threadTs: ts })
    await shows(ts, 'Here again.')
    expect(seen(ts)).not.toMatch(/nothing is running|stopped|stopping/i)
  })
})
