import { type Context, Hono } from 'hono'
import { streamSSE } from 'hono/streaming'
import { z } from 'zod'
import type { ConsoleBackend } from '../shared/consoleView.ts'
import type { Log } from '../shared/log.ts'
import type { Language } from '../shared/wording/wording.ts'
import type { BrowserSessions } from './browserSession.ts'
import { liveFeed, MESSAGES_AT_ONCE, THREADS_AT_ONCE } from './liveFeed.ts'
import { answerView, viewOf } from './messageView.ts'
import { languageOf, type PageShell } from './pageShell.ts'

/** The longest text of one message, in UTF-16 units; as the console platform's own. */
const LONGEST_TEXT = 40_000
/** The longest text of one field of a dialog, in UTF-16 units; as the console platform's own. */
const LONGEST_FIELD = 1_000_000
const USUAL_BODY_BYTES = 4 * LONGEST_TEXT + 4096
/** Room for arguments of a megabyte, however their characters are written in JSON, and for several of plain text. */
const DIALOG_BODY_BYTES = 16 * 1024 * 1024

/** A page that hears nothing for longer than a few of these knows that its connection is dead. */
const BEAT_MS = 10_000

/** Scripts of ours send this header; forms and links of foreign pages can't. */
export const CSRF_HEADER = 'x-toycoder-console'

const id = z.string().regex(/^[\w-]{1,80}$/)
const submission = z.strictObject({ id, threadId: id.nullable(), text: z.string().trim().min(1).max(LONGEST_TEXT) })
const click = z.strictObject({
  id,
  threadId: id,
  messageId: id,
  action: z.string().min(1).max(40),
  value: z.string().max(60),
})
const dialog = z.strictObject({
  id,
  threadId: id,
  action: z.string().min(1).max(40),
  value: z.string().max(60),
  fields: z.record(z.string().max(200), z.string().max(LONGEST_FIELD)),
})
const session = z.strictObject({ token: z.string().max(500).optional() })

/**
 * The console's pages and what they ask for. Expects that the door has let the request in; everything under `/api` but the
 * session itself needs a session.
 */
