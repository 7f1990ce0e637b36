import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import type { ConsoleBackend } from '../shared/consoleView.ts'
import { messageOf, type Problem, SetupError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import type { Language } from '../shared/wording/wording.ts'
import { createBrowserSessions } from './browserSession.ts'
import { createConsoleRoutes } from './consoleRoutes.ts'
import { createDoor, isLoopback, needsToken } from './door.ts'
import { loadPageShell } from './pageShell.ts'

export interface WebOptions {
  /** Where to listen, as in `HOST` and `PORT`; port 0 takes any free one. */
  host: string
  port: number
  log: Log
  /** Is the process alive and able to work at all? `GET /healthz`. */
  healthy: () => Promise<Health>
  /** Is every part ready for events? `GET /readyz`. */
  ready: () => Promise<{ ok: boolean; parts: Record<string, Health> }>
  /** A prom-client registry fits. `GET /metrics`. */
  metrics: { contentType: string; metrics(): Promise<string> } | null
  console: ConsoleBackend | null
  /** Bolt's own handler for `/slack/events`. It reads the raw body itself, which its signature is made over. */
  slackEvents: ((request: IncomingMessage, response: ServerResponse) => void) | null
  /** `console.public_url`: the address people use when a proxy stands before us. */
  publicUrl?: string
  /** What the console asks for once it can be reached from beyond this machine; see `needsToken`. */
  token?: string
  /** Of the pages. Default `auto`: as the browser asks. */
  language?: Language | 'auto'
}

export interface Health {
  ok: boolean
  detail?: string
}

export interface WebServer {
  /** Listens. `consoleLink` is what a person opens; with a token it carries it, so it is printed and never logged. */
  start(): Promise<{ url: string; port: number; consoleLink: string | null }>
  /** Takes no new requests, ends live views, lets answers under way finish for at most `graceMs`. */
  stop(graceMs: number): Promise<void>
}

const SHORTEST_TOKEN = 20

/** For every answer: nothing but our own files, no framing, no guessing of types, no telling where people came from. */
const SECURITY_HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), microphone=(), geolocation=()',
}

