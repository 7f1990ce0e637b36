import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import { Registry } from 'prom-client'
import { afterEach, describe, expect, test } from 'vitest'
import { SetupError } from '../../src/shared/errors.ts'
import { createBrowserSessions } from '../../src/web/browserSession.ts'
import { type RunningConsole, startConsole } from '../browser/console.ts'
import { rawHttp } from './rawHttp.ts'

const TOKEN = 'a-token-of-more-than-20-characters'
let running: RunningConsole | null = null
afterEach(() => running?.stop())

async function started(...options: Parameters<typeof startConsole>): Promise<RunningConsole> {
  running = await startConsole(...options)
  return running
}

const host = ({ port }: RunningConsole) => `Host: 127.0.0.1:${port}`
const origin = ({ port }: RunningConsole) => `Origin: http://127.0.0.1:${port}`
const JSON_TYPE = 'Content-Type: application/json'
const SCRIPT = 'X-ToyCoder-Console: 1'

const read = (web: RunningConsole, path: string, ...headers: string[]) =>
  rawHttp(web.port, [`GET ${path} HTTP/1.1`, host(web), ...headers])
const send = (web: RunningConsole, path: string, body: unknown, ...headers: string[]) =>
  rawHttp(
    web.port,
    [`POST ${path} HTTP/1.1`, host(web), origin(web), JSON_TYPE, SCRIPT, ...headers],
    JSON.stringify(body),
  )

async function sessionOf(web: RunningConsole, body: unknown = {}): Promise<string> {
  const { headers } = await send(web, '/console/api/session', body)
  return `Cookie: ${headers.get('set-cookie')!.split(';')[0]}`
}

const submission = { id: 'abc', threadId: null, text: 'hello' }

describe('the page', () => {
  test('comes with headers that let nothing foreign run in it and nobody frame it', async () => {
    const web = await started()
    for (const path of [
      '/console',
      '/console/t/x',
      '/console/sign-in',
      '/console/assets/console.js',
      '/nothing',
      '/console/api/threads',
    ]) {
      const { headers } = await read(web, path)
      const policy = headers.get('content-security-policy')!
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).not.toMatch(/unsafe|\*|https?:/)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
      expect(headers.has('access-control-allow-origin')).toBe(false)
    }
  })

  test('has no script of its own inside and loads nothing from elsewhere', async () => {
    const web = await started()
    for (const path of ['/console', '/console/sign-in']) {
      const { body } = await read(web, path)
      const scripts = [...body.matchAll(/<script\b([^>]*)>([^<]*)/g)]
      expect(scripts.length).toBeGreaterThan(0)
      for (const [, attributes = '', content] of scripts) {
        if (!attributes.includes('application/json')) expect(content).toBe('')
      }
      expect(body).not.toMatch(/\son\w+=|style=|(src|href)="(https?:)?\/\//)
      expect(body).not.toContain('{{')
    }
  })

  test('speaks the language of the browser, or the one that is set', async () => {
    const web = await started()
    expect((await read(web, '/console', 'Accept-Language: fr, zh-CN;q=0.9, en;q=0.8')).body).toContain('lang="zh-CN"')
    expect((await read(web, '/console', 'Accept-Language: fr')).body).toContain('lang="en"')
    await web.stop()
    const chinese = await started({ language: 'zh' })
    expect((await read(chinese, '/console', 'Accept-Language: en')).body).toContain('话题')
  })

  test('/ leads to the console', async () => {
    const web = await started()
    const { status, headers } = await read(web, '/')
    expect([status, headers.get('location')]).toEqual([302, '/console'])
  })

  test.each([
    '/console/assets/../server.ts',
    '/console/assets/..%2fserver.ts',
    '/console/assets/%2e%2e/server.ts',
    '/console/assets/console.html',
    '/console/assets/',
    '/console/assets/constructor',
  ])('%s is not served', async (path) => {
    expect((await read(await started(), path)).status).toBe(404)
  })

  test('assets that are known already are not sent again', async () => {
    const web = await started()
    const first = await read(web, '/console/assets/console.css')
    expect(first.headers.get('content-type')).toContain('text/css')
    const again = await read(web, '/console/assets/console.css', `If-None-Match: ${first.headers.get('etag')}`)
    expect([again.status, again.body]).toEqual([304, ''])
  })
})

