import { randomUUID } from 'node:crypto'
import type { Dialog } from '../../src/platform/platform.ts'
import type { ConsoleMessage } from '../../src/shared/consoleView.ts'
import type { ApprovalWorld } from './approvalSuite.ts'

type Shown = Omit<ConsoleMessage, 'markdown'> & { html: string; summary?: string; text?: string }

/** The console as a browser uses it: a session by cookie, the right origin, JSON. */
export async function consoleWorld(): Promise<ApprovalWorld & { threads(): Promise<string[]> }> {
  let url = ''
  let cookie = ''

  async function call(path: string, body?: object): Promise<Response> {
    const headers = { origin: url, 'content-type': 'application/json', 'x-toycoder-console': '1', cookie }
    const method = body ? { method: 'POST', body: JSON.stringify(body) } : {}
    const response = await fetch(`${url}/console/api/${path}`, { headers, ...method })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response
  }

  async function submit(threadId: unknown, text: string): Promise<string> {
    const response = await call('submit', { id: randomUUID(), threadId, text })
    return ((await response.json()) as { threadId: string }).threadId
  }

  async function messages(thread: unknown): Promise<Shown[]> {
    const response = await call(`threads/${thread as string}/messages`)
    return ((await response.json()) as { messages: Shown[] }).messages
  }

  async function pressable(thread: unknown) {
    return (await messages(thread)).flatMap(({ id, buttons }) =>
      buttons.map(({ label, action, value }) => ({ messageId: id, label, action, value })),
    )
  }

  let opened: { threadId: string; dialog: Dialog } | null = null

  async function click(thread: unknown, messageId: string, action: string, value: string): Promise<void> {
    const threadId = thread as string
    const response = await call('click', { id: randomUUID(), threadId, messageId, action, value })
    const { dialog } = (await response.json()) as { dialog?: Dialog }
    opened = dialog ? { threadId, dialog } : null
  }

  return {
    settings: {},
    async started(at) {
      url = at
      cookie = ''
      cookie = (await call('session', {})).headers.get('set-cookie')!.split(';', 1)[0]!
    },
    begin: (text) => submit(null, text),
    reply: async (thread, text) => {
      await submit(thread, text)
    },
    mention: async (thread, text) => {
      await submit(thread, text)
    },
    plan: (task) => submit(null, `/plan ${task}`),
    seen: async (thread) =>
      (await messages(thread)).map(({ id, kind, text, html, summary, footer }) => ({
        id,
        isBot: kind !== 'person',
        text: [text ?? plain(html), summary && plain(summary), footer].filter(Boolean).join('\n'),
      })),
    files: async (thread) => (await messages(thread)).flatMap(({ file }) => (file ? [file.name] : [])),
    async fileText(thread, name) {
      const found = (await messages(thread)).find(({ file }) => file?.name === name)!
      return (await call(`threads/${thread as string}/files/${found.id}`)).text()
    },
    threads: async () => {
      const threads = (await (await call('threads')).json()) as { id: string }[]
      return threads.map(({ id }) => id)
    },

    severalPeople: false,
    tooManyLines: 10_000,
    buttons: async (thread) => (await pressable(thread)).map(({ label }) => label),
    async press(thread, label) {
      const { messageId, action, value } = (await pressable(thread)).findLast((one) => one.label === label)!
      await click(thread, messageId, action, value)
    },
    async submit(fields) {
      const { dialog, threadId } = opened!
      const all = Object.fromEntries(dialog.fields.map(({ name, value }) => [name, value]))
      const { action, value } = dialog
      await call('dialog', { id: randomUUID(), threadId, action, value, fields: { ...all, ...fields } })
    },
    async forge(thread, action, value) {
      const [message] = await messages(thread)
      await click(thread, message!.id, action, value)
    },
    saidAlone: () => '',
    close: async () => {},
  }
}

/** The words of the safe HTML that the page is given. */
function plain(html: string): string {
  return html
    .replace(/<[^>]*>/g, '')
    .replace(/&(lt|gt|amp|quot|#39);/g, (_, name: string) => ({ lt: '<', gt: '>', amp: '&', quot: '"' })[name] ?? "'")
}