/** The program's one HTTP server. Throws a `SetupError` when the console would be open to the world without a token. */
export function createWebServer(options: WebOptions): WebServer {
  const { host, log, slackEvents } = options
  const publicUrl = options.publicUrl === undefined ? null : new URL(options.publicUrl)
  checkToken(options)
  const closing = new AbortController()
  const server = createServer()

  async function start() {
    const shell = await loadPageShell()
    const port = await listen()
    const token = options.token ?? null
    const secure = publicUrl?.protocol === 'https:'
    const sessions = createBrowserSessions({ token, port, secure })
    const refuse = createDoor({ host, port, publicUrl, token: token !== null })

    const app = new Hono()
    app.use(async (c, next) => {
      await next()
      for (const [name, value] of Object.entries(SECURITY_HEADERS)) c.header(name, value)
    })
    if (options.metrics) {
      const { metrics } = options
      app.get('/metrics', async (c) => {
        const bearer = /^Bearer (.+)$/.exec(c.req.header('authorization') ?? '')?.[1]
        const entitled =
          token === null ? isLoopback(host) : sessions.isToken(bearer) || sessions.holds(c.req.header('cookie'))
        if (!entitled) return c.text('The metrics need the console token: Authorization: Bearer TOKEN\n', 401)
        return c.body(await metrics.metrics(), 200, { 'Content-Type': metrics.contentType })
      })
    }
    if (options.console) {
      const { console: backend, language = 'auto' } = options
      app.get('/', (c) => c.redirect('/console'))
      app.route('/console', createConsoleRoutes({ backend, shell, sessions, language, closing: closing.signal, log }))
    }
    app.notFound((c) => c.text('There is nothing here.\n', 404))
    app.onError((error, c) => {
      log.error({ error, path: c.req.path }, 'a request to the web part failed')
      return c.json({ error: 'unavailable' }, 503)
    })
    const pages = getRequestListener(app.fetch, { overrideGlobalObjects: false })
    const probes = getRequestListener(probesOf(options).fetch, { overrideGlobalObjects: false })

    server.on('request', (request, response) => {
      // A connection that is kept alive would hold up the end although its last answer is given.
      response.once('close', () => closing.signal.aborted && setImmediate(() => server.closeIdleConnections()))
      const path = (request.url ?? '').split('?', 1)[0]
      // These two carry no session and tell no secrets: Slack's requests are signed, and probes come by whatever name.
      if (path === '/slack/events' && slackEvents) return slackEvents(request, response)
      if (path === '/healthz' || path === '/readyz') return void probes(request, response)
      const { method = '', url: target = '', rawHeaders } = request
      const refusal = refuse({ method, target, rawHeaders })
      if (!refusal) return void pages(request, response)
      log.warn({ path, reason: refusal.text }, 'the web part refused a request')
      response.writeHead(refusal.status, {
        ...SECURITY_HEADERS,
        'Content-Type': 'text/plain; charset=utf-8',
        Connection: 'close',
      })
      response.end(`${refusal.text}\n`)
    })

    const url = publicUrl?.origin ?? `http://${inUrl(host)}:${port}`
    const consoleLink = token === null ? `${url}/console` : `${url}/console/sign-in#${encodeURIComponent(token)}`
    return { url, port, consoleLink: options.console ? consoleLink : null }
  }

  function listen(): Promise<number> {
    return new Promise((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) =>
        reject(new SetupError([listenProblem(error, options)], { cause: error })),
      )
      server.listen({ host, port: options.port }, () => resolve((server.address() as AddressInfo).port))
    })
  }

  function stop(graceMs: number): Promise<void> {
    closing.abort()
    return new Promise((resolve) => {
      if (!server.listening) return resolve()
      const hurry = setTimeout(() => server.closeAllConnections(), graceMs)
      server.close(() => {
        clearTimeout(hurry)
        resolve()
      })
      server.closeIdleConnections()
    })
  }

  return { start, stop }
}

function probesOf({ healthy, ready }: WebOptions): Hono {
  const app = new Hono()
  app.get('/healthz', async (c) => {
    const health = await healthy().catch((error) => ({ ok: false, detail: messageOf(error) }))
    return c.json(health, health.ok ? 200 : 503)
  })
  app.get('/readyz', async (c) => {
    const readiness = await ready().catch((error) => ({ ok: false, detail: messageOf(error) }))
    return c.json(readiness, readiness.ok ? 200 : 503)
  })
  return app
}

function checkToken({ host, publicUrl, token, console: backend }: WebOptions): void {
  if (!backend || !needsToken(host, publicUrl)) return
  if (token !== undefined && token.length >= SHORTEST_TOKEN) return
  const why = publicUrl ? 'console.public_url is set' : `HOST is ${host}`
  throw new SetupError([
    {
      problem: `The console can be reached from beyond this machine (${why}) and has no token.`,
      mend: `Give it one of at least ${SHORTEST_TOKEN} characters, listen on 127.0.0.1, or set console.enabled to false.`,
    },
  ])
}

function listenProblem(error: NodeJS.ErrnoException, { host, port }: WebOptions): Problem {
  switch (error.code) {
    case 'EADDRINUSE':
      return {
        problem: `PORT ${port} is in use by another program.`,
        mend: 'Stop that program, or set PORT to a free port.',
      }
    case 'EACCES':
      return { problem: `PORT ${port} may not be used by this user.`, mend: 'Set PORT to a number above 1023.' }
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return {
        problem: `HOST ${host} is not an address of this machine.`,
        mend: 'Set HOST to 127.0.0.1 for this machine alone, or to 0.0.0.0 for the network.',
      }
    default:
      return { problem: `The web part could not listen: ${error.message}.`, mend: 'Check HOST and PORT.' }
  }
}

/** A listening address as browsers can open it. */
function inUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
