import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { signature } from '../doubles/slack/httpEvents.ts'
import { reportedIn } from '../reported.ts'
import { conversation } from './platformSuite.ts'
import { until } from './recordingInbox.ts'
import { recordingLog, type SlackHarness, type SlackMode, startSlack } from './slackHarness.ts'

const CASES = new URL('../../../shared/cases/slack/', import.meta.url)
const reported = reportedIn(CASES)

interface CaseEvent {
  at_ms?: number
  body: { event_id: string; event: Record<string, unknown> }
}

/** The event of a case, moved into the workspace of the double. */
function moved({ body }: CaseEvent) {
  const text = JSON.stringify(body)
    .replaceAll('T0FAKE', 'T0DOUBLE')
    .replaceAll('C0FAKE', 'C0DEV')
    .replaceAll('U0KIM', 'U0BEN')
    .replaceAll('A0FAKE', 'A0DOUBLE')
  return JSON.parse(text) as CaseEvent['body']
}

function readCase(name: string) {
  return JSON.parse(readFileSync(new URL(name, CASES), 'utf8'))
}

describe.each<SlackMode>(['socket', 'http'])('what Slack tells by %s', (mode) => {
  let slack: SlackHarness
  beforeEach(async () => {
    slack = await startSlack(mode)
  })
  afterEach(() => slack.close())

  test('a mention in a channel has the ids, the thread and the sender that the event tells', async () => {
    const ts = slack.double.mention('U0BEN', 'C0DEV', 'plan the <login> fix')
    const [message] = await slack.inbox.received(1)
    expect(message).toMatchObject({
      id: `T0DOUBLE:C0DEV:${ts}`,
      thread: { platform: 'slack', account: 'T0DOUBLE', id: `C0DEV:${ts}`, channel: 'C0DEV', thread: ts },
      ref: { channel: 'C0DEV', id: ts },
      author: { id: 'U0BEN', isBot: false, isExternal: false },
      text: 'plan the <login> fix',
      hasEarlier: false,
      attachments: [],
    })
    expect(Math.abs(message!.at - Date.now())).toBeLessThan(5_000)
  })

  test('message and app_mention of one mention carry one id, and events of one gesture share an alias', async () => {
    slack.double.mention('U0BEN', 'C0DEV', 'hello')
    await until(() => slack.inbox.deliveries.length === 2, 'both events')
    const [first, second] = slack.inbox.deliveries
    expect(first!.id).toBe(second!.id)
    expect(first!.aliases.filter((alias) => second!.aliases.includes(alias))).toHaveLength(1)
    expect(slack.inbox.messages).toHaveLength(1)
  })

  test('a direct message starts its own thread, and a reply in it stays there', async () => {
    const { channel, ts } = slack.double.direct('U0BEN', 'summarise')
    slack.double.direct('U0BEN', 'shorter', { threadTs: ts })
    const messages = await slack.inbox.received(2)
    expect(messages.map(({ addressed, thread }) => [addressed, thread.id])).toEqual([
      ['direct', `${channel}:${ts}`],
      ['direct', `${channel}:${ts}`],
    ])
  })

  test('talk that does not concern the bot stays outside', async () => {
    slack.double.say('U0ANNA', 'C0DEV', 'lunch?')
    slack.double.say('U0ANNA', 'C0DEV', '<!here> lunch!', { raw: true })
    slack.double.mention('U0BEN', 'C0DEV', 'this one')
    const [message] = await slack.inbox.received(1)
    expect(message!.text).toBe('this one')
    await until(() => slack.double.deliveries.pending() === 0, 'everything acknowledged')
    expect(slack.inbox.deliveries.every(({ text }) => text === 'this one')).toBe(true)
  })

  test('own posts, edits and deletions come back from Slack and are nobody’s message', async () => {
    const thread = await conversation(slack)
    const ref = await slack.platform.post(thread, { markdown: '<@U0BOT> half', kind: 'answer' }, { key: 'k' })
    await slack.platform.edit(thread, ref, { markdown: 'whole', kind: 'answer' })
    await slack.platform.remove(thread, ref)
    await until(() => slack.double.deliveries.pending() === 0, 'everything acknowledged')
    expect(slack.inbox.deliveries.map(({ text }) => text)).toEqual(['hello bot', 'hello bot'])
  })

  test('another bot is told apart as a bot', async () => {
    slack.double.mention('U0CI', 'C0DEV', 'build failed')
    const [message] = await slack.inbox.received(1)
    expect(message!.author).toMatchObject({ id: 'U0CI', isBot: true })
  })

  test('somebody of another organisation is told apart', async () => {
    slack.double.mention('U0OTHER', 'C0DEV', 'hello')
    const [message] = await slack.inbox.received(1)
    expect(message!.author).toMatchObject({ id: 'U0OTHER', isExternal: true })
  })

  test('a file comes along with how to fetch it', async () => {
    slack.double.mention('U0BEN', 'C0DEV', 'see the log', {
      files: [{ name: 'err.log', mimetype: 'text/plain', content: 'boom' }],
    })
    const [message] = await slack.inbox.received(1)
    expect(message!.attachments).toEqual([
      { name: 'err.log', mimeType: 'text/plain', bytes: 4, url: expect.stringContaining('err.log') },
    ])
  })

  test('editing a mention makes no second message, and a mention that an edit brings makes one', async () => {
    const ts = slack.double.mention('U0BEN', 'C0DEV', 'what is 2+2?')
    await slack.inbox.received(1)
    slack.double.editMessage('C0DEV', ts, '<@U0BOT> what is 2+3?')
    const late = slack.double.say('U0BEN', 'C0DEV', 'what is 4+4?')
    slack.double.editMessage('C0DEV', late, '<@U0BOT> what is 4+4?')
    const [, second] = await slack.inbox.received(2)
    expect(second).toMatchObject({ id: `T0DOUBLE:C0DEV:${late}`, edited: true, text: 'what is 4+4?' })
    await until(() => slack.double.deliveries.pending() === 0, 'everything acknowledged')
    expect(slack.inbox.messages).toHaveLength(2)
  })

  test('an event is acknowledged after it is stored, and not before', async () => {
    let store = () => {}
    slack.inbox.before = () => new Promise((resolve) => (store = resolve))
    const event = { type: 'message', channel: 'D0BEN', channel_type: 'im', user: 'U0BEN', ts: '1.000001', text: 'hi' }
    slack.double.deliveries.redeliverAfterMs = 60_000
    let acknowledged = false
    const delivery = slack.double.emit(event).then((outcome) => {
      acknowledged = outcome.acknowledged
    })
    await until(() => slack.inbox.deliveries.length === 1, 'the delivery')
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(acknowledged).toBe(false)
    store()
    await delivery
    expect(acknowledged).toBe(true)
  })

  test('what the inbox did not store comes again with the same event id until it is stored, once', async () => {
    slack.double.deliveries.redeliverAfterMs = 200
    slack.inbox.failNext(2)
    const { ts } = slack.double.direct('U0BEN', 'do not lose this')
    await slack.inbox.received(1)
    const ids = slack.inbox.deliveries.map(({ id, aliases }) => `${id} ${aliases}`)
    expect(ids).toHaveLength(3)
    expect(new Set(ids).size).toBe(1)
    expect(ids[0]).toContain(ts)
    await until(() => slack.double.deliveries.pending() === 0, 'the acknowledgement')
  })

  test('what was stored before the program died, unacknowledged, comes again as a duplicate', async () => {
    const { message } = slack.inbox
    let deaths = 1
    slack.inbox.message = async (incoming) => {
      const receipt = await message(incoming)
      if (deaths-- > 0) throw new Error('killed between store and acknowledgement')
      return receipt
    }
    slack.double.direct('U0BEN', 'once')
    await until(() => slack.inbox.deliveries.length === 2, 'the redelivery')
    await until(() => slack.double.deliveries.pending() === 0, 'the acknowledgement')
    expect(slack.inbox.messages).toHaveLength(1)
  })

  test('a slow store leads to a redelivery that is a duplicate', async () => {
    slack.double.deliveries.redeliverAfterMs = 200
    let first = true
    slack.inbox.before = async () => {
      if (first) await new Promise((resolve) => setTimeout(resolve, 500))
      first = false
    }
    slack.double.direct('U0BEN', 'slowly')
    await until(() => slack.inbox.deliveries.length >= 2, 'the redelivery')
    await until(() => slack.double.deliveries.pending() === 0, 'the acknowledgement')
    expect(slack.inbox.messages.map(({ text }) => text)).toEqual(['slowly'])
  })

  test('a refusal is said to the sender alone, once, in the thread', async () => {
    slack.inbox.receipt = { outcome: 'refused', text: 'Sorry, I am not set up to work for you here.' }
    const ts = slack.double.mention('U0GUEST', 'C0DEV', 'hello')
    const { ephemerals } = slack.double.world
    await until(() => ephemerals.length > 0, 'the refusal')
    await until(() => slack.double.deliveries.pending() === 0, 'everything acknowledged')
    expect(ephemerals).toMatchObject([{ channel: 'C0DEV', user: 'U0GUEST', threadTs: ts }])
    expect(slack.double.thread('C0DEV', ts)).toHaveLength(1)
  })

  test('a slash command is stored, then acknowledged without a word', async () => {
    const outcome = await slack.double.command('U0BEN', 'C0DEV', '/plan', 'fix <login> & co')
    expect(outcome).toMatchObject({ acknowledged: true })
    expect(slack.inbox.commands).toMatchObject([
      {
        name: 'plan',
        text: 'fix <login> & co',
        place: { platform: 'slack', account: 'T0DOUBLE', channel: 'C0DEV' },
        author: { id: 'U0BEN', name: 'ben' },
        token: expect.stringContaining('/response/'),
      },
    ])
    expect(slack.inbox.commands[0]).not.toHaveProperty('thread')
  })

  test('a command that was not stored is not acknowledged, and a refused one is answered privately', async () => {
    slack.inbox.failNext(1)
    expect(await slack.double.command('U0BEN', 'C0DEV', '/plan', 'x')).toMatchObject({ acknowledged: false })
    slack.inbox.receipt = { outcome: 'refused', text: 'Not here.' }
    expect(await slack.double.command('U0BEN', 'C0DEV', '/plan', 'x')).toMatchObject({
      acknowledged: true,
      response: { response_type: 'ephemeral', text: 'Not here.' },
    })
  })

  test('a button comes back with its action, value, thread and who pressed it', async () => {
    const ts = slack.double.mention('U0BEN', 'C0DEV', 'hello')
    const [message] = await slack.inbox.received(1)
    const ref = await slack.platform.post(
      message!.thread,
      {
        markdown: 'Working',
        kind: 'answer',
        buttons: [
          { action: 'stop', label: 'Stop', style: 'danger', value: 'run 1' },
          { action: 'stop', label: 'Stop all', style: 'plain', value: 'all' },
        ],
      },
      { key: 'k' },
    )
    slack.inbox.answer = { text: 'Somebody was faster.' }
    expect(await slack.double.click('U0ANNA', 'C0DEV', ref.id, 'Stop all')).toMatchObject({ acknowledged: true })
    expect(slack.inbox.clicks).toMatchObject([
      { action: 'stop', value: 'all', thread: { id: `C0DEV:${ts}` }, ref, author: { id: 'U0ANNA', name: 'anna' } },
    ])
    const { ephemerals } = slack.double.world
    await until(() => ephemerals.length > 0, 'the answer to the click')
    expect(ephemerals[0]).toMatchObject({ user: 'U0ANNA', threadTs: ts, text: 'Somebody was faster.' })
  })

  reported('case DD-01: message beside app_mention, in either order, is one message', async () => {
    const { events } = readCase('message_and_app_mention.json')
    for (const payload of events.map(moved)) await slack.double.emit({ payload })
    for (const payload of events.map(moved).reverse()) await slack.double.emit({ payload })
    expect(slack.inbox.messages).toHaveLength(1)
  })

  reported('case DD-04: a redelivered event is the message it was', async () => {
    for (const payload of readCase('retry_delivery.json').events.map(moved)) await slack.double.emit({ payload })
    expect(slack.inbox.deliveries).toHaveLength(3)
    expect(slack.inbox.messages).toHaveLength(1)
  })

  reported('case DD-06: an edited mention is the message it was', async () => {
    for (const payload of readCase('edited_app_mention.json').events.map(moved)) await slack.double.emit({ payload })
    expect(slack.inbox.messages.map(({ text }) => text)).toEqual(['what is 2+2?'])
  })

  reported('case MD-12: entities are decoded before anything reads them', async () => {
    const { body, expect_prompt: prompt } = readCase('inbound_entities.json')
    await slack.double.emit({ payload: moved({ body }) as never })
    expect(slack.inbox.messages.map(({ text }) => text)).toEqual([prompt])
  })

  reported('case TH-01: a mention in a thread is answered under the thread’s root', async () => {
    const { event, expect_thread_ts: root } = readCase('thread_reply.json')
    await slack.double.emit({ payload: moved({ body: event }) as never })
    expect(slack.inbox.messages[0]!.thread).toMatchObject({ thread: root, id: `C0DEV:${root}` })
  })
})

