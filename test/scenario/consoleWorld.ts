import { randomUUID } from 'node:crypto'
import type { ConsoleMessage } from '../../src/shared/consoleView.ts'
import type { ScenarioWorld } from './scenarioSuite.ts'

type Shown = Omit<ConsoleMessage, 'markdown'> & { html: string; summary?: string; text?: string }

/** The console as a browser uses it: a session by cookie, the right origin, JSON. */
export async function consoleWorld(): Promise<ScenarioWorld> {
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
    close: async () => {},
  }
}

/** The words of the safe HTML that the page is given. */
function plain(html: string): string {
  return html
    .replace(/<[^>]*>/g, '')
    .replace(/&(lt|gt|amp|quot|#39);/g, (_, name: string) => ({ lt: '<', gt: '>', amp: '&', quot: '"' })[name] ?? "'")
}
