import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type SlackDouble, startSlackDouble } from '../doubles/slack/slackDouble.ts'
import type { Fields } from '../doubles/slack/world.ts'

/** A view as the documentation shows one. */
const VIEW = {
  type: 'modal',
  callback_id: 'c',
  title: { type: 'plain_text', text: 'Edit' },
  submit: { type: 'plain_text', text: 'Run' },
  blocks: [
    {
      type: 'input',
      block_id: 'command',
      label: { type: 'plain_text', text: 'Command' },
      element: { type: 'plain_text_input', action_id: 'a', multiline: false, max_length: 10 },
    },
  ],
}

describe('modals of the double, by Slack’s rules', () => {
  let slack: SlackDouble
  const received: Fields[] = []
  beforeEach(async () => {
    slack = await startSlackDouble()
    received.length = 0
    // An app that only listens and acknowledges.
    slack.deliveries.transport = {
      send({ payload }, answered) {
        received.push(payload)
        answered({})
        return true
      },
    }
  })
  afterEach(() => slack.close())

  async function open(trigger: unknown, view: unknown = VIEW): Promise<Fields> {
    const body = new URLSearchParams({ trigger_id: String(trigger), view: JSON.stringify(view) })
    const headers = { authorization: `Bearer ${slack.botToken}` }
    const answer = await fetch(`${slack.apiUrl}views.open`, { method: 'POST', headers, body })
    return (await answer.json()) as Fields
  }
  async function trigger(): Promise<unknown> {
    await slack.command('U0BEN', 'C0DEV', '/plan', 'x')
    return received.at(-1)!.trigger_id
  }
  const changed = (block: Fields, element: Fields = {}) => {
    const [input] = VIEW.blocks
    return { ...VIEW, blocks: [{ ...input, ...block, element: { ...input!.element, ...element } }] }
  }

  test('a trigger opens one view, within 3 seconds', async () => {
    const first = await trigger()
    expect(await open(first)).toMatchObject({ ok: true, view: { id: expect.stringMatching(/^V/) } })
    expect(await open(first)).toMatchObject({ ok: false, error: 'exchanged_trigger_id' })
    const second = await trigger()
    slack.passTime(3_001)
    expect(await open(second)).toMatchObject({ ok: false, error: 'expired_trigger_id' })
    expect(await open('1.2.made-up')).toMatchObject({ ok: false, error: 'invalid_trigger_id' })
  })

  test('what the documentation forbids is refused, and leaves the trigger as it was', async () => {
    const [input] = VIEW.blocks
    const tooMuch: unknown[] = [
      { ...VIEW, title: { type: 'plain_text', text: 'x'.repeat(25) } },
      { ...VIEW, title: { type: 'mrkdwn', text: 'x' } },
      { ...VIEW, submit: undefined },
      { ...VIEW, private_metadata: 'x'.repeat(3_001) },
      { ...VIEW, blocks: [] },
      { ...VIEW, blocks: [input, input] },
      { ...VIEW, blocks: [...Array(101)].map((_, n) => ({ ...input, block_id: `b${n}` })) },
      { ...VIEW, colour: 'red' },
      changed({ label: { type: 'plain_text', text: 'x'.repeat(2_001) } }),
      changed({ block_id: 'x'.repeat(256) }),
      changed({}, { initial_value: '' }),
      changed({}, { initial_value: 'more than ten' }),
      changed({}, { max_length: 3_001 }),
    ]
    const id = await trigger()
    for (const view of tooMuch) {
      expect(await open(id, view), JSON.stringify(view).slice(0, 100)).toMatchObject({ error: 'invalid_arguments' })
    }
    expect(await open(id)).toMatchObject({ ok: true })
  })

  test('a person can’t send off what Slack holds back, and what they send off is in the state', async () => {
    await open(await trigger())
    await expect(slack.submitView('U0BEN', {})).rejects.toThrow('wants something')
    await expect(slack.submitView('U0BEN', { command: 'eleven chars' })).rejects.toThrow('too much')
    await expect(slack.submitView('U0BEN', { command: 'a\nb' })).rejects.toThrow('single line')
    await expect(slack.submitView('U0BEN', { other: 'x' })).rejects.toThrow('no input other')
    await slack.submitView('U0BEN', { command: ' ls ' })
    expect(received.at(-1)).toMatchObject({
      type: 'view_submission',
      user: { id: 'U0BEN' },
      view: { state: { values: { command: { a: { type: 'plain_text_input', value: ' ls ' } } } } },
    })
    expect(slack.openView('U0BEN')).toBeUndefined()
    await expect(slack.submitView('U0BEN', {})).rejects.toThrow('no view')
  })
})
