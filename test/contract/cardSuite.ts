import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Button, Dialog, MessageBody } from '../../src/platform/platform.ts'
import type { MessageRef } from '../../src/shared/thread.ts'
import { conversation, type PlatformHarness } from './platformSuite.ts'
import { until } from './recordingInbox.ts'

/** What a platform brings along for cards and dialogs. Everything is seen and done as people do on the platform. */
export interface CardHooks {
  /** The labels of the buttons that a message shows now, in their order. */
  buttons(ref: MessageRef): string[] | Promise<string[]>
  /**
   * A person presses the button with this label. `ref` may also be of words for one person alone (`saidAlone`).
   * Resolves when the platform has its answer, or when it will get none.
   */
  pressButton(ref: MessageRef, label: string, by: string): Promise<void>
  /** The dialog that stands open before the person who pressed last, or null. */
  openedDialog(): OpenedDialog | null
  /**
   * The person sends the open dialog off. By field name; a field that is not named stays as it is. The dialog closes
   * unless the answer holds errors or none comes.
   */
  submitDialog(fields: Record<string, string>): Promise<void>
  /** Everything that was said to this person alone, oldest first. `buttons` holds the labels. */
  saidAlone(person: string): SaidAlone[] | Promise<SaidAlone[]>
}

export interface OpenedDialog {
  title: string
  submit: string
  fields: { name: string; label: string; value: string; multiline: boolean; required: boolean }[]
  /** Why it is still open, by field name, where the platform shows that in the dialog itself. */
  errors: Record<string, string>
}

export interface SaidAlone {
  ref: MessageRef
  text: string
  buttons: string[]
}

export interface CardHarness extends PlatformHarness {
  cards: CardHooks
}

export type CardPromise =
  | 'a card shows what it asks, and its buttons in their order'
  | 'a card of twenty long options shows them all'
  | 'a settled card has no buttons left'
  | 'a click says who decided what, and where'
  | 'the answer to a click is for the clicking person alone'
  | 'a click that the inbox did not take is told to the person'
  | 'a dialog opens as the answer to a click, filled in'
  | 'a dialog opens with as much in it as it can hold'
  | 'a dialog that is sent off arrives exactly as typed'
  | 'what is wrong in a dialog reaches the person who sent it'
  | 'the answer to a dialog is for that person alone'
  | 'a dialog that the inbox did not take is told to the person'
  | 'words for one person can have buttons, and a click on them comes from the right thread'

