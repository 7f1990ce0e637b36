import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Dialog, DialogField } from '../../src/platform/platform.ts'
import { incomingSubmission, viewOf } from '../../src/platform/slack/dialog.ts'
import type { ThreadRef } from '../../src/shared/thread.ts'
import { signature } from '../doubles/slack/httpEvents.ts'
import { checkView } from '../doubles/slack/viewRules.ts'
import type { Fields } from '../doubles/slack/world.ts'
import { conversation, kindOf } from './platformSuite.ts'
import { until } from './recordingInbox.ts'
import { type SlackHarness, type SlackMode, startSlack } from './slackHarness.ts'

const COMMAND: DialogField = { name: 'command', label: 'Command', value: 'npm test', multiline: true, required: true }
const DIALOG: Dialog = {
  action: 'edited',
  value: 'c1.0/1',
  title: 'Edit run_command',
  submit: 'Submit',
  close: 'Cancel',
  intro: 'What you submit gets a card of its own.',
  fields: [COMMAND, { name: 'cwd', label: 'cwd', value: '', multiline: false, required: false }],
}
const THREAD: ThreadRef = {
  platform: 'slack',
  account: 'T0DOUBLE',
  id: 'C0DEV:1.000001',
  channel: 'C0DEV',
  thread: '1.000001',
}
const CONTEXT = {
  self: { team: 'T0DOUBLE', userId: 'U0BOT', botId: 'B0BOT', name: 'toycoder' },
  nameOf: () => undefined,
  now: () => 1_000,
}

describe.each<SlackMode>(['socket', 'http'])('a dialog by %s', (mode) => {
  let slack: SlackHarness
  let thread: ThreadRef
  beforeEach(async () => {
    slack = await startSlack(mode)
    thread = await conversation(slack)
  })
  afterEach(() => slack.close())

  /** Ben presses a button that the inbox answers with the dialog. */
  async function press(dialog: Dialog = DIALOG): Promise<void> {
    const buttons = [{ action: 'edit', label: 'Edit…', style: 'plain', value: 'c1.0/1' } as const]
    const ref = await slack.platform.post(thread, { markdown: 'May I?', kind: 'card', buttons }, { key: 'card' })
    slack.inbox.answer = { dialog }
    await slack.double.click('U0BEN', 'C0DEV', ref.id, 'Edit…')
  }
  const opened = () => slack.double.openView('U0BEN')
  async function open(dialog?: Dialog): Promise<void> {
    await press(dialog)
    await until(() => opened() !== undefined, 'the open dialog')
  }
  const saidToBen = () =>
    slack.double.world.ephemerals.filter(({ user }) => user === 'U0BEN').map(({ text, threadTs }) => [text, threadTs])
  const toldToPressAgain = () => until(() => /again/.test(String(saidToBen()[0]?.[0])), 'the words to press again')

  test('opens with its title, its words above and what is in its fields', async () => {
    await open()
    expect(opened()).toMatchObject({
      values: { command: 'npm test', cwd: '' },
      view: { title: { text: 'Edit run_command' }, submit: { text: 'Submit' }, close: { text: 'Cancel' } },
    })
    const page = slack.double.renderThreadHtml('C0DEV', thread.thread!, 'U0BEN')
    expect(page).toContain('What you submit gets a card of its own.')
    expect(page).toContain('npm test</textarea>')
    expect(slack.double.renderThreadHtml('C0DEV', thread.thread!)).not.toContain('<textarea')
  })

  test('that comes too late for Slack is told to the person: press again', async () => {
    slack.inbox.before = async () => slack.double.passTime(3_100)
    await press()
    await toldToPressAgain()
    expect(slack.double.calls('views.open')[0]!.answer).toMatchObject({ error: 'expired_trigger_id' })
    expect(opened()).toBeUndefined()
    expect(saidToBen()[0]![1]).toBe(thread.thread)
    slack.inbox.before = undefined
    await open()
  })

  test('that Slack does not open for any other reason is told, too', async () => {
    slack.double.fail('views.open', { kind: 'http', status: 500 })
    await press()
    await toldToPressAgain()
  })

  test('stays open with the errors at their fields, and one for an unknown field is not lost', async () => {
    await open()
    slack.inbox.submitAnswer = { errors: { cwd: 'No such folder.', gone: 'This was taken away.' } }
    expect(await slack.double.submitView('U0BEN', { command: 'ls', cwd: '/nowhere' })).toMatchObject({
      acknowledged: true,
      response: { response_action: 'errors', errors: { cwd: 'No such folder.', command: 'This was taken away.' } },
    })
    expect(opened()!.values).toEqual({ command: 'ls', cwd: '/nowhere' })
    slack.inbox.submitAnswer = {}
    await slack.double.submitView('U0BEN', { cwd: '' })
    expect(opened()).toBeUndefined()
    const [first, second] = slack.inbox.submissions
    expect(second).toMatchObject({ fields: { command: 'ls', cwd: '' }, thread, action: 'edited', value: 'c1.0/1' })
    expect(second!.id).not.toBe(first!.id)
  })

  test('that the inbox rejects stays open with what was typed, and says so', async () => {
    await open()
    slack.inbox.failNext(1)
    await slack.double.submitView('U0BEN', { command: 'something long' })
    expect(opened()).toMatchObject({
      values: { command: 'something long' },
      errors: { command: expect.stringMatching(/again/) },
    })
    await slack.double.submitView('U0BEN', {})
    expect(slack.inbox.submissions).toMatchObject([{ fields: { command: 'something long' } }])
  })

  test('belongs to the thread that we wrote into it, whatever else the payload says', async () => {
    await open()
    const view = { ...opened()!.view, id: 'V1', state: { values: { command: { input: { value: 'x' } } } } }
    const payload = (metadata: unknown): Fields => ({
      type: 'view_submission',
      team: { id: 'T0DOUBLE' },
      user: { id: 'U0BEN', team_id: 'T0DOUBLE' },
      channel: { id: 'C0OPS' },
      container: { channel_id: 'C0OPS', thread_ts: '5.000001' },
      view: { ...view, private_metadata: metadata },
    })
    await slack.double.deliveries.interaction('interactive', payload(opened()!.view.private_metadata))
    expect(slack.inbox.submissions).toMatchObject([{ thread, fields: { command: 'x' } }])
    for (const metadata of ['', 'null', '{"channel":"C0OPS"}', '{"channel":1,"root":"1","action":"a","value":"v"}']) {
      await slack.double.deliveries.interaction('interactive', payload(metadata))
    }
    expect(slack.inbox.submissions).toHaveLength(1)
  })

  test('whose answer comes after Slack’s three seconds is not acknowledged before, and its outcome is told', async () => {
    await open()
    let answer = () => {}
    slack.inbox.before = () => new Promise((resolve) => (answer = resolve))
    slack.inbox.submitAnswer = { text: 'Too late anyway.', errors: { command: 'No such command.' } }
    expect(await slack.double.submitView('U0BEN', { command: 'ls' })).toMatchObject({ acknowledged: false })
    expect(opened()!.values.command).toBe('ls')
    answer()
    await until(() => saidToBen().length > 0, 'the outcome')
    expect(saidToBen()[0]![0]).toBe('Too late anyway.\nNo such command.')
  })
})

