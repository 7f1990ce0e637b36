import { setTimeout as delay } from 'node:timers/promises'
import { App, type Logger, type Receiver, type ReceiverEvent, type webApi } from '@slack/bolt'
import type { IncomingMessage } from '../platform.ts'
import { incomingCommand, incomingMessage, type SlackCommand, type SlackMessageEvent } from './inbound.ts'
import { hearInteractions, type InteractingOptions } from './interacting.ts'
import { privately } from './payload.ts'
import { incomingStop, isStopEvent, type SlackStopEvent, type Threads } from './stops.ts'

export interface HearingOptions extends InteractingOptions {
  token: string
  receiver: Receiver
  clientOptions: webApi.WebClientOptions
  logger: Logger
  /** Sees each message before it goes to the inbox. */
  onMessage(message: IncomingMessage): void
  threads: Threads
}

export interface Hearing {
  /** From here on nothing is taken; resolves when what was under way to the inbox is settled, or after 5 seconds. */
  stop(): Promise<void>
}

const LONGEST_STOP_MS = 5_000

/** Bolt, wired so that everything is in the inbox before Slack is told that it arrived. */
export function hear(options: HearingOptions): Hearing {
  const { receiver, context, inbox, log } = options
  const underWay = new Set<Promise<unknown>>()
  let stopped = false
  let lastRefused = ''

  /** An event of the Events API. Rejects when the inbox did not take it: then it is not acknowledged and comes again. */
  async function deliver(body: { event?: { type?: string }; event_id?: string }): Promise<void> {
    const { event, event_id: eventId } = body
    if (isStopEvent(event)) return deliverStop(event)
    if (event?.type !== 'message' && event?.type !== 'app_mention') return
    const message = incomingMessage(event as SlackMessageEvent, eventId, context)
    if (!message) return
    options.onMessage(message)
    const receipt = await inbox.message(message).catch((error: unknown) => {
      log.error({ error, thread: message.thread.id }, 'a message was not stored; Slack will deliver it again')
      throw error
    })
    // One mention comes as two events; it is refused once.
    if (receipt.outcome === 'refused' && message.id !== lastRefused) {
      lastRefused = message.id
      const { thread, author } = message
      options
        .tell(thread, author.id, receipt.text)
        .catch((error: unknown) => log.warn({ error }, 'a refusal could not be said'))
    }
  }

  async function deliverStop(event: SlackStopEvent): Promise<void> {
    const stop = await incomingStop(event, context, options.threads)
    if (stop) await inbox.stop(stop)
  }

  /** Everything from Slack passes here. What rejects is not acknowledged, and Slack tries again where it does so at all. */
  async function handle(event: ReceiverEvent, acknowledge: () => Promise<void>): Promise<void> {
    if (stopped) throw new Error('the program is ending and takes nothing new')
    if (event.body.type === 'app_rate_limited') {
      log.warn({}, 'Slack limits the events of this workspace; some do not arrive')
      return event.ack()
    }
    const work = (async () => {
      await deliver(event.body)
      await acknowledge()
    })()
    underWay.add(work)
    try {
      await work
    } finally {
      underWay.delete(work)
    }
  }

  const app = new App({
    token: options.token,
    // Both given, Bolt asks `auth.test` no further time and can't fail at it outside of our reach.
    botId: context.self.botId,
    botUserId: context.self.userId,
    convoStore: false,
    clientOptions: options.clientOptions,
    logger: options.logger,
    receiver: storeThenAcknowledge(receiver, handle),
  })

  app.command(/.*/, async ({ command, ack }) => {
    const receipt = await inbox.command(incomingCommand(command as SlackCommand, context))
    await ack(receipt.outcome === 'refused' ? privately(receipt.text) : undefined)
  })

  hearInteractions(app, options)

  // What failed stays unacknowledged; the reason belongs into our log, not into Bolt's.
  app.error(async (error) => {
    log.error({ error }, 'something from Slack could not be handled')
    throw error
  })

  return {
    async stop() {
      stopped = true
      await Promise.race([Promise.allSettled(underWay), delay(LONGEST_STOP_MS, undefined, { ref: false })])
    },
  }
}

/**
 * Bolt acknowledges an event before any listener runs. So its receiver is wrapped: `handle` sees everything first, and
 * Bolt only what `handle` passes on with `acknowledge`.
 */
function storeThenAcknowledge(
  inner: Receiver,
  handle: (event: ReceiverEvent, acknowledge: () => Promise<void>) => Promise<void>,
): Receiver {
  return {
    init(app) {
      // All that a receiver uses of an app is this one function.
      inner.init({ processEvent: (event) => handle(event, () => app.processEvent(event)) } as App)
    },
    start: (...args) => inner.start(...args),
    stop: (...args) => inner.stop(...args),
  }
}
