import { afterEach, expect, test } from 'vitest'
import { type RunningConsole, startConsole } from '../browser/console.ts'

let running: RunningConsole | null = null
afterEach(() => running?.stop())

/** A console with a session; `ask` sends what a page of it would, but with any method and body. */
async function started() {
  const web = await startConsole()
  running = web
  const url = `http://127.0.0.1:${web.port}`
  const headers = { origin: url, 'content-type': 'application/json', 'x-toycoder-console': '1' }
  const session = await fetch(`${url}/console/api/session`, { method: 'POST', headers, body: '{}' })
  const cookie = session.headers.get('set-cookie')!.split(';')[0]!
  const ask = (init: RequestInit) =>
    fetch(`${url}/console/api/submit`, { headers: { ...headers, cookie }, ...init } as RequestInit)
  return { web, ask }
}

/** Sent in pieces, without saying how long it is, as proxies may hand it on. */
function inPieces(text: string): RequestInit {
  const half = Math.floor(text.length / 2)
  const pieces = [text.slice(0, half), text.slice(half)].map((piece) => new TextEncoder().encode(piece))
  return { method: 'POST', body: ReadableStream.from(pieces), duplex: 'half' } as RequestInit
}

test('a body that comes in pieces is taken, up to the usual limit', async () => {
  const { web, ask } = await started()
  const submission = { id: 'abc', threadId: null, text: '漢字 '.repeat(100).trim() }
  expect((await ask(inPieces(JSON.stringify({ ...submission, text: 'x'.repeat(200_000) })))).status).toBe(413)
  expect(web.conversation.messages).toEqual([])
  expect((await ask(inPieces(JSON.stringify(submission)))).status).toBe(200)
  expect(web.conversation.messages.map(({ text }) => text)).toEqual([submission.text])
})

test.each(['{', 'null', '[]', '"x"', '[[['.repeat(10_000), ''])('a body of %j is refused', async (body) => {
  const { web, ask } = await started()
  expect((await ask({ method: 'POST', body })).status).toBe(400)
  expect(web.conversation.messages).toEqual([])
})

test.each(['DELETE', 'PUT', 'OPTIONS'])('%s is nothing that the console knows', async (method) => {
  const { ask } = await started()
  expect((await ask({ method })).status).toBe(404)
})
