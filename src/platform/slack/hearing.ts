import { App, type Logger, type Receiver, type webApi } from '@slack/bolt'
import { messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { IncomingMessage, PlatformInbox } from '../platform.ts'
import {
  type InboundContext,
  incomingClick,
  incomingCommand,
  incomingMessage,
  type SlackBlockActions,
  type SlackCommand,
  type SlackMessageEvent,
} from './inbound.ts'

export interface HearingOptions {
  token: string
  receiver: Receiver
  clientOptions: webApi.WebClientOptions
  context: InboundContext
  inbox: PlatformInbox
  log: Log
  logger: Logger
  /** Sees each message before it goes to the inbox. */
  onMessage(message: IncomingMessage): void
  /** Tells somebody alone why a message of theirs is not answered. */
  refuse(message: IncomingMessage, text: string): Promise<unknown>
}

export interface Hearing {
  /** Resolves when nothing is under way any more between Slack and the inbox. */
  idle(): Promise<void>
}

/** Bolt, wired so that everything is in the inbox before Slack is told that it arrived. */
export function hear(options: HearingOptions): Hearing {
  const { receiver, context, inbox, log } = options
  const underWay = new Set<Promise<unknown>>()

  /** An event of the Events API. Rejects when the inbox did not take it: then it is not acknowledged and comes again. */
  async function deliver(body: { event?: { type?: string }; event_id?: string }): Promise<void> {
    const { event, event_id: eventId } = body
    if (event?.type !== 'message' && event?.type !== 'app_mention') return
    const message = incomingMessage(event as SlackMessageEvent, eventId, context)
    if (!message) return
    options.onMessage(message)
    const receipt = await inbox.message(message)
    if (receipt.outcome === 'refused') {
      options.refuse(message, receipt.text).catch((error) => log.warn({ error }, 'a refusal could not be said'))
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
    receiver: storeThenAcknowledge(
      receiver,
      async (body) => {
        if (body.type === 'app_rate_limited') log.warn({}, 'Slack limits the events of this workspace; some are lost')
        await deliver(body)
      },
      underWay,
    ),
  })

  app.command(/.*/, async ({ command, ack }) => {
    const receipt = await inbox.command(incomingCommand(command as SlackCommand, context))
    await ack(receipt.outcome === 'refused' ? { response_type: 'ephemeral', text: receipt.text } : undefined)
  })

  app.action(/.*/, async ({ body, ack, respond }) => {
    const click = incomingClick(body as unknown as SlackBlockActions, context)
    const answer = click ? await inbox.click(click) : {}
    await ack()
    if (!click || !answer.text) return
    const privately = { response_type: 'ephemeral', replace_original: false, text: answer.text } as const
    await respond({ ...privately, thread_ts: click.thread.thread! }).catch((error: unknown) =>
      log.warn({ reason: messageOf(error) }, 'the answer to a click could not be shown'),
    )
  })

  // What failed stays unacknowledged; the reason belongs into our log, not into Bolt's.
  app.error(async (error) => {
    log.error({ error }, 'something from Slack could not be handled')
    throw error
  })

  return {
    async idle() {
      while (underWay.size) await Promise.allSettled(underWay)
    },
  }
}

/**
 * Bolt acknowledges an event before any listener runs. So its receiver is wrapped: `store` runs first, and where it
 * rejects Bolt sees nothing of the event, nothing is acknowledged, and Slack delivers it again.
 */
function storeThenAcknowledge(
  inner: Receiver,
  store: (body: Record<string, unknown>) => Promise<void>,
  underWay: Set<Promise<unknown>>,
): Receiver {
  return {
    init(app) {
      const processEvent: App['processEvent'] = async (event) => {
        const work = (async () => {
          await store(event.body)
          if (event.body.type === 'app_rate_limited') return event.ack()
          await app.processEvent(event)
        })()
        underWay.add(work)
        try {
          await work
        } finally {
          underWay.delete(work)
        }
      }
      // All that a receiver uses of an app is this one function.
      inner.init({ processEvent } as App)
    },
    start: (...args) => inner.start(...args),
    stop: (...args) => inner.stop(...args),
  }
}
