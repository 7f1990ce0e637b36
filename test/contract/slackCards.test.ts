import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Button, MessageBody } from '../../src/platform/platform.ts'
import { incomingClick } from '../../src/platform/slack/click.ts'
import type { MessageRef, ThreadRef } from '../../src/shared/thread.ts'
import type { Fields } from '../doubles/slack/world.ts'
import { conversation, kindOf } from './platformSuite.ts'
import { until } from './recordingInbox.ts'
import { type SlackHarness, type SlackMode, startSlack } from './slackHarness.ts'

const BUTTONS: Button[] = [
  { action: 'approve', label: 'Approve', style: 'primary', value: 'c1.0/1' },
  { action: 'edit', label: 'Edit…', style: 'plain', value: 'c1.0/1' },
  { action: 'deny', label: 'Deny…', style: 'danger', value: 'c1.0/1' },
]
const CARD: MessageBody = {
  markdown: '**May I run this?**\n\n```sh\nrm -rf "a&b"\n```',
  kind: 'card',
  buttons: BUTTONS,
}

let slack: SlackHarness
let thread: ThreadRef
afterEach(() => slack.close())

async function begin(mode: SlackMode): Promise<void> {
  slack = await startSlack(mode)
  thread = await conversation(slack)
}

function post(body: MessageBody = CARD): Promise<MessageRef> {
  return slack.platform.post(thread, body, { key: 'card' })
}

/** Everything that was said to Ben alone. */
function saidToBen(): string[] {
  return slack.double.world.ephemerals.filter(({ user }) => user === 'U0BEN').map(({ text }) => text)
}

describe('a card in Slack', () => {
  beforeEach(() => begin('socket'))

  test('says in its text what it asks, for notifications and screen readers', async () => {
    await post()
    const { text, unfurl_links: unfurl } = slack.double.calls('chat.postMessage')[0]!.args
    expect(text).toContain('May I run this?')
    expect(text).toContain('rm -rf "a&amp;b"')
    expect(unfurl).toBe(false)
  })

  test('notifies the people whom it names', async () => {
    await post({ ...CARD, markdown: `<@U0ANNA>, <@U0BEN>: ${CARD.markdown}`, mentions: ['U0ANNA'] })
    expect(await slack.hooks.pings(thread)).toEqual(['U0ANNA'])
  })

  test('has its buttons in the styles and within the limits that Slack knows, five in a row', async () => {
    const options = Array.from({ length: 23 }, (_, n): Button => {
      return { action: 'choose', label: `${n} ${'wide 例 '.repeat(20)}`, style: 'plain', value: `q/${n}` }
    })
    const ref = await post({ ...CARD, buttons: [...BUTTONS, ...options] })
    const rows = slack.double
      .thread('C0DEV', thread.thread!)
      .at(-1)!
      .blocks!.filter(({ type }) => type === 'actions')
    const buttons = rows.flatMap(({ elements }) => elements as { style?: string; action_id: string; text: Fields }[])
    expect(rows.map(({ elements }) => (elements as unknown[]).length)).toEqual([5, 5, 5, 5, 5, 1])
    expect(buttons.slice(0, 3).map(({ style }) => style)).toEqual(['primary', undefined, 'danger'])
    expect(new Set(buttons.map(({ action_id: id }) => id)).size).toBe(26)
    expect(buttons.every(({ text }) => String(text.text).length <= 75)).toBe(true)
    await slack.double.click('U0BEN', 'C0DEV', ref.id, buttons[22]!.action_id)
    expect(slack.inbox.clicks).toMatchObject([{ action: 'choose', value: 'q/19' }])
  })

  test('whose message was deleted can’t be settled any more: it is not found', async () => {
    const ref = await post()
    slack.double.deleteMessage('C0DEV', ref.id)
    expect(await kindOf(slack.platform.edit(thread, ref, CARD))).toBe('notFound')
    await slack.platform.remove(thread, ref)
  })

  test('in a channel that was archived can neither be settled nor posted, and a mend is told', async () => {
    const ref = await post()
    slack.double.world.channels.get('C0DEV')!.archived = true
    expect(await kindOf(slack.platform.edit(thread, ref, CARD))).toBe('notEditable')
    const failure = await slack.platform.post(thread, CARD, { key: 'another' }).catch((error) => error)
    expect(failure).toMatchObject({
      kind: 'forbidden',
      code: 'is_archived',
      mend: expect.stringContaining('unarchive'),
    })
    expect(await slack.platform.whisper(thread, 'U0BEN', 'psst', { buttons: BUTTONS })).toBe(false)
  })

  test('in a channel that the bot was removed from is refused for lack of a right, with the mend', async () => {
    const ref = await post()
    const channel = slack.double.world.channels.get('C0DEV')!
    channel.members.delete('U0BOT')
    const posted = await slack.platform.post(thread, CARD, { key: 'another' }).catch((error) => error)
    expect(posted).toMatchObject({ kind: 'forbidden', mend: expect.stringContaining('/invite @toycoder') })
    channel.kind = 'group'
    const edited = await slack.platform.edit(thread, ref, CARD).catch((error) => error)
    expect(edited).toMatchObject({ kind: 'forbidden', mend: expect.stringContaining('/invite @toycoder') })
  })

  test('shows its buttons on the page of the thread, and none once it is settled', async () => {
    const ref = await post()
    const page = () => slack.double.renderThreadHtml('C0DEV', thread.thread!)
    expect(page()).toContain('<button class="primary">Approve</button>')
    expect(page()).toContain('<pre>rm -rf &quot;a&amp;b&quot;</pre>')
    await slack.platform.edit(thread, ref, { markdown: '✅ Approved by Ben', kind: 'card' })
    expect(page()).toContain('Approved by Ben')
    expect(page()).not.toContain('<button')
  })
})

