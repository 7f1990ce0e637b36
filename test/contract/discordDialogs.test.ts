import { describe, expect, test } from 'vitest'
import type { Dialog, DialogField } from '../../src/platform/platform.ts'
import { answer, type Bot, startBot } from './discordHarness.ts'

const CALLBACK = 'POST /interactions/:id/:token/callback'
const [WORDS, THINKING, NOTED, MODAL] = [4, 5, 6, 9]
const COMMAND: DialogField = { name: 'command', label: 'Command', value: 'npm test', multiline: true, required: true }
const REASON: DialogField = { name: 'reason', label: 'Why', value: '', multiline: false, required: false }
const DIALOG: Dialog = {
  action: 'edited',
  value: 'c12.0/1',
  title: 'Edit before it runs',
  submit: 'Run this',
  close: 'Cancel',
  intro: 'Change *what* is to run.',
  fields: [COMMAND, REASON],
}

async function card(bot: Bot) {
  bot.double.mention(bot.double.aliceId, bot.double.channelId, 'deploy')
  const [message] = await bot.inbox.received(1)
  const { thread } = message!
  const buttons = [{ action: 'edit', label: 'Edit…', style: 'plain' as const, value: 'c12.0/1' }]
  const ref = await bot.platform.post(thread, { ...answer('Run it?'), kind: 'card', buttons }, { key: 'card' })
  return { thread, press: () => bot.double.click(bot.double.aliceId, ref.channel, ref.id, 'Edit…') }
}

const answered = (bot: Bot, interaction: { answeredWith?: number }) =>
  bot.double.waitFor('an answer', () => interaction.answeredWith)

async function opened(bot: Bot, dialog: Dialog = DIALOG) {
  bot.inbox.answer = { dialog }
  const { thread, press } = await card(bot)
  const interaction = press()
  expect(await answered(bot, interaction)).toBe(MODAL)
  return { thread, interaction, modal: interaction.modal! }
}

describe('a dialog', () => {
  test('opens as the first answer to its click, filled in, with its words above', async () => {
    const bot = await startBot()
    const { modal } = await opened(bot)
    expect(bot.double.requestsOf(CALLBACK)).toHaveLength(1)
    expect(modal).toMatchObject({
      customId: 'toycoder:edited:c12.0/1',
      title: 'Edit before it runs',
      texts: ['Change \\*what\\* is to run.'],
    })
    expect(modal.inputs).toMatchObject([COMMAND, REASON])
  })

  test('holds five full fields; its words then stand below the first label', async () => {
    const bot = await startBot()
    const value = 'x'.repeat(bot.platform.limits.dialog.characters)
    const fields = Array.from({ length: bot.platform.limits.dialog.fields }, (_, n) => ({
      ...COMMAND,
      name: `argument ${n}`,
      label: `${n} ${'long '.repeat(20)}`,
      value,
    }))
    const { modal } = await opened(bot, { ...DIALOG, title: 'T'.repeat(60), fields, intro: 'i'.repeat(300) })
    expect(modal.inputs.map((input) => input.value)).toEqual(fields.map(() => value))
    expect(modal.inputs.map(({ description }) => description?.length)).toEqual([100, ...Array(4).fill(undefined)])
    expect(modal.texts).toEqual([])
  })

  test('gives lines to a text of several lines, whatever was asked for', async () => {
    const bot = await startBot()
    const { modal } = await opened(bot, { ...DIALOG, fields: [{ ...REASON, value: 'a\nb' }] })
    expect(modal.inputs).toMatchObject([{ value: 'a\nb', multiline: true }])
  })

  test('comes with words for the person, which follow it', async () => {
    const bot = await startBot()
    bot.inbox.answer = { dialog: DIALOG, text: 'This was changed before.' }
    const interaction = (await card(bot)).press()
    await bot.double.waitFor('the words', () => interaction.ephemeral.length === 1)
    expect(interaction.answeredWith).toBe(MODAL)
    expect(interaction.ephemeral[0]!.content).toBe('This was changed before.')
  })

  test.each<[string, DialogField[]]>([
    ['more fields than a modal has', Array.from({ length: 6 }, (_, n) => ({ ...REASON, name: `${n}` }))],
    ['a text that is too long', [{ ...COMMAND, value: 'x'.repeat(4_001) }]],
    ['the same field twice', [COMMAND, COMMAND]],
    ['no field', []],
  ])('with %s is never opened cut; the person is told', async (_, fields) => {
    const bot = await startBot()
    bot.inbox.answer = { dialog: { ...DIALOG, fields } }
    const interaction = (await card(bot)).press()
    expect(await answered(bot, interaction)).toBe(WORDS)
    expect(interaction.ephemeral[0]!.content).toContain('did not work')
    expect(bot.lines.some(({ message }) => message === 'a dialog could not be opened')).toBe(true)
  })

  test('that Discord does not take is told to the person', async () => {
    const bot = await startBot()
    bot.inbox.answer = { dialog: DIALOG }
    bot.double.fault({ route: CALLBACK, status: 400, code: 50035 })
    const interaction = (await card(bot)).press()
    expect(await answered(bot, interaction)).toBe(WORDS)
  })

  test('that comes too late to be opened asks the person to press again', async () => {
    const bot = await startBot({ answerWithinMs: 30 })
    const { press } = await card(bot)
    let decide = () => {}
    bot.inbox.before = () =>
      new Promise((resolve) => {
        decide = resolve
      })
    bot.inbox.answer = { dialog: DIALOG }
    const interaction = press()
    expect(await answered(bot, interaction)).toBe(THINKING)
    decide()
    await bot.double.waitFor('the words', () => interaction.ephemeral[0]?.content.includes('again'))
    expect(interaction.modal).toBeUndefined()
  })

  test('whose click has ended by Discord is logged, and ends nothing else', async () => {
    const bot = await startBot()
    bot.inbox.answer = { dialog: DIALOG }
    const { press } = await card(bot)
    bot.inbox.before = async () => bot.double.advance(3_001)
    const interaction = press()
    await bot.double.waitFor('a word in the log', () => bot.lines.some(({ fields }) => isCode(fields, '10062')))
    expect(interaction.answeredWith).toBeUndefined()
    expect(bot.double.requestsOf(CALLBACK)).toHaveLength(1)
  })
})

