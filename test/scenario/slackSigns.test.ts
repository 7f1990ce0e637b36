import { describe, expect, test } from 'vitest'
import { createGate } from '../doubles/llm/server.ts'
import { until } from './program.ts'
import { CHANNEL, useSlackBot } from './slackBot.ts'

describe('case SD-02: the signs of work go, however the work ends', () => {
  const bot = useSlackBot()
  const place = (ts: string) => `${CHANNEL}:${ts}`
  const status = (ts: string) => bot.slack.world.statuses.get(place(ts))
  const session = (ts: string) => bot.slack.world.sessions.get(place(ts))
  const seen = (ts: string) => `status ${status(ts)}, session ${session(ts)}, ${bot.slack.threadText(CHANNEL, ts)}`

  const begun = (ts: string) => until('signs of work', () => status(ts) && session(ts) === 'processing')
  const gone = (ts: string) =>
    until('no signs of work', () => status(ts) === undefined && session(ts) === 'active', { seen: () => seen(ts) })

  /** A run that waits for the first word of the model. */
  async function thinking() {
    const gate = createGate()
    bot.llm.reply({ text: ['Thought.'], gate })
    const ts = bot.slack.mention('U0ANNA', CHANNEL, 'think')
    await begun(ts)
    return { ts, gate }
  }

  test('when the model fails or says nothing', async () => {
    bot.llm.reply({ status: 400, error: { error: { message: 'no' } } }, { text: '' })
    for (const words of ['fail', 'say nothing']) {
      const ts = bot.slack.mention('U0ANNA', CHANNEL, words)
      await gone(ts)
      expect(bot.slack.thread(CHANNEL, ts)).toHaveLength(2)
    }
  })

  test('when somebody stops the run before it has said anything', async () => {
    const { ts, gate } = await thinking()
    bot.slack.mention('U0ANNA', CHANNEL, 'stop', { threadTs: ts })
    await gone(ts)
    gate.open()
  })

  test('when the answer can’t be posted', async () => {
    const { ts, gate } = await thinking()
    bot.slack.fail('chat.postMessage', { kind: 'error', code: 'restricted_action' }, 3)
    gate.open()
    await gone(ts)
  })

  test('when a tool fails, and when a card waits for a decision', async () => {
    bot.llm.reply(
      { toolCalls: [{ name: 'read_file', arguments: { path: 'missing.txt' } }] },
      { toolCalls: [{ name: 'write_file', arguments: { path: 'note.txt', content: 'x\n' } }] },
    )
    const ts = bot.slack.mention('U0ANNA', CHANNEL, 'try')
    await bot.shows(ts, '[Approve]')
    await until('it waits', () => status(ts) === undefined && session(ts) === 'suspended', { seen: () => seen(ts) })
  })

  test('when the process is killed while it thinks, and the next one answers', async () => {
    const { ts, gate } = await thinking()
    await bot.program.kill()
    gate.open()
    bot.llm.reply({ text: 'Thought again.' })
    bot.program = await bot.home.start()
    await bot.shows(ts, 'Thought again.')
    await gone(ts)
  })

  test('when the process is killed between its answer and the post, and only that is left to do', async () => {
    const { ts, gate } = await thinking()
    bot.slack.fail('chat.postMessage', { kind: 'hang' })
    gate.open()
    await until('the post is under way', () => bot.slack.calls('chat.postMessage').length > 0)
    await new Promise((resolve) => setTimeout(resolve, 500))
    await bot.program.kill()
    bot.program = await bot.home.start()
    await bot.shows(ts, 'Thought.')
    expect(bot.llm.requests).toHaveLength(1)
    await gone(ts)
  })
})
