import type { ConsoleChange, ConsoleMessage, ConsoleStatus, ConsoleWhisper } from '../../shared/consoleView.ts'
import type { Shelf } from './consoleShelf.ts'
import { titleOf } from './consoleTitle.ts'

/** As long as a typing sign on the other platforms; `status` is renewed more often than that. */
const STATUS_MS = 15_000
/** How long a whisper waits for the page that it is meant for. */
const WHISPER_MS = 10_000

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
  async function touch(threadId: string, { at, markdown }: ConsoleMessage): Promise<void> {
    const known = await shelf.thread(threadId)
    const thread = known
      ? { ...known, lastAt: Math.max(known.lastAt, at) }
      : { id: threadId, title: titleOf(markdown), createdAt: at, lastAt: at }
    await shelf.putThread(thread)
    tell({ type: 'thread', thread })
  }

  return {
    /** False when nobody looks on. */
    whisper(threadId: string | null, whisper: ConsoleWhisper): boolean {
      whispers = whispers.filter(({ until }) => until > now())
      whispers.push({ threadId, whisper, until: now() + WHISPER_MS })
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
        if (message.live && old.live) shelf.growMessage(message)
        else await shelf.putMessage(threadId, message)
        tell({ type: 'message', threadId, message })
        return true
      }),

    remove: (threadId: string, messageId: string): Promise<void> =>
      inTurn(threadId, async () => {
        await shelf.removeMessage(threadId, messageId)
        tell({ type: 'removed', threadId, messageId })
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

function createTurns() {
  const last = new Map<string, Promise<unknown>>()
  return function inTurn<T>(threadId: string, work: () => Promise<T>): Promise<T> {
    const turn = (last.get(threadId) ?? Promise.resolve()).then(work, work)
    last.set(threadId, turn)
    const leave = () => {
      if (last.get(threadId) === turn) last.delete(threadId)
    }
    turn.then(leave, leave)
    return turn
  }
}