/** "Cards and dialogs": a fresh harness for each promise. One that a platform can't keep is skipped with the reason. */
export function cardSuite(
  name: string,
  setup: () => Promise<CardHarness>,
  { skip = {} }: { skip?: Partial<Record<CardPromise, string>> } = {},
): void {
  describe(`${name}: cards and dialogs`, () => {
    let harness: CardHarness
    beforeEach(async () => {
      harness = await setup()
    })
    afterEach(() => harness?.close())

    function promise(sentence: CardPromise, check: (harness: CardHarness) => Promise<void>): void {
      test(sentence, async (context) => {
        if (skip[sentence]) context.skip(skip[sentence])
        await check(harness)
      })
    }

    /** A card in a new thread, posted. */
    async function posted({ platform, inbox, hooks }: CardHarness, body = CARD) {
      const thread = await conversation({ inbox, hooks })
      const ref = await platform.post(thread, body, { key: 'card' })
      return { thread, ref }
    }

    /** Waits for words to this person that hold `text`. */
    async function told({ cards }: CardHarness, person: string, text: string | RegExp): Promise<SaidAlone> {
      const said = async () =>
        (await cards.saidAlone(person)).find((one) =>
          typeof text === 'string' ? one.text.includes(text) : text.test(one.text),
        )
      await until(async () => (await said()) !== undefined, `words for ${person} alone: ${text}`)
      return (await said())!
    }

    async function openDialog(harness: CardHarness, dialog: Dialog = DIALOG): Promise<OpenedDialog> {
      const { ref } = await posted(harness)
      harness.inbox.answer = { dialog }
      await harness.cards.pressButton(ref, 'Edit…', harness.hooks.people.member)
      await until(() => harness.cards.openedDialog() !== null, 'an open dialog')
      return harness.cards.openedDialog()!
    }

    promise('a card shows what it asks, and its buttons in their order', async (harness) => {
      const { thread, ref } = await posted(harness)
      const shown = (await harness.hooks.view(thread)).find(({ id }) => id === ref.id)!
      expect(shown.text).toContain('npm test')
      expect(await harness.cards.buttons(ref)).toEqual(['Approve', 'Always here', 'Edit…', 'Deny…'])
    })

    promise('a card of twenty long options shows them all', async (harness) => {
      const options = Array.from({ length: 20 }, (_, n) => `${n + 1}. ${'option '.repeat(12)}`.slice(0, 74).trim())
      const buttons = options.map(
        (label, n): Button => ({ action: 'choose', label, style: 'plain', value: `c3.0/1/${n}` }),
      )
      const { ref } = await posted(harness, { ...CARD, buttons })
      expect(await harness.cards.buttons(ref)).toEqual(options)
      await harness.cards.pressButton(ref, options[13]!, harness.hooks.people.member)
      await until(() => harness.inbox.clicks.length > 0, 'a click')
      expect(harness.inbox.clicks[0]).toMatchObject({ action: 'choose', value: 'c3.0/1/13' })
    })

    promise('a settled card has no buttons left', async (harness) => {
      const { thread, ref } = await posted(harness)
      await harness.platform.edit(thread, ref, { markdown: 'Approved: `npm test`', kind: 'card' })
      expect(await harness.cards.buttons(ref)).toEqual([])
      const shown = (await harness.hooks.view(thread)).find(({ id }) => id === ref.id)!
      expect(shown.text).toContain('Approved')
      expect(shown.text).not.toContain('May I')
    })

    promise('a click says who decided what, and where', async (harness) => {
      const { thread, ref } = await posted(harness)
      await harness.cards.pressButton(ref, 'Deny…', harness.hooks.people.member)
      await harness.cards.pressButton(ref, 'Approve', harness.hooks.people.admin)
      await until(() => harness.inbox.clicks.length === 2, 'two clicks')
      const [denied, approved] = harness.inbox.clicks
      expect(denied).toMatchObject({ action: 'deny', value: 'c12.0/1', ref, author: { isBot: false } })
      expect(denied!.thread.id).toBe(thread.id)
      expect(denied!.author.id).toBe(harness.hooks.people.member)
      expect(approved).toMatchObject({ action: 'approve', author: { id: harness.hooks.people.admin } })
      expect(approved!.id).not.toBe(denied!.id)
    })

    promise('the answer to a click is for the clicking person alone', async (harness) => {
      const { thread, ref } = await posted(harness)
      harness.inbox.answer = { text: 'You may not decide this.' }
      await harness.cards.pressButton(ref, 'Approve', harness.hooks.people.member)
      await told(harness, harness.hooks.people.member, 'You may not decide this.')
      expect((await harness.cards.saidAlone(harness.hooks.people.admin)).map(({ text }) => text)).toEqual([])
      const seen = (await harness.hooks.view(thread)).map(({ text }) => text).join('\n')
      expect(seen).not.toContain('You may not decide this.')
    })

    promise('a click that the inbox did not take is told to the person', async (harness) => {
      const { ref } = await posted(harness)
      harness.inbox.failNext(1)
      await harness.cards.pressButton(ref, 'Approve', harness.hooks.people.member)
      await told(harness, harness.hooks.people.member, /again/i)
      expect(harness.inbox.clicks).toEqual([])
    })

    promise('a dialog opens as the answer to a click, filled in', async (harness) => {
      const open = await openDialog(harness)
      expect(open).toMatchObject({ title: DIALOG.title, submit: DIALOG.submit, errors: {} })
      expect(open.fields).toEqual(DIALOG.fields)
    })

    promise('a dialog opens with as much in it as it can hold', async (harness) => {
      const { characters, fields } = harness.platform.limits.dialog
      const value = 'x'.repeat(characters)
      const many = Array.from({ length: Math.min(fields, 5) }, (_, n) => ({
        ...DIALOG.fields[0]!,
        name: `argument_${n}`,
        value,
      }))
      const open = await openDialog(harness, { ...DIALOG, fields: many })
      expect(open.fields.map((field) => field.value)).toEqual(many.map(() => value))
    })

    promise('a dialog that is sent off arrives exactly as typed', async (harness) => {
      await openDialog(harness)
      const typed = '  npm run "a b" && `x`\n\n\tdone <@U1> &amp; 例 🧪  '
      await harness.cards.submitDialog({ command: typed, reason: '' })
      await until(() => harness.inbox.submissions.length === 1, 'a dialog in the inbox')
      const [sent] = harness.inbox.submissions
      expect(sent).toMatchObject({ action: 'edited', value: 'c12.0/1', fields: { command: typed, reason: '' } })
      expect(sent!.author).toMatchObject({ id: harness.hooks.people.member, isBot: false })
      expect(sent!.thread.id).toBe(harness.inbox.messages[0]!.thread.id)
      await until(() => harness.cards.openedDialog() === null, 'the dialog closed')
    })

    promise('what is wrong in a dialog reaches the person who sent it', async (harness) => {
      await openDialog(harness)
      harness.inbox.submitAnswer = { errors: { command: 'That is no command.' } }
      await harness.cards.submitDialog({ command: 'nonsense' })
      await until(async () => {
        const inside = Object.values(harness.cards.openedDialog()?.errors ?? {})
        const alone = (await harness.cards.saidAlone(harness.hooks.people.member)).map(({ text }) => text)
        return [...inside, ...alone].some((text) => text.includes('That is no command.'))
      }, 'the error before the person')
    })

    promise('the answer to a dialog is for that person alone', async (harness) => {
      await openDialog(harness)
      harness.inbox.submitAnswer = { text: 'Somebody else was faster.' }
      await harness.cards.submitDialog({ command: 'npm test' })
      await told(harness, harness.hooks.people.member, 'Somebody else was faster.')
      expect(await harness.cards.saidAlone(harness.hooks.people.admin)).toEqual([])
    })

    promise('a dialog that the inbox did not take is told to the person', async (harness) => {
      await openDialog(harness)
      harness.inbox.failNext(1)
      await harness.cards.submitDialog({ command: 'npm test' })
      await until(async () => {
        const inside = Object.values(harness.cards.openedDialog()?.errors ?? {})
        const alone = (await harness.cards.saidAlone(harness.hooks.people.member)).map(({ text }) => text)
        return [...inside, ...alone].some((text) => /again/i.test(text))
      }, 'a word to the person that it was not taken')
      expect(harness.inbox.submissions).toEqual([])
    })

    promise(
      'words for one person can have buttons, and a click on them comes from the right thread',
      async (harness) => {
        const { platform, cards, inbox, hooks } = harness
        const thread = await conversation({ inbox, hooks })
        const buttons: Button[] = [{ action: 'queue', label: 'Send it', style: 'primary', value: 'm7' }]
        expect(await platform.whisper(thread, hooks.people.member, 'It is busy. Send it later?', { buttons })).toBe(
          true,
        )
        const said = await told(harness, hooks.people.member, 'It is busy')
        expect(said.buttons).toEqual(['Send it'])
        await cards.pressButton(said.ref, 'Send it', hooks.people.member)
        await until(() => inbox.clicks.length === 1, 'a click')
        expect(inbox.clicks[0]).toMatchObject({ action: 'queue', value: 'm7', author: { id: hooks.people.member } })
        expect(inbox.clicks[0]!.thread.id).toBe(thread.id)
      },
    )
  })
}

const CARD: MessageBody = {
  markdown: '**May I run this?**\n\n```sh\nnpm test\n```',
  kind: 'card',
  buttons: [
    { action: 'approve', label: 'Approve', style: 'primary', value: 'c12.0/1' },
    { action: 'always', label: 'Always here', style: 'plain', value: 'c12.0/1' },
    { action: 'edit', label: 'Edit…', style: 'plain', value: 'c12.0/1' },
    { action: 'deny', label: 'Deny…', style: 'danger', value: 'c12.0/1' },
  ],
}

const DIALOG: Dialog = {
  action: 'edited',
  value: 'c12.0/1',
  title: 'Edit before it runs',
  submit: 'Run this',
  close: 'Cancel',
  intro: 'Change what is to run.',
  fields: [
    { name: 'command', label: 'Command', value: 'npm test', multiline: true, required: true },
    { name: 'reason', label: 'Why', value: 'because', multiline: false, required: false },
  ],
}
