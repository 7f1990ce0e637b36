import { existsSync, unlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import { resolve } from 'node:path'
import { Client } from 'undici'
import { messageOf } from './shared/errors.ts'
import type { Log } from './shared/log.ts'

/** What the command line asks of the bot that has the store. */
export interface Operator {
  /** Frees a parked thread; false: it is not parked. */
  retry(threadKey: string): Promise<boolean>
}

export interface OperatorSocket {
  start(): Promise<void>
  stop(): Promise<void>
}

/** The longest address of a Unix socket, in bytes: 108 on Linux and 104 on macOS, with the zero at its end (unix(7)). */
const LONGEST_PATH = 103
/** Whoever may open a socket may write to it; this leaves that to its owner. */
const OWNER_ONLY = 0o177
const RETRY = /^\/threads\/([^/]+)\/retry$/
/** No socket, or one whose process was killed. */
const NOBODY_LISTENS = new Set(['ENOENT', 'ECONNREFUSED'])

/** The socket beside a store in a file; `null` beside all others, which any process may open for itself. */
export function operatorSocketPath(storeUrl: string): string | null {
  if (!storeUrl.startsWith('sqlite:')) return null
  return `${resolve(storeUrl.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, ''))}.sock`
}

/**
 * Listens for the command line at `path`. The store's lock is ours by then, so a socket that lies there is left over from
 * a process that was killed. Without a socket the bot does all its other work, so a failure is only logged.
 */
export function createOperatorSocket({
  path,
  operator,
  log,
}: {
  path: string
  operator: Operator
  log: Log
}): OperatorSocket {
  const server = createServer(async ({ method, url = '' }, response) => {
    const thread = RETRY.exec(url)?.[1]
    try {
      if (method !== 'POST' || thread === undefined) return void response.writeHead(404).end()
      response.end(JSON.stringify({ freed: await operator.retry(decodeURIComponent(thread)) }))
    } catch (error) {
      response.writeHead(503).end(JSON.stringify({ error: messageOf(error) }))
    }
  })

  return {
    async start() {
      if (Buffer.byteLength(path) > LONGEST_PATH) {
        log.warn(
          { path },
          `the command line can't reach this bot: the path of its socket is over ${LONGEST_PATH} bytes`,
        )
        return
      }
      try {
        if (existsSync(path)) unlinkSync(path)
        await listen(path)
      } catch (error) {
        log.warn({ path, error }, "the command line can't reach this bot: its socket could not be made")
      }
    },

    async stop() {
      if (!server.listening) return
      const closed = new Promise((closing) => server.close(closing))
      server.closeAllConnections()
      await closed
    },
  }

  function listen(at: string): Promise<void> {
    return new Promise((listening, failed) => {
      server.once('error', failed)
      // A socket is made within `listen`, before it returns, so the mask is on for nothing else.
      const mask = process.umask(OWNER_ONLY)
      server.listen(at, () => {
        server.off('error', failed)
        listening()
      })
      process.umask(mask)
    })
  }
}

/** Has the bot that listens at `path` free a thread; `null` when none listens. Rejects with what the bot says went wrong. */
export async function retryBySocket(path: string, threadKey: string): Promise<boolean | null> {
  if (Buffer.byteLength(path) > LONGEST_PATH) return null
  const bot = new Client('http://bot', { socketPath: path })
  try {
    const answer = await bot.request({ method: 'POST', path: `/threads/${encodeURIComponent(threadKey)}/retry` })
    const said = (await answer.body.json()) as { freed: boolean } | { error: string }
    if ('error' in said) throw new Error(`the running bot could not do it: ${said.error}`)
    return said.freed
  } catch (error) {
    if (NOBODY_LISTENS.has((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  } finally {
    await bot.close()
  }
}
