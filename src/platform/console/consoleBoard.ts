import type {
  ConsoleChange,
  ConsoleMessage,
  ConsoleStatus,
  ConsoleThread,
  ConsoleWhisper,
} from '../../shared/consoleView.ts'
import { createTurns } from '../../shared/turns.ts'
import type { Shelf } from './consoleShelf.ts'
import { titleOf } from './consoleTitle.ts'

/** As long as a typing sign on the other platforms; `status` is renewed more often than that. */
const STATUS_MS = 15_000
/** How long a whisper waits for the page that it is meant for. */
const WHISPER_MS = 10_000
/** Words with buttons ask for something: they wait for whoever comes to the thread a little later, too. */
const ASKING_WHISPER_MS = 10 * 60_000

export type Board = ReturnType<typeof createBoard>

/**
 * The threads as people see them: every change is written first, then told to whoever looks on. What concerns one thread
 * happens one after the other, because a message is read, changed and written back whole.
 */
export function createBoard(shelf: Shelf, now: () => number) {
  const listeners = new Set<(change: ConsoleChange) => void>()
  const statuses = new Map<string, ConsoleStatus>()
  let whispers: { threadId: string | null; until: number; whisper: ConsoleWhisper }[] = []
  const inTurn = createTurns()

  function tell(change: ConsoleChange): void {
    for (const listener of listeners) listener(change)
  }

  /** Makes the thread known at its first message and moves it up at every later one. */
  async function touch(threadId: string, message: ConsoleMessage): Promise<void> {
    const { at, markdown } = message
    const known = await shelf.thread(threadId)
    const thread = known
      ? { ...known, lastAt: Math.max(known.lastAt, at) }
      : { id: threadId, title: titleOf(markdown), createdAt: at, lastAt: at, waiting: [] }
    await list(waitsFor(message) ? withWaiting(thread, message.id, true) : thread)
  }

  /** Noted with every change and not only with the one that matters: so the list mends itself after a crash in between. */
  async function noteWaiting(threadId: string, messageId: string, waits: boolean): Promise<void> {
    const thread = await shelf.thread(threadId)
    if (thread && thread.waiting.includes(messageId) !== waits) await list(withWaiting(thread, messageId, waits))
  }

  async function list(thread: ConsoleThread): Promise<void> {
    await shelf.putThread(thread)
    tell({ type: 'thread', thread })
  }

  return {
    /** False when nobody looks on. */
    whisper(threadId: string | null, whisper: ConsoleWhisper): boolean {
      whispers = whispers.filter(({ until }) => until > now())
      whispers.push({ threadId, whisper, until: now() + (whisper.buttons?.length ? ASKING_WHISPER_MS : WHISPER_MS) })
      tell({ type: 'whisper', threadId, whisper })
      return listeners.size > 0
    },

    whispers: (threadId: string): ConsoleWhisper[] =>
      whispers.filter((one) => one.threadId === threadId && one.until > now()).map(({ whisper }) => whisper),

    /** Puts up a message unless its id is there already. */
    place: (threadId: string, message: ConsoleMessage): Promise<void> =>
      inTurn(threadId, async () => {
        if (await shelf.message(threadId, message.id)) return
        await touch(threadId, message)
        await shelf.putMessage(threadId, message)
        tell({ type: 'message', threadId, message })
      }),

    /** Changes a message; false when it is not there. Frames of a live message stay in memory. */
    change: (threadId: string, id: string, alter: (message: ConsoleMessage) => ConsoleMessage): Promise<boolean> =>
      inTurn(threadId, async () => {
        const old = await shelf.message(threadId, id)
        if (!old) return false
        const message = { ...alter(old), rev: old.rev + 1 }
        const isFrame = message.live && old.live
        if (isFrame) shelf.growMessage(message)
        else await shelf.putMessage(threadId, message)
        tell({ type: 'message', threadId, message })
        if (!isFrame) await noteWaiting(threadId, id, waitsFor(message))
        return true
      }),

    remove: (threadId: string, messageId: string): Promise<void> =>
      inTurn(threadId, async () => {
        await shelf.removeMessage(threadId, messageId)
        tell({ type: 'removed', threadId, messageId })
        await noteWaiting(threadId, messageId, false)
      }),

    setStatus(threadId: string, text: string | null): void {
      const status = text === null ? null : { text, until: now() + STATUS_MS }
      if (status) statuses.set(threadId, status)
      else statuses.delete(threadId)
      tell({ type: 'status', threadId, status })
    },

    status(threadId: string): ConsoleStatus | null {
      const status = statuses.get(threadId)
      return status && status.until > now() ? status : null
    },

    subscribe(listener: (change: ConsoleChange) => void): () => void {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
  }
}

/** A card that can still be decided, or something said that is held up by a decision. */
function waitsFor({ kind, buttons, reaction }: ConsoleMessage): boolean {
  return reaction === 'waiting' || (kind === 'card' && buttons.length > 0)
}

function withWaiting(thread: ConsoleThread, messageId: string, waits: boolean): ConsoleThread {
  const others = thread.waiting.filter((id) => id !== messageId)
  return { ...thread, waiting: waits ? [...others, messageId] : others }
}
