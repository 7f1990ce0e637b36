import { afterEach, describe, expect, test } from 'vitest'
import { type RunningConsole, startConsole } from '../browser/console.ts'

let web: RunningConsole
let cookie: string
let threadId: string
afterEach(() => web.stop())

async function send(path: string, body: unknown, headers: Record<string, string> = {}) {
  const usual = { origin: web.url, 'content-type': 'application/json', 'x-toycoder-console': '1', cookie }
  const response = await fetch(`${web.url}/console/api/${path}`, {
    method: 'POST',
    headers: { ...usual, ...headers },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: await response.text(), headers: response.headers }
}

async function begin(): Promise<void> {
  web = await startConsole()
  cookie = ''
  cookie = (await send('session', {})).headers.get('set-cookie')!.split(';', 1)[0]!
  threadId = JSON.parse((await send('submit', { id: 's', threadId: null, text: 'hello' })).body).threadId
}

const sent = (more: object = {}) => ({
  ...{ id: 'd1', threadId, action: 'edit', value: 'c1.0/1', fields: { command: 'npm test' } },
  ...more,
})

describe('a dialog that is sent off', () => {
  test('reaches the inbox from the one local person, exactly as typed', async () => {
    await begin()
    const fields = { command: '  a\n\tb <>&" 例🧪 \u0001 ', reason: '' }
    expect(await send('dialog', sent({ fields }))).toMatchObject({ status: 200, body: '{}' })
    expect(web.conversation.submissions).toMatchObject([
      { id: 'console:d1', action: 'edit', value: 'c1.0/1', fields, author: { id: 'local', name: 'Dana' } },
    ])
    expect(web.conversation.submissions[0]!.thread.id).toBe(threadId)
  })

  test.each([
    ['plain text', 'x'],
    ['Chinese', '例'],
    ['control characters, six bytes each in JSON', '\u0001'],
  ])('may hold a million characters of %s', async (_, character) => {
    await begin()
    const fields = { content: character.repeat(1_000_000) }
    expect((await send('dialog', sent({ fields }))).status).toBe(200)
    expect(web.conversation.submissions[0]!.fields).toEqual(fields)
  })

  test('sent again, because its answer was lost, is one submission with one answer', async () => {
    await begin()
    web.conversation.onSubmit(async () => ({ text: `Noted **${web.conversation.submissions.length}**` }))
    const answers = await Promise.all([send('dialog', sent()), send('dialog', sent())])
    answers.push(await send('dialog', sent()))
    const [first] = answers.map(({ body }) => JSON.parse(body))
    expect(first).toEqual({ text: 'Noted **1**', html: '<p>Noted <strong>1</strong></p>' })
    expect(answers.map(({ body }) => JSON.parse(body))).toEqual([first, first, first])
    expect(web.conversation.submissions).toHaveLength(1)
  })

  test('that failed can be sent again by the same id', async () => {
    await begin()
    web.conversation.onSubmit(async () => {
      if (web.conversation.submissions.length === 1) throw new Error('the store is away')
      return { errors: { command: 'That is no command.' } }
    })
    expect((await send('dialog', sent())).status).toBe(503)
    const again = await send('dialog', sent())
    expect([again.status, JSON.parse(again.body)]).toEqual([200, { errors: { command: 'That is no command.' } }])
  })

  test('of a foreign page, without our header or without a session does nothing', async () => {
    await begin()
    for (const headers of [{ origin: 'http://evil.example' }, { origin: 'null' }, { cookie: '' }]) {
      expect([401, 403]).toContain((await send('dialog', sent(), headers)).status)
    }
    const bare = await fetch(`${web.url}/console/api/dialog`, {
      method: 'POST',
      headers: { origin: web.url, 'content-type': 'application/json', cookie },
      body: JSON.stringify(sent()),
    })
    expect(bare.status).toBe(403)
    expect((await send('dialog', sent(), { 'content-type': 'text/plain' })).status).toBe(400)
    expect(web.conversation.submissions).toEqual([])
  })

  test.each([
    ['a thread that is not there', { threadId: 'nowhere' }, 404],
    ['an id that is a path', { id: '../x' }, 400],
    ['too long a value', { value: 'x'.repeat(61) }, 400],
    ['no action', { action: '' }, 400],
    ['a field that is no text', { fields: { command: 1 } }, 400],
    ['no fields', { fields: undefined }, 400],
    ['a field beyond the limit', { fields: { command: 'x'.repeat(1_000_001) } }, 400],
    ['a body beyond all measure', { fields: { a: 'x'.repeat(9_000_000), b: 'x'.repeat(9_000_000) } }, 413],
    ['an author', { author: 'root' }, 400],
  ])('with %s is refused', async (_, more, status) => {
    await begin()
    expect((await send('dialog', sent(more))).status).toBe(status)
    expect(web.conversation.submissions).toEqual([])
  })

  test('that was made up gets the answer of the inbox, and so does a press', async () => {
    await begin()
    const other = JSON.parse((await send('submit', { id: 's2', threadId: null, text: 'another' })).body)
    const odd = ['', '-', '__proto__', 'c1.0/1', 'c99999999999999.0/1', "'; --", '../../x', '💣']
    for (const [n, value] of odd.entries()) {
      const action = value || 'constructor'
      const press = { id: `p${n}`, threadId, messageId: other.messageId, action, value }
      expect(await send('click', press)).toMatchObject({ status: 200, body: expect.stringContaining('You pressed') })
      expect((await send('dialog', sent({ id: `d${n}`, action, value, fields: { [action]: value } }))).status).toBe(200)
    }
    expect(web.conversation.clicks).toHaveLength(odd.length)
    expect(web.conversation.submissions).toHaveLength(odd.length)
  })

  test('and a press are answered while the thread is busy', async () => {
    await begin()
    const { thread } = web.conversation.messages[0]!
    // Frames of live text, edits and reactions, as many as come in.
    let busy = true
    const ref = await web.conversation.post(thread, 'growing', { live: true })
    const run = (async () => {
      for (let n = 0; busy; n++) {
        await web.conversation.edit(thread, ref, 'growing '.repeat(n % 4000), { live: true })
        await new Promise(setImmediate)
      }
    })()
    const began = performance.now()
    const press = { id: 'p', threadId, messageId: ref.id, action: 'approve', value: 'c1.0/1' }
    const statuses = await Promise.all([send('click', press), send('dialog', sent())])
    expect(statuses.map(({ status }) => status)).toEqual([200, 200])
    expect(performance.now() - began).toBeLessThan(3000)
    busy = false
    await run
  })
})