describe('what only HTTP mode has', () => {
  let slack: SlackHarness
  afterEach(() => slack?.close())

  test('a request that is not signed by Slack, or signed long ago, is refused', async () => {
    slack = await startSlack('http')
    const event = { type: 'message', channel: 'D0BEN', channel_type: 'im', user: 'U0BEN', ts: '1.000001', text: 'hi' }
    const body = JSON.stringify({ type: 'event_callback', team_id: 'T0DOUBLE', event_id: 'Ev1', event })
    const send = (headers: Record<string, string>) =>
      fetch(slack.eventsUrl!, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } })
    expect((await send({})).status).toBe(401)
    expect((await send(signature('another secret', body))).status).toBe(401)
    const old = Math.floor(Date.now() / 1000) - 600
    expect((await send(signature(slack.double.signingSecret, body, old))).status).toBe(401)
    expect(slack.inbox.deliveries).toHaveLength(0)
    expect((await send(signature(slack.double.signingSecret, body))).status).toBe(200)
    expect(slack.inbox.messages).toHaveLength(1)
  })

  test('Slack’s check of the address is answered, another path is not found, and a stopped bot is unavailable', async () => {
    slack = await startSlack('http')
    const body = JSON.stringify({ type: 'url_verification', challenge: 'abc' })
    const headers = { 'content-type': 'application/json', ...signature(slack.double.signingSecret, body) }
    const answer = await fetch(slack.eventsUrl!, { method: 'POST', body, headers })
    expect(await answer.json()).toEqual({ challenge: 'abc' })
    expect((await fetch(slack.eventsUrl!.replace('events', 'other'), { method: 'POST' })).status).toBe(404)
    await slack.platform.stop()
    expect((await fetch(slack.eventsUrl!, { method: 'POST', body, headers })).status).toBe(503)
  })

  test('that Slack limits our events is acknowledged and logged', async () => {
    const log = recordingLog()
    slack = await startSlack('http', { log })
    const outcome = await slack.double.emit({ payload: { type: 'app_rate_limited', team_id: 'T0DOUBLE' } })
    expect(outcome).toMatchObject({ acknowledged: true, attempts: 1 })
    expect(log.lines.filter(({ level }) => level === 'warn')).toHaveLength(1)
  })
})