test('a dialog by HTTP that Slack did not sign is refused', async () => {
  const slack = await startSlack('http')
  try {
    const view = { ...viewOf(DIALOG, THREAD), id: 'V1', state: { values: {} } }
    const payload = JSON.stringify({ type: 'view_submission', team: { id: 'T0DOUBLE' }, user: { id: 'U0BEN' }, view })
    const body = new URLSearchParams({ payload }).toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded', ...signature('another secret', body) }
    expect((await fetch(slack.eventsUrl!, { method: 'POST', body, headers })).status).toBe(401)
    expect(slack.inbox.submissions).toEqual([])
  } finally {
    await slack.close()
  }
})

describe('a view', () => {
  const text = (most: number) => fc.string({ unit: 'binary', maxLength: most })

  test('holds any dialog within our limits as Slack takes it, and gives back what was typed', () => {
    const field = fc.record({
      name: fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 40 }),
      label: text(45).map((label) => label || 'x'),
      value: text(3_000),
      multiline: fc.boolean(),
      required: fc.boolean(),
    })
    const dialogs = fc.record({
      action: text(40),
      value: text(60),
      title: text(40).map((title) => title || 'x'),
      submit: fc.constant('Submit'),
      close: fc.constant('Cancel'),
      intro: text(100),
      fields: fc.uniqueArray(field, { selector: ({ name }) => name, minLength: 1, maxLength: 8 }),
    })
    fc.assert(
      fc.property(dialogs, fc.array(text(200)), (dialog, typed) => {
        const view = viewOf(dialog, THREAD)
        checkView(JSON.parse(JSON.stringify(view)))
        const sent = dialog.fields.map(({ name }, n) => [name, typed[n] ?? ''] as const)
        const values = Object.fromEntries(sent.map(([name, value]) => [name, { input: { value: value || null } }]))
        const submission = incomingSubmission(
          { user: { id: 'U0BEN' }, view: { ...view, id: 'V1', state: { values } } },
          CONTEXT,
        )!
        expect(submission).toMatchObject({ thread: THREAD, action: dialog.action, value: dialog.value })
        expect(Object.entries(submission.fields)).toEqual(Object.entries(Object.fromEntries(sent)))
      }),
      { numRuns: 60 },
    )
  })

  test('is never cut: what does not fit is refused as too long', async () => {
    const tooMuch = { ...DIALOG, fields: [{ ...COMMAND, value: 'x'.repeat(3_001) }] }
    expect(await kindOf((async () => viewOf(tooMuch, THREAD))())).toBe('tooLong')
    const tooMany = { ...DIALOG, fields: Array.from({ length: 100 }, (_, n) => ({ ...COMMAND, name: `f${n}` })) }
    expect(await kindOf((async () => viewOf(tooMany, THREAD))())).toBe('tooLong')
  })
})
