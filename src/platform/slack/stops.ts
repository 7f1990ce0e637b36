import { PlatformError } from '../../shared/errors.ts'
import { createRecent } from '../../shared/recent.ts'
import type { MessageRef, ThreadRef } from '../../shared/thread.ts'
import type { IncomingStop } from '../platform.ts'
import type { SlackCalls } from './calls.ts'
import { type InboundContext, millisOf, refOf, threadRef } from './inbound.ts'

/** Reactions that mean *stop*: 🛑 by both of its names, and ⏹️. */
export const STOP_EMOJI: ReadonlySet<string> = new Set(['octagonal_sign', 'stop_sign', 'black_square_for_stop'])

/** Somebody pressed Slack's own Stop button in a thread in which the bot is at work. */
interface SlackSessionStopped {
  type: 'agent_session_stopped'
  channel: string
  user: string
  thread_ts?: string
  streaming_message_ts?: string[]
  event_ts: string
}

interface SlackReactionAdded {
  type: 'reaction_added'
  user: string
  reaction: string
  item_user?: string
  item: { type: string; channel?: string; ts?: string }
  event_ts: string
}

export type SlackStopEvent = SlackSessionStopped | SlackReactionAdded

export function isStopEvent(event: { type?: string } | undefined): event is SlackStopEvent {
  if (event?.type === 'agent_session_stopped') return true
  return event?.type === 'reaction_added' && STOP_EMOJI.has((event as SlackReactionAdded).reaction)
}

/** The wish to stop a run, or null where the event is none: about something else than a message, or by the bot itself. */
export async function incomingStop(
  event: SlackStopEvent,
  context: InboundContext,
  threads: Threads,
): Promise<IncomingStop | null> {
  const { self, nameOf } = context
  const channel = event.type === 'reaction_added' ? event.item.channel : event.channel
  const ts = event.type === 'reaction_added' ? event.item.ts : event.streaming_message_ts?.[0]
  if (!channel || event.user === self.userId) return null
  const told = event.type === 'agent_session_stopped' ? event.thread_ts : undefined
  const thread = told ? threadRef(self.team, channel, told) : ts ? await threads.of(refOf(channel, ts)) : undefined
  if (!thread) return null
  const isOnPerson = event.type === 'reaction_added' && event.item_user !== self.userId
  return {
    id: `${self.team}:${event.type}:${channel}:${ts ?? told}:${event.user}:${event.event_ts}`,
    thread,
    author: { id: event.user, name: nameOf(event.user) ?? event.user, isBot: false, isExternal: false },
    ...(isOnPerson && { on: refOf(channel, ts!) }),
    at: millisOf(event.event_ts),
  }
}

/** Which thread a message stands in: Slack does not say so with a reaction. */
export interface Threads {
  note(ref: MessageRef, thread: ThreadRef): void
  /** From memory, else Slack is asked. Undefined where it does not tell. */
  of(ref: MessageRef): Promise<ThreadRef | undefined>
}

const REMEMBERED = 5_000

export function createThreads(calls: SlackCalls, team: () => string): Threads {
  const known = createRecent<ThreadRef>(REMEMBERED)
  const keyOf = ({ channel, id }: MessageRef) => `${channel}:${id}`
  return {
    note: (ref, thread) => known.set(keyOf(ref), thread),
    async of(ref) {
      const thread = known.get(keyOf(ref))
      if (thread) return thread
      try {
        const { messages } = await calls.read('conversations.replies', (client) =>
          client.conversations.replies({ channel: ref.channel, ts: ref.id, limit: 1 }),
        )
        const message = messages?.[0]
        return message && threadRef(team(), ref.channel, message.thread_ts ?? message.ts ?? ref.id)
      } catch (error) {
        if (error instanceof PlatformError && error.kind !== 'unavailable' && error.kind !== 'rateLimited') {
          return undefined
        }
        throw error
      }
    },
  }
}
