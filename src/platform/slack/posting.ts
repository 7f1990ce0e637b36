import { createHash } from 'node:crypto'
import { PlatformError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { MessageRef, ThreadRef } from '../../shared/thread.ts'
import type { MessageBody, Place, PostOptions } from '../platform.ts'
import type { SlackCalls } from './calls.ts'
import { type Identity, refOf, rootOf, threadRef } from './inbound.ts'
import { NO_NAMES, type Payload } from './payload.ts'
import { slackCodeOf } from './slackErrors.ts'
import { createTaskCards } from './taskCards.ts'

/** The type of the metadata that carries the idempotency key. Any app of the workspace can read it: it is a hash. */
export const KEY_EVENT = 'toycoder_message'
/** How far back an opening message is looked for in its channel: this many pages of 200. */
const CHANNEL_PAGES = 5

export interface Posting {
  open(place: Place, body: MessageBody, options: PostOptions): Promise<{ thread: ThreadRef; ref: MessageRef }>
  post(thread: ThreadRef, body: MessageBody, options: PostOptions): Promise<MessageRef>
  edit(ref: MessageRef, body: MessageBody): Promise<void>
  remove(ref: MessageRef): Promise<void>
}

/**
 * Posts that are made once. Slack has no idempotency argument, so the key travels in the message's metadata, and wherever
 * an earlier attempt may have taken effect the thread is read for it.
 *
 * The window that remains: a request that failed for us and is carried out by Slack only after the thread was read.
 */
export function createPosting(calls: SlackCalls, self: () => Identity, log: Log): Posting {
  const cards = createTaskCards(log)

  async function send(channel: string, root: string | undefined, payload: Payload, key: string): Promise<MessageRef> {
    const answer = await calls.write('chat.postMessage', (client) =>
      client.chat.postMessage({
        channel,
        ...(root && { thread_ts: root }),
        ...payload,
        // Links in answers would sprout previews, each a change of the message.
        unfurl_links: false,
        unfurl_media: false,
        ...NO_NAMES,
        metadata: keyMark(key),
      }),
    )
    return refOf(answer.channel ?? channel, answer.ts!)
  }

  /** Looks before it sends if in doubt, and after it failed in a way that leaves the outcome open. */
  async function once(
    channel: string,
    root: string | undefined,
    body: MessageBody,
    { key, inDoubt }: PostOptions,
  ): Promise<MessageRef> {
    if (inDoubt) {
      const found = await find(channel, root, key).catch((error) => {
        throw stillInDoubt(error)
      })
      if (found) return found
    }
    try {
      return await cards.send(body, undefined, (payload) => send(channel, root, payload, key))
    } catch (error) {
      if (!(error instanceof PlatformError) || !error.uncertain) throw error
      const found = await find(channel, root, key).catch(() => undefined)
      if (found) return found
      throw error
    }
  }

  /** The message that carries the key: in the whole thread, or among the latest of the channel. */
  async function find(channel: string, root: string | undefined, key: string): Promise<MessageRef | undefined> {
    const wanted = hash(key)
    let cursor: string | undefined
    for (let page = 0; root !== undefined || page < CHANNEL_PAGES; page++) {
      const query = { channel, include_all_metadata: true, limit: 200, ...(cursor && { cursor }) }
      const answer = root
        ? await calls.read('conversations.replies', (client) => client.conversations.replies({ ...query, ts: root }))
        : await calls.read('conversations.history', (client) => client.conversations.history(query))
      const found = answer.messages?.find(({ metadata, bot_id: author }) => {
        const payload = metadata?.event_payload as { key?: string } | undefined
        return metadata?.event_type === KEY_EVENT && payload?.key === wanted && author === self().botId
      })
      if (found) return refOf(channel, found.ts!)
      cursor = answer.response_metadata?.next_cursor
      if (!cursor) return undefined
    }
    return undefined
  }

  async function replace(ref: MessageRef, { text, blocks }: Payload): Promise<MessageRef> {
    const update = () =>
      calls.write('chat.update', (client) =>
        client.chat.update({ channel: ref.channel, ts: ref.id, text, blocks, ...NO_NAMES }),
      )
    try {
      await update()
    } catch (error) {
      // A stream that an earlier process began, or whose end failed.
      if (slackCodeOf(error) !== 'streaming_state_conflict') throw error
      await closeStream(calls, ref)
      await update()
    }
    return ref
  }

  return {
    async open(place, body, options) {
      const ref = await once(place.channel, undefined, body, options)
      return { thread: threadRef(place.account, ref.channel, ref.id), ref }
    },
    post: (thread, body, options) => once(thread.channel, rootOf(thread), body, options),
    async edit(ref, body) {
      await cards.send(body, ref, (payload) => replace(ref, payload))
    },
    async remove(ref) {
      try {
        await calls.write('chat.delete', (client) => client.chat.delete({ channel: ref.channel, ts: ref.id }))
      } catch (error) {
        if (!(error instanceof PlatformError) || error.kind !== 'notFound') throw error
      }
    },
  }
}

/** Ends a stream as it is. One that has ended already is fine. */
async function closeStream(calls: SlackCalls, ref: MessageRef): Promise<void> {
  try {
    await calls.write('chat.stopStream', (client) => client.chat.stopStream({ channel: ref.channel, ts: ref.id }))
  } catch (error) {
    if (!ENDED.has(slackCodeOf(error) ?? '')) throw error
  }
}

const ENDED = new Set(['message_not_in_streaming_state', 'stopped_by_user'])

/** What a message carries, so that it is found again by its key. */
export function keyMark(key: string) {
  return { event_type: KEY_EVENT, event_payload: { key: hash(key) } }
}

/** The thread could not be read, so whether the message is there is as open as before. */
function stillInDoubt(error: unknown): unknown {
  if (!(error instanceof PlatformError) || error.kind === 'notFound') return error
  const { kind, code, message, retryAfterMs, mend } = error
  return new PlatformError(kind, code, message, {
    uncertain: true,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(mend !== undefined && { mend }),
    cause: error,
  })
}

function hash(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, 32)
}
