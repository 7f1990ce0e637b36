import { beforeEach, describe, expect, test } from 'vitest'
import { createGate } from '../doubles/llm/server.ts'
import { until } from './program.ts'
import { CHANNEL, useSlackBot } from './slackBot.ts'

/** What comes at the same moment, or from whom nobody asked, seen from outside of the started program. */
describe('Slack and the started program: races and strangers', () => {
  const bot = useSlackBot()
  const { shows } = bot

  beforeEach(() => bot.llm.respond(({ lastUser }) => ({ text: `Answer to ${lastUser}` })))

  test('a stop that comes before the run has begun keeps it from beginning, and says who stopped it', async () => {
    // The run and the stop both ask who Anna is, so that the stop is heard while the run still looks at its thread.
    bot.slack.fail('users.info', { kind: 'slow', ms: 300 })
    const ts = bot.slack.mention('U0ANNA', CHANNEL, 'delete everything')
    bot.slack.mention('U0ANNA', CHANNEL, 'stop', { threadTs: ts })
    await shows(ts, 'Stopped by Anna')
    await until('everything is acknowledged', () => bot.slack.deliveries.pending() === 0)
    expect(bot.llm.requests).toHaveLength(0)
    bot.slack.mention('U0ANNA', CHANNEL, 'only look', { threadTs: ts })
    await shows(ts, 'Answer to Anna: only look')
    expect(JSON.stringify(bot.llm.requests[0]!.body.messages)).toContain('delete everything')
    expect(bot.slack.threadText(CHANNEL, ts)).not.toContain('Nothing is running')
  })

  test('a question and what follows it at the same moment are all answered, in order', async () => {
    const ts = bot.slack.mention('U0ANNA', CHANNEL, 'say 0')
    for (const n of [1, 2, 3]) bot.slack.say('U0ANNA', CHANNEL, `say ${n}`, { threadTs: ts })
    await shows(ts, 'Answer to Anna: say 3')
    const said = bot.llm.requests.at(-1)!.body.messages.filter(({ role }) => role === 'user')
    expect(said.map(({ content }) => content)).toEqual([0, 1, 2, 3].map((n) => `Anna: say ${n}`))
  })

  test('case TH-11: a long run in one thread holds up no other thread', async () => {
    const gate = createGate()
    bot.llm.respond(({ lastUser }) =>
      lastUser.includes('long') ? { text: ['It takes ', 'its time.'], gate } : { text: `Answer to ${lastUser}` },
    )
    const long = bot.slack.mention('U0ANNA', CHANNEL, 'a long one')
    gate.release(1)
    await shows(long, 'It takes')
    const short = bot.slack.mention('U0BEN', CHANNEL, 'a short one')
    await shows(short, 'Answer to Ben: a short one')
    expect(bot.slack.threadText(CHANNEL, long)).not.toContain('its time')
    gate.open()
    await shows(long, 'its time.')
  })

  test('case IN-03: in a thread, where Slack has no slash commands, a mention with one does the same', async () => {
    const ts = bot.slack.mention('U0ANNA', CHANNEL, 'hello')
    await shows(ts, 'Answer to Anna: hello')
    bot.slack.mention('U0ANNA', CHANNEL, '/plan the weekend', { threadTs: ts })
    await until('the planner is asked', () => bot.llm.requests.length === 2)
    expect(bot.llm.requests[1]!.lastUser).toContain('the weekend')
    expect(bot.llm.requests[1]!.body.tools).toBeUndefined()
    await until('the plan stands in the thread', () => bot.slack.thread(CHANNEL, ts).length === 4)
  })

  test('somebody whom Slack does not show is refused, and holds nobody else up', async () => {
    bot.slack.fail('users.info', { kind: 'error', code: 'user_not_visible' })
    const ts = bot.slack.mention('U0BEN', CHANNEL, 'hello')
    await until('the refusal', () => bot.slack.world.ephemerals.some(({ user }) => user === 'U0BEN'), {
      seen: () => bot.program.stderr().slice(-2000),
    })
    bot.slack.mention('U0ANNA', CHANNEL, 'hello from me', { threadTs: ts })
    await shows(ts, 'Answer to Anna: hello from me')
    expect(bot.llm.requests).toHaveLength(1)
  })

  test('an answer that could not be shown before the end is shown after the start, once, and the sign of work goes', async () => {
    const reactions = (ts: string) => bot.slack.thread(CHANNEL, ts)[0]!.reactions.map(({ name }) => name)
    bot.slack.fail('chat.postMessage', { kind: 'hang' })
    const ts = bot.slack.mention('U0ANNA', CHANNEL, 'hello')
    await until('the answer is on its way', () => bot.slack.calls('chat.postMessage').length > 0)
    await bot.program.stop()
    expect(reactions(ts)).toEqual(['eyes'])
    bot.program = await bot.home.start()
    await shows(ts, 'test-model')
    await until('the sign is gone', () => reactions(ts).length === 0, { seen: () => reactions(ts) })
    expect(bot.slack.threadText(CHANNEL, ts).split('Answer to Anna').length).toBe(2)
    expect(bot.llm.requests).toHaveLength(1)
  })

  test('case DD-09: fifty mentions by another bot, guests and people of other organisations start nothing', async () => {
    const ts = bot.slack.mention('U0ANNA', CHANNEL, 'hello')
    await shows(ts, 'Answer to Anna: hello')
    for (let n = 0; n < 50; n++) bot.slack.mention('U0CI', CHANNEL, `Answer to me ${n}`, { threadTs: ts })
    bot.slack.mention('U0OTHER', CHANNEL, 'and to me', { threadTs: ts })
    bot.slack.say('U0OTHER', CHANNEL, 'stop', { threadTs: ts })
    bot.slack.direct('U0OTHER', 'in private, then')
    bot.slack.mention('U0GUEST', CHANNEL, 'or to me', { threadTs: ts })
    await bot.slack.command('U0GUEST', CHANNEL, '/plan', 'a visit')
    await bot.slack.command('U0OTHER', CHANNEL, '/plan', 'a visit')
    const told = () => bot.slack.world.ephemerals.map(({ user }) => user).sort()
    await until('the refusals', () => told().length === 3, { seen: told })
    expect(told()).toEqual(['U0GUEST', 'U0GUEST', 'U0OTHER'])
    await until('everything is acknowledged', () => bot.slack.deliveries.pending() === 0)
    expect(bot.llm.requests).toHaveLength(1)
  })
})