export function createConsoleRoutes(parts: {
  backend: ConsoleBackend
  shell: PageShell
  sessions: BrowserSessions
  language: Language | 'auto'
  /** Aborted when the server stops: open feeds end, so that pages begin to look for the next process. */
  closing: AbortSignal
  log: Log
}) {
  const { backend, shell, sessions, closing, log } = parts
  const app = new Hono<{ Variables: { json: unknown } }>()

  const page = (name: 'console' | 'signIn') => (c: Context) => {
    c.header('Cache-Control', 'no-cache')
    return c.html(shell.page(name, languageOf(parts.language, c.req.header('accept-language'))))
  }
  app.get('/', page('console'))
  app.get('/t/:thread', page('console'))
  app.get('/sign-in', page('signIn'))

  app.get('/assets/:name', (c) => {
    const asset = shell.asset(c.req.param('name'))
    if (!asset) return c.notFound()
    c.header('Cache-Control', 'no-cache')
    c.header('ETag', asset.etag)
    if (c.req.header('if-none-match') === asset.etag) return c.body(null, 304)
    return c.body(asset.body, 200, { 'Content-Type': asset.type })
  })

  app.use('/api/*', async (c, next) => {
    c.header('Cache-Control', 'no-store')
    const reads = c.req.method === 'GET' || c.req.method === 'HEAD'
    if (!reads && c.req.header(CSRF_HEADER) === undefined) return c.json({ error: 'header' }, 403)
    if (c.req.path.endsWith('/api/session')) return next()
    if (!sessions.holds(c.req.header('cookie'))) return c.json({ error: 'session' }, 401)
    return next()
  })
  // Only after the session: nobody else makes us read much.
  app.post('/api/*', async (c, next) => {
    const most = c.req.path.endsWith('/api/dialog') ? DIALOG_BODY_BYTES : USUAL_BODY_BYTES
    const text = await textOf(c.req.raw, most)
    if (text === null) return c.json({ error: 'tooLong' }, 413)
    c.set('json', c.req.header('content-type')?.startsWith('application/json') ? parsed(text) : undefined)
    return next()
  })

  app.post('/api/session', async (c) => {
    const body = session.safeParse(c.get('json'))
    const token = body.success ? body.data.token : undefined
    const cookie = sessions.holds(c.req.header('cookie')) ? sessions.renew() : sessions.open(token)
    if (cookie === null) return c.json({ error: 'token' }, 401)
    return c.body(null, 204, { 'Set-Cookie': cookie })
  })

  app.get('/api/threads', async (c) => {
    const before = id.optional().safeParse(c.req.query('before'))
    if (!before.success) return c.json({ error: 'invalid' }, 400)
    return c.json(await backend.threads({ limit: THREADS_AT_ONCE, ...(before.data ? { before: before.data } : {}) }))
  })

  app.get('/api/threads/:thread/messages', async (c) => {
    const asked = z.tuple([id, id.optional()]).safeParse([c.req.param('thread'), c.req.query('before')])
    if (!asked.success) return c.json({ error: 'invalid' }, 400)
    const [thread, before] = asked.data
    const found = await backend.messages(thread, { limit: MESSAGES_AT_ONCE, ...(before ? { before } : {}) })
    return c.json({ messages: found.messages.map(viewOf), more: found.more })
  })

  app.get('/api/threads/:thread/files/:message', async (c) => {
    const asked = z.tuple([id, id]).safeParse([c.req.param('thread'), c.req.param('message')])
    const file = asked.success ? await backend.file(...asked.data) : undefined
    if (!file) return c.json({ error: 'gone' }, 404)
    const name = encodeURIComponent(file.name).replace(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`)
    return c.body(new Uint8Array(file.content), 200, {
      'Content-Type': 'application/octet-stream',
      'Content-Disposition': `attachment; filename*=UTF-8''${name}`,
    })
  })

  app.post('/api/submit', async (c) => {
    const body = submission.safeParse(c.get('json'))
    if (!body.success) return c.json({ error: whyNot(body.error) }, 400)
    const outcome = await backend.submit(body.data)
    return outcome.outcome === 'noThread' ? c.json({ error: 'gone' }, 404) : c.json(outcome)
  })

  app.post('/api/click', async (c) => {
    const body = click.safeParse(c.get('json'))
    if (!body.success) return c.json({ error: 'invalid' }, 400)
    const answer = await backend.click(body.data)
    return answer ? c.json(answerView(answer)) : c.json({ error: 'gone' }, 404)
  })

  app.post('/api/dialog', async (c) => {
    const body = dialog.safeParse(c.get('json'))
    if (!body.success) return c.json({ error: whyNot(body.error) }, 400)
    const answer = await backend.submitDialog(body.data)
    return answer ? c.json(answerView(answer)) : c.json({ error: 'gone' }, 404)
  })

  app.get('/api/events', (c) => {
    const thread = id.optional().safeParse(c.req.query('thread'))
    if (!thread.success) return c.json({ error: 'invalid' }, 400)
    // A stream whose body nobody reads would never learn that its reader is gone.
    if (c.req.method === 'HEAD') return c.body(null, 200, { 'Content-Type': 'text/event-stream' })
    return streamSSE(
      c,
      async (stream) => {
        const left = new AbortController()
        const signal = AbortSignal.any([left.signal, closing])
        stream.onAbort(() => left.abort())
        const beat = setInterval(() => void stream.writeSSE({ event: 'beat', data: '' }), BEAT_MS)
        try {
          for await (const { event, data } of liveFeed(backend, thread.data ?? null, signal)) {
            await stream.writeSSE({ event, data: JSON.stringify(data) })
          }
        } finally {
          clearInterval(beat)
        }
      },
      async (error) => log.warn({ error }, 'a page lost its live view; it will ask again'),
    )
  })

  return app
}

function whyNot({ issues }: z.ZodError): 'tooLong' | 'invalid' {
  return issues.some(({ code }) => code === 'too_big') ? 'tooLong' : 'invalid'
}

/** The body, or null when it is longer than so many bytes, whether or not it says so itself. */
async function textOf({ headers, body }: Request, most: number): Promise<string | null> {
  if (Number(headers.get('content-length') ?? 0) > most) return null
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.byteLength
    if (size > most) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
