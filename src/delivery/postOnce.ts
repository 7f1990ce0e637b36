import type { ChatPlatform, MessageBody } from '../platform/platform.ts'
import type { MessageRef, ThreadRef } from '../shared/thread.ts'
import type { EditScheduler, Sending } from './editScheduler.ts'
import type { Outbox, OutboxEntry } from './outbox.ts'
import type { Patience } from './patience.ts'
import { type Urgency, urgencyOf } from './urgency.ts'

export interface PostParts {
  platform: ChatPlatform
  thread: ThreadRef
  outbox: Outbox
  edits: EditScheduler
  patience: Patience
}

export interface Posted {
  ref: MessageRef
  body: MessageBody
  /** False where an earlier attempt may have left the message, with another text. */
  isNew: boolean
}

/**
 * Posts a message that the outbox knows at most as intended, once, however often it is tried: the intent is stored before
 * the call and the reference after it. `body` is asked when the budget allows the post; `null`: there is nothing to post
 * any more. `onSending` is told of each attempt, so that one that waits can be taken back.
 */
export type PostOnce = (
  key: string,
  entry: OutboxEntry | undefined,
  body: () => MessageBody | null,
  onSending?: (sending: Sending<MessageRef>) => void,
) => Promise<Posted | null>

export function createPostOnce({ platform, thread, outbox, edits, patience }: PostParts): PostOnce {
  return async (key, entry, body, onSending) => {
    let sent: MessageBody | null = null
    let isNew = entry === undefined
    let isIntended = !isNew
    const ref = await patience.persist((inDoubt) => {
      if (inDoubt) isNew = false
      const sending = edits.send({ method: 'post', thread, urgency: urgencyOfNext(body) }, () => {
        const next = body()
        if (!next) return null
        sent = next
        return async () => {
          if (!isIntended) await outbox.intend(key)
          isIntended = true
          return platform.post(thread, next, { key, ...(!isNew && { inDoubt: true }) })
        }
      })
      onSending?.(sending)
      return sending.done
    }, PACED)
    if (!ref || !sent) return null
    await outbox.posted(key, ref)
    return { ref, body: sent, isNew }
  }
}

/** The key of the next message in the place of this one, with what is known of it, and the latest that was posted there before. */
export async function successorOf(key: string, outbox: Outbox) {
  let latest: MessageRef | null = null
  for (let number = 2, latestKey = key; ; number++) {
    const again = `${key}~${number}`
    const entry = await outbox.find(again)
    if (!entry || entry.state === 'intended') return { again, entry, latest, latestKey }
    latest = entry.ref
    latestKey = again
  }
}

const PACED = { paced: true }

function urgencyOfNext(body: () => MessageBody | null): Urgency {
  const next = body()
  return next ? urgencyOf(next) : 'live'
}
