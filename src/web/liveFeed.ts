import type { ConsoleBackend, ConsoleChange } from '../shared/consoleView.ts'
import { viewOf, whisperView } from './messageView.ts'

/** One Server-Sent Event. */
export interface FeedEvent {
  event: string
  data: unknown
}

/** How many threads and messages a page begins with; older ones are asked for. */
export const THREADS_AT_ONCE = 100
export const MESSAGES_AT_ONCE = 100

/**
 * What one page sees, as a stream that begins with the whole picture and goes on with what changes. A page that was cut off
 * opens a new stream and is right again, so nothing has to be replayed.
 *
 * A page that reads slowly gets fewer frames, never an old one after a newer: changes of the same thing that wait are
 * replaced by the latest.
 */
export async function* liveFeed(
  backend: ConsoleBackend,
  threadId: string | null,
  signal: AbortSignal,
): AsyncGenerator<FeedEvent, void> {
  const waiting = new Map<unknown, ConsoleChange>()
  let wake = () => {}
  const nudge = () => wake()
  const unsubscribe = backend.subscribe((change) => {
    if (change.type !== 'thread' && change.threadId !== threadId && change.threadId !== null) return
    const subject = subjectOf(change)
    waiting.delete(subject)
    waiting.set(subject, change)
    wake()
  })
  signal.addEventListener('abort', nudge)
  try {
    // Subscribed first: what changes while the picture is taken comes after it, and revisions keep the order.
    yield { event: 'snapshot', data: await snapshotOf(backend, threadId) }
    while (!signal.aborted) {
      if (waiting.size === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      for (const [subject, change] of [...waiting]) {
        waiting.delete(subject)
        yield eventOf(change)
      }
    }
  } finally {
    unsubscribe()
    signal.removeEventListener('abort', nudge)
  }
}

async function snapshotOf(backend: ConsoleBackend, threadId: string | null) {
  const threads = await backend.threads({ limit: THREADS_AT_ONCE })
  const thread = threadId === null ? undefined : await backend.thread(threadId)
  if (!thread) return { threads, thread: null, messages: [], more: false, status: null, whispers: [] }
  const { messages, more } = await backend.messages(thread.id, { limit: MESSAGES_AT_ONCE })
  const whispers = backend.whispers(thread.id).map(whisperView)
  return { threads, thread, messages: messages.map(viewOf), more, status: backend.status(thread.id), whispers }
}

/** Of two changes with the same subject only the later one matters. Every whisper is a subject of its own. */
function subjectOf(change: ConsoleChange): unknown {
  switch (change.type) {
    case 'thread':
      return `thread ${change.thread.id}`
    case 'message':
      return `message ${change.message.id}`
    case 'removed':
      return `message ${change.messageId}`
    case 'status':
      return 'status'
    case 'whisper':
      return change
  }
}

function eventOf(change: ConsoleChange): FeedEvent {
  switch (change.type) {
    case 'thread':
      return { event: 'thread', data: change.thread }
    case 'message':
      return { event: 'message', data: viewOf(change.message) }
    case 'removed':
      return { event: 'removed', data: { id: change.messageId } }
    case 'status':
      return { event: 'status', data: change.status }
    case 'whisper':
      return { event: 'whisper', data: whisperView(change.whisper) }
  }
}
