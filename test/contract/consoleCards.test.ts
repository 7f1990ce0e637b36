import { afterEach, describe, expect, test } from 'vitest'
import type { MessageBody } from '../../src/platform/platform.ts'
import type { ConsoleClickAnswer, ConsoleDialog, ConsoleDialogAnswer } from '../../src/shared/consoleView.ts'
import { pageWordsFor } from '../../src/shared/wording/consolePage.ts'
import { startConsole } from '../browser/console.ts'
import { type CardHarness, cardSuite, type SaidAlone } from './cardSuite.ts'
import { createRecordingInbox } from './recordingInbox.ts'

/** Everybody at the console is this one person. */
const PERSON = 'local'
const words = pageWordsFor('en')

/** The console by the requests that its page makes, and what the page then shows; test/browser has the page itself. */
async function startCards(): Promise<CardHarness> {
  const inbox = createRecordingInbox()
  const { platform, url, stop } = await startConsole({ inbox })
  const { pages } = platform
  const said: SaidAlone[] = []
  let open: { threadId: string; dialog: ConsoleDialog; errors: Record<string, string> } | null = null
  let ids = 0

  const post = (path: string, body: object, cookie = '') =>
    fetch(`${url}/console/api/${path}`, {
      method: 'POST',
      headers: { origin: url, 'content-type': 'application/json', 'x-toycoder-console': '1', cookie },
      body: JSON.stringify(body),
    })
  const cookie = (await post('session', {})).headers.get('set-cookie')!.split(';', 1)[0]!
  const say = (text: string) => said.push({ ref: { channel: 'console', id: '' }, text, buttons: [] })
  const newId = () => `id-${ids++}`

  pages.subscribe((change) => {
    if (change.type !== 'whisper') return
    const { id, markdown, buttons } = change.whisper
    said.push({ ref: { channel: 'console', id }, text: markdown, buttons: buttons.map(({ label }) => label) })
  })

  const thread = async () => (await pages.threads({ limit: 1 }))[0]!.id
  async function buttonsOf(id: string) {
    const { messages } = await pages.messages(await thread(), { limit: 100 })
    const all = [...messages, ...pages.whispers(await thread())]
    return all.find((one) => one.id === id)!.buttons
  }
  const type = async (threadId: string | null, text: string) =>
    void (await post('submit', { id: newId(), threadId, text }, cookie))

  return {
    platform,
    inbox,
    hooks: {
      mention: (text, at) => type(at?.id ?? null, text),
      reply: (at, text) => type(at.id, text),
      direct: (text) => type(null, text),
      place: { platform: 'console', account: PERSON, channel: 'console' },
      view: async ({ id: at }) =>
        (await pages.messages(at, { limit: 100 })).messages.map(({ id, kind, markdown }) => ({
          id,
          author: kind === 'person' ? 'person' : 'bot',
          text: markdown,
        })),
      pings: () => [],
      deleteMessage: async () => {},
      failNext: () => {},
      people: { admin: 'nobody', member: PERSON, bot: 'bot' },
    },
    cards: {
      buttons: async ({ id }) => (await buttonsOf(id)).map(({ label }) => label),
      async pressButton({ id: messageId }, label) {
        const { action, value } = (await buttonsOf(messageId)).find((button) => button.label === label)!
        const threadId = await thread()
        const response = await post('click', { id: newId(), threadId, messageId, action, value }, cookie)
        if (!response.ok) return void say(words.notTaken)
        const { text, dialog } = (await response.json()) as ConsoleClickAnswer
        if (text) say(text)
        if (dialog) open = { threadId, dialog, errors: {} }
      },
      openedDialog: () => {
        if (!open) return null
        const { title, submit, fields } = open.dialog
        return { title, submit, fields, errors: open.errors }
      },
      async submitDialog(typed) {
        const { threadId, dialog } = open!
        const { action, value } = dialog
        const fields = { ...Object.fromEntries(dialog.fields.map((field) => [field.name, field.value])), ...typed }
        const response = await post('dialog', { id: newId(), threadId, action, value, fields }, cookie)
        if (!response.ok) return void say(words.dialogNotTaken)
        const { text, errors = {} } = (await response.json()) as ConsoleDialogAnswer
        if (text) say(text)
        open = Object.keys(errors).length > 0 ? { threadId, dialog, errors } : null
      },
      saidAlone: (person) => (person === PERSON ? said : []),
    },
    close: stop,
  }
}

cardSuite('console', startCards, {
  skip: { 'a click says who decided what, and where': 'until there is sign-in, one person is at the console' },
})

describe('what waits at the console', () => {
  let harness: CardHarness
  afterEach(() => harness.close())
  const open: MessageBody = {
    markdown: 'May I?',
    kind: 'card',
    buttons: [{ action: 'approve', label: 'Approve', style: 'primary', value: 'c1.0/1' }],
  }
  const settled: MessageBody = { markdown: 'Approved.', kind: 'card' }

  async function thread() {
    harness = await startCards()
    await harness.hooks.direct('hello')
    return harness.inbox.messages[0]!.thread
  }
  const waiting = async () => {
    const [first] = await (harness.platform as Awaited<ReturnType<typeof startConsole>>['platform']).pages.threads({
      limit: 1,
    })
    return first!.waiting
  }

  test('is said of the thread while a card is open, and no longer when it is settled', async () => {
    const at = await thread()
    expect(await waiting()).toEqual([])
    const one = await harness.platform.post(at, open, { key: '1' })
    const two = await harness.platform.post(at, open, { key: '2' })
    expect(await waiting()).toEqual([one.id, two.id])
    await harness.platform.edit(at, one, settled)
    expect(await waiting()).toEqual([two.id])
    await harness.platform.edit(at, two, settled)
    expect(await waiting()).toEqual([])
  })

  test('is a question without buttons, too: what was asked bears its mark', async () => {
    const at = await thread()
    const { ref } = harness.inbox.messages[0]!
    await harness.platform.react(at, ref, 'waiting')
    expect(await waiting()).toEqual([ref.id])
    await harness.platform.react(at, ref, 'working')
    expect(await waiting()).toEqual([])
  })

  test('waits no longer when its message is removed', async () => {
    const at = await thread()
    const ref = await harness.platform.post(at, open, { key: '1' })
    await harness.platform.remove(at, ref)
    expect(await waiting()).toEqual([])
  })

  test('a card that is posted again by its key waits once', async () => {
    const at = await thread()
    const ref = await harness.platform.post(at, open, { key: '1' })
    await harness.platform.post(at, open, { key: '1', inDoubt: true })
    expect(await waiting()).toEqual([ref.id])
  })
})
