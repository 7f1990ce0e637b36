import { setTimeout as delay } from 'node:timers/promises'
import { type Logger, SocketModeReceiver } from '@slack/bolt'
import { messageOf, SetupError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { appTokenProblem } from './setup.ts'

export interface SocketOptions {
  appToken: string
  apiUrl: string
  log: Log
  logger: Logger
  /** How long `open` tries before it gives up, in milliseconds; a third of it is how long one attempt waits for hello. */
  startTimeoutMs: number
}

export interface SlackSocket {
  receiver: SocketModeReceiver
  /**
   * Resolves when Slack has said hello. Rejects with a `SetupError` when the token is refused, or when there is no
   * connection within `startTimeoutMs`. Afterwards the connection is kept: it is opened again whenever it ends.
   */
  open(): Promise<void>
  close(): Promise<void>
}

/** Slack answers a close frame and then keeps the TCP connection open; after this long it is cut. */
const CLOSING_MS = 1_000
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000
/** A connection that held this long is followed by the next without a pause. */
const STEADY_MS = 10_000

/**
 * A Socket Mode connection that outlives its sockets.
 *
 * Reconnecting is ours (`autoReconnectEnabled: false`): the client's own reconnection does not catch its failures, so that
 * a longer outage ends the process, and it waits 5 seconds or more before each attempt. Ours follows a
 * connection that held with the next one at once, and tries at growing intervals up to 30 seconds for as long as it takes.
 */
export function createSocket({ appToken, apiUrl, log, logger, startTimeoutMs }: SocketOptions): SlackSocket {
  const receiver = new SocketModeReceiver({
    appToken,
    logger,
    autoReconnectEnabled: false,
    // An object of its own: the receiver writes its retry policy and its token into it.
    installerOptions: { clientOptions: { slackApiUrl: apiUrl, timeout: 10_000, retryConfig: { retries: 0 } } },
  })
  const { client } = receiver
  const helloTimeoutMs = startTimeoutMs / 3
  const closing = new AbortController()
  let keeping: Promise<void> | undefined

  guardMessages(receiver, log)
  client.on('ws_message', (data: unknown) => {
    const reason = typeof data === 'string' ? disconnectReason(data) : undefined
    if (reason === undefined) return
    if (reason === 'link_disabled') log.error({}, 'Socket Mode was switched off in the settings of the Slack app')
    void cutUnlessClosed()
  })

  /** Waits for the connection to end by itself; true if it did. */
  async function endsSoon(): Promise<boolean> {
    const waiting = new AbortController()
    const ended = () => waiting.abort()
    client.once('disconnected', ended)
    const silent = await delay(CLOSING_MS, true, { signal: waiting.signal }).catch(() => false)
    client.off('disconnected', ended)
    return !silent
  }

  /** The client has sent its close frame; `disconnect` in that state cuts the connection. */
  async function cutUnlessClosed(): Promise<void> {
    if (!(await endsSoon())) void client.disconnect()
  }

  /** Closes in good manner, then by force. */
  async function hangUp(): Promise<void> {
    const ending = cutUnlessClosed()
    void client.disconnect()
    await ending
  }

  /** One attempt: resolves at hello, rejects when the connection fails or Slack stays silent. */
  async function connect(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    let silent = false
    const expectHello = () => {
      timer = setTimeout(() => {
        silent = true
        void hangUp()
      }, helloTimeoutMs)
    }
    client.once('connecting', expectHello)
    try {
      await client.start()
    } catch (error) {
      // Ended before hello, the client rejects with nothing.
      if (silent) throw new Error(`Slack said no hello within ${helloTimeoutMs} ms`)
      throw error ?? new Error('Slack closed the connection before it said hello')
    } finally {
      clearTimeout(timer)
      client.off('connecting', expectHello)
    }
  }

  /** Keeps a connection until `signal` says otherwise. `onOpen` and `onRefused` tell of attempts. */
  async function keep(signal: AbortSignal, onOpen: () => void, onRefused: (error: unknown) => void): Promise<void> {
    let pause = FIRST_PAUSE_MS
    while (!signal.aborted) {
      let over = () => {}
      const ended = new Promise<void>((resolve) => {
        over = resolve
      })
      client.once('disconnected', over)
      try {
        await connect()
        if (signal.aborted) return await hangUp()
        onOpen()
        const opened = performance.now()
        await ended
        if (signal.aborted) return
        log.info({}, 'the connection to Slack has ended; opening a new one')
        if (performance.now() - opened >= STEADY_MS) {
          pause = FIRST_PAUSE_MS
          continue
        }
      } catch (error) {
        if (signal.aborted) return
        onRefused(error)
        log.warn({ reason: messageOf(error), pauseMs: pause }, 'no connection to Slack; trying again')
      } finally {
        client.off('disconnected', over)
      }
      await delay(pause * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {})
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS)
    }
  }

  return {
    receiver,
    async open() {
      const { signal } = closing
      let lastReason = 'Slack said nothing'
      let timer: NodeJS.Timeout | undefined
      try {
        await new Promise<void>((resolve, reject) => {
          timer = setTimeout(() => reject(noConnection(startTimeoutMs, lastReason)), startTimeoutMs)
          keeping = keep(signal, resolve, (error) => {
            lastReason = messageOf(error)
            const problem = appTokenProblem(error)
            if (problem) reject(new SetupError([problem], { cause: error }))
          })
        })
      } catch (error) {
        closing.abort()
        void client.disconnect()
        throw error
      } finally {
        clearTimeout(timer)
      }
    },
    async close() {
      closing.abort()
      await hangUp()
      await Promise.race([keeping, delay(CLOSING_MS, undefined, { ref: false })])
    },
  }
}

function noConnection(timeoutMs: number, reason: string): SetupError {
  return new SetupError([
    {
      problem: `Slack opened no Socket Mode connection within ${Math.round(timeoutMs / 1000)} s (${reason}).`,
      mend: 'Check that Socket Mode is switched on in the app settings, and that the network lets WebSockets to Slack through.',
    },
  ])
}

/**
 * The client handles frames in an async listener that nobody awaits: a frame it can't read (`app_rate_limited` has no
 * event inside) would end the process as an unhandled rejection. Here such a frame is a line in the log.
 */
function guardMessages({ client }: SocketModeReceiver, log: Log): void {
  for (const listener of client.listeners('ws_message')) {
    client.off('ws_message', listener)
    client.on('ws_message', async (data: unknown, isBinary: unknown) => {
      try {
        await listener(data, isBinary)
      } catch (error) {
        log.warn({ reason: messageOf(error) }, 'Slack sent a frame that holds no event (it may be limiting our events)')
      }
    })
  }
}

/** Why Slack asks for another connection, if that is what the frame says. */
function disconnectReason(data: string): string | undefined {
  if (!data.includes('"disconnect"') || data.length > 2_000) return undefined
  try {
    const { type, reason } = JSON.parse(data) as { type?: string; reason?: string }
    return type === 'disconnect' ? (reason ?? 'unknown') : undefined
  } catch {
    return undefined
  }
}
