import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createGate, type LlmDouble, startLlmDouble } from '../doubles/llm/server.ts'
import { type SlackDouble, startSlackDouble } from '../doubles/slack/slackDouble.ts'
import { makeHome, type Program, type ProgramHome, until } from './program.ts'

const CHANNEL = 'C0DEV'

/** What comes at the same moment, or from whom nobody asked, seen from outside of the started program. */
describe('Slack and the started program: races and strangers', () => {
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
    llm.respond(({ lastUser }) => ({ text: `Answer to ${lastUser}` }))
  })

  afterEach(async () => {
    await home.remove()
    await Promise.all([slack.close(), llm.close()])
  })

  const shows = (ts: string, text: string) =>
    until(`the thread shows "${text}"`, () => slack.threadText(CHANNEL, ts).includes(text), {
      seen: () => `${slack.threadText(CHANNEL, ts)}\n${program.stderr().slice(-3000)}`,
    })

  test('a stop that comes before the run has begun keeps it from beginning, and says who stopped it', async () => {
    // The run and the stop both ask who Anna is, so that the stop is heard while the run still looks at its thread.
    slack.fail('users.info', { kind: 'slow', ms: 300 })
    const ts = slack.mention('U0ANNA', CHANNEL, 'delete everything')
    slack.mention('U0ANNA', CHANNEL, 'stop', { threadTs: ts })
    await shows(ts, 'Stopped by Anna')
    await until('everything is acknowledged', () => slack.deliveries.pending() === 0)
    expect(llm.requests).toHaveLength(0)
    slack.mention('U0ANNA', CHANNEL, 'only look', { threadTs: ts })
    await shows(ts, 'Answer to Anna: only look')
    expect(JSON.stringify(llm.requests[0]!.body.messages)).toContain('delete everything')
    expect(slack.threadText(CHANNEL, ts)).not.toContain('Nothing is running')
  })

  test('a question and what follows it at the same moment are all answered, in order', async () => {
    const ts = slack.mention('U0ANNA', CHANNEL, 'say 0')
    for (const n of [1, 2, 3]) slack.say('U0ANNA', CHANNEL, `say ${n}`, { threadTs: ts })
    await shows(ts, 'Answer to Anna: say 3')
    const said = llm.requests.at(-1)!.body.messages.filter(({ role }) => role === 'user')
    expect(said.map(({ content }) => content)).toEqual([0, 1, 2, 3].map((n) => `Anna: say ${n}`))
  })

  test('case TH-11: a long run in one thread holds up no other thread', async () => {
    const gate = createGate()
    llm.respond(({ lastUser }) =>
      lastUser.includes('long') ? { text: ['It takes ', 'its time.'], gate } : { text: `Answer to ${lastUser}` },
    )
    const long = slack.mention('U0ANNA', CHANNEL, 'a long one')
    gate.release(1)
    await shows(long, 'It takes')
    const short = slack.mention('U0BEN', CHANNEL, 'a short one')
    await shows(short, 'Answer to Ben: a short one')
    expect(slack.threadText(CHANNEL, long)).not.toContain('its time')
    gate.open()
    await shows(long, 'its time.')
  })

  test('case IN-03: in a thread, where Slack has no slash commands, a mention with one does the same', async () => {
    const ts = slack.mention('U0ANNA', CHANNEL, 'hello')
    await shows(ts, 'Answer to Anna: hello')
    slack.mention('U0ANNA', CHANNEL, '/plan the weekend', { threadTs: ts })
    await until('the planner is asked', () => llm.requests.length === 2)
    expect(llm.requests[1]!.lastUser).toContain('the weekend')
    expect(llm.requests[1]!.body.tools).toBeUndefined()
    await until('the plan stands in the thread', () => slack.thread(CHANNEL, ts).length === 4)
  })

  test('somebody whom Slack does not show is refused, and holds nobody else up', async () => {
    slack.fail('users.info', { kind: 'error', code: 'user_not_visible' })
    const ts = slack.mention('U0BEN', CHANNEL, 'hello')
    await until('the refusal', () => slack.world.ephemerals.some(({ user }) => user === 'U0BEN'), {
      seen: () => program.stderr().slice(-2000),
    })
    slack.mention('U0ANNA', CHANNEL, 'hello from me', { threadTs: ts })
    await shows(ts, 'Answer to Anna: hello from me')
    expect(llm.requests).toHaveLength(1)
  })

  test('an answer that could not be shown before the end is shown after the start, once, and the sign of work goes', async () => {
    const reactions = (ts: string) => slack.thread(CHANNEL, ts)[0]!.reactions.map(({ name }) => name)
    slack.fail('chat.postMessage', { kind: 'hang' })
    const ts = slack.mention('U0ANNA', CHANNEL, 'hello')
    await until('the answer is on its way', () => slack.calls('chat.postMessage').length > 0)
    await program.stop()
    expect(reactions(ts)).toEqual(['eyes'])
    program = await home.start()
    await shows(ts, 'test-model')
    await until('the sign is gone', () => reactions(ts).length === 0, { seen: () => reactions(ts) })
    expect(slack.threadText(CHANNEL, ts).split('Answer to Anna').length).toBe(2)
    expect(llm.requests).toHaveLength(1)
  })

  test('case DD-09: fifty mentions by another bot, guests and people of other organisations start nothing', async () => {
    const ts = slack.mention('U0ANNA', CHANNEL, 'hello')
    await shows(ts, 'Answer to Anna: hello')
    for (let n = 0; n < 50; n++) slack.mention('U0CI', CHANNEL, `Answer to me ${n}`, { threadTs: ts })
    slack.mention('U0OTHER', CHANNEL, 'and to me', { threadTs: ts })
    slack.say('U0OTHER', CHANNEL, 'stop', { threadTs: ts })
    slack.direct('U0OTHER', 'in private, then')
    slack.mention('U0GUEST', CHANNEL, 'or to me', { threadTs: ts })
    await slack.command('U0GUEST', CHANNEL, '/plan', 'a visit')
    await slack.command('U0OTHER', CHANNEL, '/plan', 'a visit')
    const told = () => slack.world.ephemerals.map(({ user }) => user).sort()
    await until('the refusals', () => told().length === 3, { seen: told })
    expect(told()).toEqual(['U0GUEST', 'U0GUEST', 'U0OTHER'])
    await until('everything is acknowledged', () => slack.deliveries.pending() === 0)
    expect(llm.requests).toHaveLength(1)
  })
})