describe('a dialog that is sent off', () => {
  test('arrives exactly as typed, with the thread of its channel, and is taken note of', async () => {
    const bot = await startBot()
    const { thread, interaction } = await opened(bot, {
      ...DIALOG,
      fields: [COMMAND, { ...REASON, name: '__proto__' }],
    })
    const typed = '  npm run "a b" && `x`\n\n\tdone <@1> &amp; @everyone 例 🧪 \n'
    const sent = bot.double.sendOff(interaction, { command: typed, ['__proto__']: 'so' })
    expect(await answered(bot, sent)).toBe(NOTED)
    const [submission] = bot.inbox.submissions
    expect(submission).toMatchObject({ id: sent.id, action: 'edited', value: 'c12.0/1', thread })
    expect(submission!.author).toMatchObject({ id: bot.double.aliceId, name: 'Alice' })
    expect(Object.entries(submission!.fields)).toEqual([
      ['command', typed],
      ['__proto__', 'so'],
    ])
    expect(sent.ephemeral).toEqual([])
  })

  test('with an emptied field has an empty text there', async () => {
    const bot = await startBot()
    const { interaction } = await opened(bot, { ...DIALOG, fields: [{ ...REASON, value: 'because' }] })
    await answered(bot, bot.double.sendOff(interaction, { reason: '' }))
    expect(bot.inbox.submissions[0]!.fields).toEqual({ reason: '' })
  })

  test('gets what is wrong with it, and what was typed, told to the person alone', async () => {
    const bot = await startBot()
    const { interaction } = await opened(bot)
    bot.inbox.submitAnswer = {
      text: 'Nothing was changed.',
      errors: { command: 'That is no command.', other: 'Nor that.' },
    }
    const sent = bot.double.sendOff(interaction, { command: 'non`sense' })
    expect(await answered(bot, sent)).toBe(WORDS)
    expect(sent.ephemeral[0]!.content).toBe(
      'Nothing was changed.\n\nThat is no command.\n\n```\nnon`sense\n```\n\nNor that.',
    )
  })

  test('that the store could not take gives back what was typed', async () => {
    const bot = await startBot()
    const { interaction } = await opened(bot)
    bot.inbox.failNext(1)
    const sent = bot.double.sendOff(interaction, { command: 'make' })
    expect(await answered(bot, sent)).toBe(WORDS)
    expect(sent.ephemeral[0]!.content).toContain('again')
    expect(sent.ephemeral[0]!.content).toContain('make')
  })

  test('in a thread that fell asleep meanwhile works', async () => {
    const bot = await startBot()
    const { thread, interaction } = await opened(bot)
    bot.double.archive(thread.id)
    bot.inbox.submitAnswer = { text: 'Changed.' }
    const sent = bot.double.sendOff(interaction)
    expect(await answered(bot, sent)).toBe(WORDS)
    expect(bot.inbox.submissions[0]!.thread).toEqual(thread)
  })

  test('after its card was deleted still names its thread', async () => {
    const bot = await startBot()
    const { thread, interaction } = await opened(bot)
    bot.double.remove(thread.id, interaction.originalId!)
    await answered(bot, bot.double.sendOff(interaction))
    expect(bot.inbox.submissions[0]!.thread).toEqual(thread)
  })

  test('too late for an answer counts all the same', async () => {
    const bot = await startBot()
    const { interaction } = await opened(bot)
    bot.inbox.submitAnswer = { text: 'Changed.' }
    bot.double.fault({ route: CALLBACK, status: 404, code: 10062 })
    bot.double.sendOff(interaction)
    await bot.double.waitFor('a word in the log', () => bot.lines.some(({ fields }) => isCode(fields, '10062')))
    expect(bot.inbox.submissions).toHaveLength(1)
  })
})

function isCode(fields: object, code: string): boolean {
  return 'error' in fields && (fields.error as { code?: unknown }).code === code
}