describe.each<SlackMode>(['socket', 'http'])('a click by %s', (mode) => {
  beforeEach(() => begin(mode))

  test('is acknowledged in time although the inbox takes long, and answered when the inbox is done', async () => {
    const ref = await post()
    let answer = () => {}
    slack.inbox.before = () => new Promise((resolve) => (answer = resolve))
    slack.inbox.answer = { text: 'Counted.' }
    expect(await slack.double.click('U0BEN', 'C0DEV', ref.id, 'Approve')).toMatchObject({ acknowledged: true })
    expect(saidToBen()).toEqual([])
    answer()
    await until(() => saidToBen().length > 0, 'the answer')
    expect(saidToBen()).toEqual(['Counted.'])
  })

  test('is acknowledged only once the inbox has it, where that is quick', async () => {
    const ref = await post()
    let isStored = false
    slack.inbox.before = async () => {
      await new Promise((resolve) => setTimeout(resolve, 50))
      isStored = true
    }
    await slack.double.click('U0BEN', 'C0DEV', ref.id, 'Approve')
    expect(isStored).toBe(true)
  })

  test('that the inbox rejects is told to the person in their language, once, in the thread', async () => {
    const ref = await post()
    await slack.platform.person('T0DOUBLE', 'U0BEN')
    slack.inbox.failNext(1)
    await slack.double.click('U0BEN', 'C0DEV', ref.id, 'Approve')
    await until(() => saidToBen().length > 0, 'the words')
    expect(slack.double.world.ephemerals).toMatchObject([
      { channel: 'C0DEV', user: 'U0BEN', threadTs: thread.thread, text: expect.stringMatching(/\p{Script=Han}/u) },
    ])
    await slack.double.click('U0BEN', 'C0DEV', ref.id, 'Approve')
    expect(slack.inbox.clicks).toHaveLength(1)
  })

  test('is answered in another way where the address for answers has expired', async () => {
    const ref = await post()
    slack.inbox.before = async () => slack.double.expireResponseUrls()
    slack.inbox.answer = { text: 'Somebody was faster.' }
    await slack.double.click('U0BEN', 'C0DEV', ref.id, 'Approve')
    await until(() => saidToBen().length > 0, 'the words')
    expect(slack.double.world.ephemerals[0]).toMatchObject({ user: 'U0BEN', threadTs: thread.thread })
  })

  test('on words for one person in a direct message comes from that conversation', async () => {
    slack.double.direct('U0BEN', 'hello')
    const [, message] = await slack.inbox.received(2)
    await slack.platform.whisper(message!.thread, 'U0BEN', 'Later?', { buttons: BUTTONS })
    const words = slack.double.world.ephemerals[0]!
    await slack.double.click('U0BEN', words.channel, words.ts, 'Deny…')
    expect(slack.inbox.clicks).toMatchObject([{ action: 'deny', ref: { id: words.ts } }])
    expect(slack.inbox.clicks[0]!.thread).toEqual(message!.thread)
  })

  test('on words that answer a command has buttons, too', async () => {
    await slack.double.command('U0BEN', 'C0DEV', '/plan', 'x')
    const { token } = slack.inbox.commands[0]!
    await slack.platform.whisper(thread, 'U0BEN', 'Really?', { token, buttons: BUTTONS })
    expect(slack.double.calls('chat.postEphemeral')).toHaveLength(0)
    const words = slack.double.world.ephemerals[0]!
    await slack.double.click('U0BEN', 'C0DEV', words.ts, 'Approve')
    expect(slack.inbox.clicks[0]!.thread).toEqual(thread)
  })
})

describe('the thread of a click', () => {
  beforeEach(() => begin('http'))

  test('is that of a root message that has no thread yet, and that of the container where only it tells', async () => {
    const opened = await slack.platform.open(slack.hooks.place, CARD, { key: 'opening' })
    await slack.double.click('U0BEN', 'C0DEV', opened.ref.id, 'Approve')
    expect(slack.inbox.clicks[0]!.thread).toEqual(opened.thread)

    const self = { team: 'T0DOUBLE', userId: 'U0BOT', botId: 'B0BOT', name: 'toycoder' }
    const click = incomingClick(
      {
        user: { id: 'U0BEN', team_id: 'T0OTHER' },
        container: { channel_id: 'C0DEV', message_ts: '9.000001', thread_ts: '1.000001', is_ephemeral: true },
        actions: [{ action_id: 'toycoder:approve', block_id: 'zz', value: 'v', action_ts: '9.5' }],
      },
      { self, nameOf: () => undefined, now: () => 0 },
    )
    expect(click).toMatchObject({ thread: { id: 'C0DEV:1.000001' }, author: { isExternal: true }, at: 9_500 })
  })

  test('is nobody’s when the button is none of ours', async () => {
    const { ts } = slack.double.world.post(slack.double.world.channels.get('C0DEV')!, {
      user: 'U0CI',
      text: 'x',
      blocks: [{ type: 'actions', elements: [{ type: 'button', action_id: 'other', text: { text: 'Other' } }] }],
    })
    expect(await slack.double.click('U0BEN', 'C0DEV', ts, 'Other')).toMatchObject({ acknowledged: true })
    expect(slack.inbox.clicks).toEqual([])
  })
})