describe('on this machine alone', () => {
  test('a foreign name, a foreign origin and a forwarded request are refused before anything is done', async () => {
    const web = await started()
    const cookie = await sessionOf(web)
    const body = JSON.stringify(submission)
    const attacks = [
      [
        `POST /console/api/submit HTTP/1.1`,
        `Host: evil.example:${web.port}`,
        `Origin: http://evil.example:${web.port}`,
      ],
      [`POST /console/api/submit HTTP/1.1`, host(web), 'Origin: http://evil.example'],
      [`POST /console/api/submit HTTP/1.1`, host(web), 'Origin: null'],
      [`POST /console/api/submit HTTP/1.1`, host(web)],
      [`POST /console/api/submit HTTP/1.1`, host(web), origin(web), 'X-Forwarded-For: 203.0.113.7'],
      [`POST /console/api/submit HTTP/1.1`, host(web), 'Host: evil.example', origin(web)],
      [`POST http://evil.example/console/api/submit HTTP/1.1`, host(web), origin(web)],
      [`POST /console/api/submit HTTP/1.0`, origin(web)],
    ]
    for (const lines of attacks) {
      const { status } = await rawHttp(web.port, [...lines, JSON_TYPE, SCRIPT, cookie], body)
      expect([400, 403], lines.join(' | ')).toContain(status)
    }
    expect(web.conversation.messages).toEqual([])
    expect(web.storage.entries.size).toBe(0)
  })

  test('a form of a foreign page can do nothing even where a browser sends no origin', async () => {
    const web = await started()
    const cookie = await sessionOf(web)
    const lines = ['POST /console/api/submit HTTP/1.1', host(web), origin(web), cookie]
    const plain = await rawHttp(web.port, [...lines, 'Content-Type: text/plain'], JSON.stringify(submission))
    expect(plain.status).toBe(403)
    const typed = await rawHttp(web.port, [...lines, 'Content-Type: text/plain', SCRIPT], JSON.stringify(submission))
    expect(typed.status).toBe(400)
    expect(web.conversation.messages).toEqual([])
  })

  test('everything but the page needs a session, also reading', async () => {
    const web = await started()
    for (const path of ['threads', 'events', 'threads/x/messages', 'threads/x/files/y']) {
      expect((await read(web, `/console/api/${path}`)).status, path).toBe(401)
    }
    expect((await send(web, '/console/api/submit', submission)).status).toBe(401)
    expect((await send(web, '/console/api/click', {})).status).toBe(401)
    const cookie = await sessionOf(web)
    expect((await read(web, '/console/api/threads', cookie)).status).toBe(200)
  })

  test('the session is a strict cookie that scripts cannot read and that belongs to our port', async () => {
    const web = await started()
    const { status, headers } = await send(web, '/console/api/session', {})
    expect(status).toBe(204)
    const cookie = headers.get('set-cookie')!
    expect(cookie).toContain(`toycoder-${web.port}=`)
    expect(cookie).toMatch(/HttpOnly; SameSite=Strict/)
  })

  test('a session of another process is not taken', async () => {
    const web = await started()
    const cookie = await sessionOf(web)
    await web.stop()
    const other = await started()
    const renamed = cookie.replace(/toycoder-\d+/, `toycoder-${other.port}`)
    expect((await read(other, '/console/api/threads', renamed)).status).toBe(401)
  })

  test('the same submission sent again, because its answer was lost, makes one message and one run', async () => {
    const web = await started()
    const cookie = await sessionOf(web)
    const first = await send(web, '/console/api/submit', submission, cookie)
    const again = await send(web, '/console/api/submit', submission, cookie)
    expect(JSON.parse(first.body)).toMatchObject({ outcome: 'accepted' })
    expect(JSON.parse(again.body)).toEqual({ ...JSON.parse(first.body), outcome: 'duplicate' })
    expect(web.conversation.messages).toHaveLength(1)
    const { threadId } = JSON.parse(first.body)
    expect((await web.platform.pages.messages(threadId, { limit: 10 })).messages).toHaveLength(1)
  })

  test.each([
    ['an empty text', { ...submission, text: '  ' }, 400],
    ['too long a text', { ...submission, text: 'x'.repeat(40_001) }, 400],
    ['a body beyond all measure', { ...submission, text: 'x'.repeat(200_000) }, 413],
    ['an id that is a path', { ...submission, id: '../x' }, 400],
    ['a thread that is a path', { ...submission, threadId: 'a/b' }, 400],
    ['a thread that is not there', { ...submission, threadId: 'nowhere' }, 404],
    ['fields that nobody knows', { ...submission, author: 'root' }, 400],
    ['no object', [], 400],
  ])('%s is refused', async (_, body, status) => {
    const web = await started()
    const cookie = await sessionOf(web)
    expect((await send(web, '/console/api/submit', body, cookie)).status).toBe(status)
    expect(web.conversation.messages).toEqual([])
  })

  test('when the store fails the page is told to try again, and trying again works', async () => {
    const web = await started()
    const cookie = await sessionOf(web)
    web.storage.failing = true
    expect((await send(web, '/console/api/submit', submission, cookie)).status).toBe(503)
    web.storage.failing = false
    expect((await send(web, '/console/api/submit', submission, cookie)).status).toBe(200)
    expect(web.conversation.messages).toHaveLength(1)
  })

  test('files come as downloads that no browser opens as a page', async () => {
    const web = await started()
    const cookie = await sessionOf(web)
    const { threadId } = JSON.parse((await send(web, '/console/api/submit', submission, cookie)).body)
    const thread = web.conversation.messages[0]!.thread
    const ref = await web.platform.upload(thread, { name: 'über "x".html', content: '<script>' }, { key: 'f' })
    const { headers, body } = await read(web, `/console/api/threads/${threadId}/files/${ref!.id}`, cookie)
    expect(headers.get('content-type')).toBe('application/octet-stream')
    expect(headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''%C3%BCber%20%22x%22.html")
    expect(body).toContain('<script>')
  })
})

describe('beyond this machine', () => {
  test.each([
    ['0.0.0.0', {}],
    ['127.0.0.1', { publicUrl: 'https://coder.example.org' }],
    ['0.0.0.0', { token: 'short' }],
  ])('the console does not start on %s with %j: it needs a token', async (address, options) => {
    await expect(startConsole({ host: address, ...options })).rejects.toThrow(SetupError)
  })

  test('without a console no token is needed, and the metrics stay closed', async () => {
    const web = await started({ host: '0.0.0.0', console: null })
    expect((await read(web, '/healthz')).status).toBe(200)
    expect((await read(web, '/console')).status).toBe(404)
    expect((await read(web, '/metrics')).status).toBe(401)
  })

  test('the link that is printed carries the token where no log and no referrer sees it', async () => {
    const web = await started({ host: '0.0.0.0', token: TOKEN })
    expect(web.consoleLink).toBe(`http://localhost:${web.port}/console/sign-in#${TOKEN}`)
  })

  test('only the right token opens a session', async () => {
    const web = await started({ host: '0.0.0.0', token: TOKEN })
    for (const body of [{}, { token: '' }, { token: TOKEN.slice(1) }, { token: `${TOKEN}x` }, { token: [TOKEN] }]) {
      const { status, headers } = await send(web, '/console/api/session', body)
      expect(status).toBe(401)
      expect(headers.has('set-cookie')).toBe(false)
    }
    const cookie = await sessionOf(web, { token: TOKEN })
    expect((await read(web, '/console/api/threads', cookie)).status).toBe(200)
    expect((await read(web, '/console/api/threads')).status).toBe(401)
    // A session prolongs itself, so that people who come back need no token again.
    expect((await send(web, '/console/api/session', {}, cookie)).status).toBe(204)
  })

  test('behind https the cookie is bound to the host and to https', async () => {
    const web = await started({ publicUrl: 'https://coder.example.org', token: TOKEN })
    const lines = ['POST /console/api/session HTTP/1.1', 'Host: coder.example.org', 'Origin: https://coder.example.org']
    const { headers } = await rawHttp(
      web.port,
      [...lines, 'X-Forwarded-For: 203.0.113.7', JSON_TYPE, SCRIPT],
      JSON.stringify({ token: TOKEN }),
    )
    expect(headers.get('set-cookie')).toMatch(/^__Host-toycoder=.*; Path=\/; .*; Secure$/)
    expect(web.consoleLink).toBe(`https://coder.example.org/console/sign-in#${TOKEN}`)
  })

  test('a scraper gets the metrics with the token', async () => {
    const web = await started({ host: '0.0.0.0', token: TOKEN })
    expect((await read(web, '/metrics')).status).toBe(401)
    expect((await read(web, '/metrics', 'Authorization: Bearer wrong')).status).toBe(401)
    expect((await read(web, '/metrics', `Authorization: Bearer ${TOKEN}`)).status).toBe(200)
  })
})

describe('a session', () => {
  const made = (options: object = {}) => createBrowserSessions({ token: TOKEN, port: 3000, secure: false, ...options })
  const cookieOf = (setCookie: string | null) => setCookie!.split(';')[0]!

  test('is taken by every instance with the same token, and ends with the token', () => {
    const cookie = cookieOf(made().open(TOKEN))
    expect(made().holds(`other=1; ${cookie}`)).toBe(true)
    expect(made({ token: `${TOKEN}2` }).holds(cookie)).toBe(false)
    expect(made({ port: 3001 }).holds(cookie)).toBe(false)
  })

  test('ends after 30 days, and nobody but us can prolong it', () => {
    let now = Date.UTC(2026, 0, 1)
    const sessions = made({ now: () => now })
    const cookie = cookieOf(sessions.open(TOKEN))
    now += 29 * 24 * 3600_000
    expect(sessions.holds(cookie)).toBe(true)
    now += 2 * 24 * 3600_000
    expect(sessions.holds(cookie)).toBe(false)
    const [name, value] = cookie.split('=') as [string, string]
    const [, signature] = value.split('.')
    expect(sessions.holds(`${name}=99999999999.${signature}`)).toBe(false)
    const forged = createHmac('sha256', 'guess').update('console session until 99999999999').digest('base64url')
    expect(sessions.holds(`${name}=99999999999.${forged}`)).toBe(false)
    for (const odd of [undefined, '', name, `${name}=`, `${name}=.`, `${name}=NaN.x`])
      expect(sessions.holds(odd)).toBe(false)
  })
})

describe('health and readiness', () => {
  test('say what they mean, to probes that know no name of ours', async () => {
    let ok = true
    const web = await started({
      healthy: async () => ({ ok }),
      ready: async () => {
        if (!ok) throw new Error('the store is away')
        return { ok, parts: { store: { ok } } }
      },
    })
    const probe = (path: string) =>
      rawHttp(web.port, [`GET ${path} HTTP/1.1`, 'Host: 10.0.0.7', 'X-Forwarded-For: 10.0.0.1'])
    expect([(await probe('/healthz')).status, (await probe('/readyz')).status]).toEqual([200, 200])
    ok = false
    expect([(await probe('/healthz')).status, (await probe('/readyz')).status]).toEqual([503, 503])
    expect((await probe('/metrics')).status).toBe(403)
  })

  test('the metrics are those of the registry', async () => {
    const registry = new Registry()
    registry.setDefaultLabels({ app: 'toycoder' })
    const { Gauge } = await import('prom-client')
    new Gauge({ name: 'waiting_approvals', help: 'x', registers: [registry] }).set(3)
    const web = await started({ metrics: registry })
    expect((await read(web, '/metrics')).body).toContain('waiting_approvals{app="toycoder"} 3')
  })
})

describe("Slack's events", () => {
  test('reach their handler as they came, forwarded or not, and nothing else does', async () => {
    const bodies: string[] = []
    const web = await started({
      slackEvents: async (request, response) => {
        let body = ''
        for await (const chunk of request) body += chunk
        bodies.push(`${request.method} ${request.headers['x-slack-signature']} ${body}`)
        response.end('ok')
      },
    })
    const lines = [
      'POST /slack/events HTTP/1.1',
      'Host: tunnel.example',
      'X-Forwarded-For: 203.0.113.7',
      'X-Slack-Signature: v0=abc',
    ]
    const { status, body } = await rawHttp(web.port, lines, '{"type":  "url_verification"}')
    expect([status, body.includes('ok')]).toEqual([200, true])
    expect(bodies).toEqual(['POST v0=abc {"type":  "url_verification"}'])
    const beside = await rawHttp(web.port, ['POST /slack/eventsx HTTP/1.1', 'Host: tunnel.example'], '{}')
    expect(beside.status).toBe(403)
    expect(bodies).toHaveLength(1)
  })
})

describe('starting and stopping', () => {
  test('a port that is taken is named with the mend', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as { port: number }
    const failure = await startConsole({ port }).catch((error) => error)
    other.close()
    expect(failure).toBeInstanceOf(SetupError)
    expect(failure.message).toContain(`PORT ${port} is in use`)
    expect(failure.problems[0].mend).toContain('set PORT')
  })

  test('a host that is not of this machine is named with the mend', async () => {
    const failure = await startConsole({ host: '192.0.2.1', token: TOKEN }).catch((error) => error)
    expect(failure).toBeInstanceOf(SetupError)
    expect(failure.message).toContain('HOST 192.0.2.1')
  })

  test('stopping ends open live views at once', async () => {
    const web = await started()
    const cookie = await sessionOf(web)
    const view = read(web, '/console/api/events', cookie)
    await expect
      .poll(() => web.platform.whisper({ platform: 'console', account: 'local', channel: 'console' }, 'local', 'x'))
      .toBe(true)
    const asked = Date.now()
    await web.server.stop(10_000)
    expect(Date.now() - asked).toBeLessThan(2000)
    expect((await view).body).toContain('event: snapshot')
    await expect(read(web, '/healthz')).rejects.toThrow()
  })
})
