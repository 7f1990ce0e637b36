import { PlatformError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { MessageRef, Person, ThreadRef } from '../../shared/thread.ts'
import type { History, PastMessage } from '../platform.ts'
import type { SlackCalls } from './calls.ts'
import { type Identity, millisOf, refOf, rootOf } from './inbound.ts'
import { decodeText } from './inboundText.ts'

const PAGE = 200

interface PastSlackMessage {
  ts?: string
  subtype?: string
  user?: string
  bot_id?: string
  username?: string
  bot_profile?: { name?: string }
  text?: string
}

/** Messages without anything that somebody said: deleted ones, and the root of Slack's old assistant pane. */
const SILENT = new Set(['tombstone', 'assistant_app_thread'])

export interface HistoryReader {
  calls: SlackCalls
  log: Log
  self: Identity
  person(id: string): Promise<Person>
}

/**
 * The thread's first message and the newest ones before `before`, together at most `limit`.
 * Slack hands a thread out from its oldest message on, so every page is read, and only what is needed is kept
 * (case TH-05); one call a page of 200. Where the bot may not read, or the thread is gone, there is no history, and the
 * log says why.
 */
export async function readHistory(
  reader: HistoryReader,
  thread: ThreadRef,
  before: MessageRef | null,
  limit: number,
): Promise<History> {
  try {
    return await readPages(reader, thread, before, limit)
  } catch (error) {
    if (!(error instanceof PlatformError) || (error.kind !== 'forbidden' && error.kind !== 'notFound')) throw error
    reader.log.warn({ reason: error.message, mend: error.mend, thread: thread.id }, 'the thread could not be read')
    return { messages: [], cut: true }
  }
}

async function readPages(
  reader: HistoryReader,
  thread: ThreadRef,
  before: MessageRef | null,
  limit: number,
): Promise<History> {
  const root = rootOf(thread)
  let first: PastSlackMessage | undefined
  let newest: PastSlackMessage[] = []
  let cut = false
  let cursor: string | undefined
  do {
    const answer = await reader.calls.read('conversations.replies', (client) =>
      client.conversations.replies({
        channel: thread.channel,
        ts: root,
        limit: PAGE,
        ...(before && { latest: before.id, inclusive: false }),
        ...(cursor && { cursor }),
      }),
    )
    for (const message of (answer.messages ?? []) as PastSlackMessage[]) {
      if (!message.ts || SILENT.has(message.subtype ?? '')) continue
      // The root comes with every page, whatever the bounds are.
      if (before && message.ts >= before.id) continue
      if (message.ts === root) first = message
      else newest.push(message)
    }
    cursor = answer.response_metadata?.next_cursor
    const room = Math.max(0, limit - (first ? 1 : 0))
    if (newest.length > room) {
      newest = newest.slice(newest.length - room)
      cut = true
    }
  } while (cursor)
  const kept = [...(first && limit > 0 ? [first] : []), ...newest]
  return { messages: await Promise.all(kept.map((message) => pastMessage(reader, thread, message))), cut }
}

async function pastMessage(
  { self, person }: HistoryReader,
  thread: ThreadRef,
  message: PastSlackMessage,
): Promise<PastMessage> {
  const id = message.user ?? message.bot_id ?? 'unknown'
  const isSelf = id === self.userId || message.bot_id === self.botId
  const isBot = isSelf || message.bot_id !== undefined || message.subtype === 'bot_message'
  const told = isSelf ? self.name : (message.bot_profile?.name ?? message.username)
  const name = told ?? (isBot ? id : ((await person(id).catch(() => undefined))?.name ?? id))
  const names = await namesIn(message.text ?? '', self.userId, person)
  return {
    ref: refOf(thread.channel, message.ts!),
    author: { id, name, isBot, isSelf },
    text: decodeText(message.text ?? '', { bot: self.userId, nameOf: (mentioned) => names.get(mentioned) }),
    at: millisOf(message.ts!),
  }
}

async function namesIn(text: string, bot: string, person: HistoryReader['person']): Promise<Map<string, string>> {
  const ids = new Set([...text.matchAll(/<@([UW][A-Z0-9]+)[|>]/g)].map(([, id]) => id!))
  ids.delete(bot)
  const names = new Map<string, string>()
  await Promise.all(
    [...ids].map(async (id) => {
      const known = await person(id).catch(() => undefined)
      if (known) names.set(id, known.name)
    }),
  )
  return names
}
