import { blocksBelow, printSlack } from '../../render/slack.ts'
import type { Log } from '../../shared/log.ts'
import type { ThreadRef } from '../../shared/thread.ts'
import type { Streaming } from '../platform.ts'
import type { SlackCalls } from './calls.ts'
import { type Identity, refOf, rootOf } from './inbound.ts'
import { KEY_EVENT, keyMark } from './posting.ts'
import type { Sessions } from './sessions.ts'
import { isNotToBeHad, slackCodeOf } from './slackErrors.ts'

/**
 * - `dm`: in direct messages, where everybody who reads along sees the text grow
 * - `always`: in channels too, where it grows before the person who asked, and others see it when it is whole
 * - `never`: texts grow by edits
 */
export type SlackStreaming = 'dm' | 'always' | 'never'

export interface StreamingParts {
  calls: SlackCalls
  self(): Identity
  mode: SlackStreaming
  /** The person of our workspace whom the thread's next text is for, where that is known. */
  readerOf(thread: ThreadRef): string | undefined
  sessions: Sessions
  log: Log
}

/** Slack ends a stream after about five minutes. */
const LONGEST_MS = 4 * 60_000
/** Streams were refused from 10.3 kB on; bytes of UTF-8. */
const MOST_BYTES = 9_000
/** `chat.appendStream` has 100 calls a minute. */
const INTERVAL_MS = 600

/** Refusals that hold for the channel. */
const NOT_HERE = new Set(['channel_type_not_supported', 'missing_recipient_user_id', 'missing_recipient_team_id'])

/**
 * Slack's native streams by plain calls: the client's own helper makes several streams of one where calls overlap, and
 * sends text again after a failure that leaves the outcome open.
 */
export function createStreaming({ calls, self, mode, readerOf, sessions, log }: StreamingParts): Streaming {
  const refusedIn = new Set<string>()
  let isRefused = mode === 'never'

  const isDirect = ({ channel }: ThreadRef) => channel.startsWith('D')

  function noteRefusal(error: unknown, { channel }: ThreadRef): void {
    const code = slackCodeOf(error) ?? ''
    if (isNotToBeHad(code)) {
      isRefused = true
      log.info({ code }, 'Slack streams no texts of this app; they grow by edits')
    } else if (NOT_HERE.has(code)) {
      refusedIn.add(channel)
      log.info({ code, channel }, 'Slack streams no texts in this channel; they grow by edits')
    }
  }

  return {
    isOffered(thread) {
      if (isRefused || refusedIn.has(thread.channel)) return false
      return isDirect(thread) || (mode === 'always' && readerOf(thread) !== undefined)
    },
    longestMs: LONGEST_MS,
    most: MOST_BYTES,
    weight: (text) => Buffer.byteLength(text),
    intervalMs: INTERVAL_MS,
    print: (markdown) => printSlack(markdown),

    async start(thread, text) {
      const reader = isDirect(thread) ? undefined : readerOf(thread)
      try {
        const answer = await calls.write('chat.startStream', (client) =>
          client.chat.startStream({
            channel: thread.channel,
            thread_ts: rootOf(thread),
            markdown_text: text,
            ...(reader && { recipient_user_id: reader, recipient_team_id: self().team }),
          }),
        )
        return refOf(answer.channel ?? thread.channel, answer.ts!)
      } catch (error) {
        noteRefusal(error, thread)
        throw error
      }
    },

    async add(_thread, ref, text) {
      await calls.write('chat.appendStream', (client) =>
        client.chat.appendStream({ channel: ref.channel, ts: ref.id, markdown_text: text }),
      )
    },

    async end(thread, ref, { text, key, ...below }) {
      const blocks = blocksBelow(below)
      await calls.write('chat.stopStream', (client) =>
        client.chat.stopStream({
          channel: ref.channel,
          ts: ref.id,
          ...(text && { markdown_text: text }),
          ...(blocks.length > 0 && { blocks }),
          metadata: keyMark(key),
          session_status: sessions.afterStream(thread),
        }),
      )
    },

    /** A stream carries no key before its end: it is ours, unmarked, without files, and was never edited. */
    async findLost(thread, known) {
      let found: string | undefined
      let cursor: string | undefined
      do {
        const answer = await calls.read('conversations.replies', (client) =>
          client.conversations.replies({
            channel: thread.channel,
            ts: rootOf(thread),
            include_all_metadata: true,
            limit: 200,
            ...(cursor && { cursor }),
          }),
        )
        const lost = answer.messages?.findLast(
          ({ ts, bot_id: author, metadata, files, edited }) =>
            author === self().botId &&
            metadata?.event_type !== KEY_EVENT &&
            !files?.length &&
            !edited &&
            !known.some(({ id }) => id === ts),
        )
        found = lost?.ts ?? found
        cursor = answer.response_metadata?.next_cursor
      } while (cursor)
      return found ? refOf(thread.channel, found) : null
    },
  }
}
