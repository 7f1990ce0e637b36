import type { ConsoleMessage, ConsoleThread } from '../../shared/consoleView.ts'

/** What the console needs of the store. The program's `Store` fits as it is; all keys begin with `console/`. */
export interface ConsoleStorage {
  get<T>(key: string): Promise<T | undefined>
  getMany<T>(keys: readonly string[]): Promise<(T | undefined)[]>
  set<T>(key: string, value: T, ttlMs?: number): Promise<void>
  putIfAbsent<T>(key: string, value: T, ttlMs?: number): Promise<boolean>
  delete(key: string): Promise<void>
  list(prefix: string, options?: { after?: string; limit?: number }): Promise<string[]>
}

/** What somebody typed, as it waits for its delivery. */
export interface StoredSubmission {
  threadId: string
  messageId: string
  text: string
  at: number
}

/** How long a repeated submission, post or click is recognised: 30 days, longer than any browser tab tries again. */
const REMEMBERED_MS = 30 * 24 * 3600_000

/**
 * The console's threads, messages and files in the store, one key each. A message that is still growing is a preview: its
 * frames are kept in memory, and only what it began as and what it became are written.
 */
export function createShelf(storage: ConsoleStorage) {
  const growing = new Map<string, ConsoleMessage>()

  const threadKey = (id: string) => `console/threads/${id}`
  const messagePrefix = (threadId: string) => `console/messages/${threadId}/`
  const messageKey = (threadId: string, id: string) => messagePrefix(threadId) + id
  const fileKey = (threadId: string, id: string) => `console/files/${threadId}/${id}`
  const submissionKey = (id: string) => `console/submissions/${id}`
  const pendingKey = (id: string) => `console/pending/${id}`

  /** The first caller's value for a key that names something made once; every later caller gets that same value. */
  async function once<T>(key: string, value: T): Promise<T> {
    if (await storage.putIfAbsent(key, value, REMEMBERED_MS)) return value
    return (await storage.get<T>(key)) ?? value
  }

  return {
    async thread(id: string): Promise<ConsoleThread | undefined> {
      const [thread] = threadsOf([await storage.get<StoredThread>(threadKey(id))])
      return thread
    },

    async threads(before: string | undefined, limit: number): Promise<ConsoleThread[]> {
      const after = before === undefined ? {} : { after: threadKey(before) }
      const keys = await storage.list(threadKey(''), { ...after, limit })
      return threadsOf(await storage.getMany<StoredThread>(keys))
    },

    putThread: (thread: ConsoleThread) => storage.set(threadKey(thread.id), thread),

    async message(threadId: string, id: string): Promise<ConsoleMessage | undefined> {
      return growing.get(id) ?? (await storage.get<ConsoleMessage>(messageKey(threadId, id)))
    },

    /** Newest first. */
    async messages(threadId: string, before: string | undefined, limit: number): Promise<ConsoleMessage[]> {
      const after = before === undefined ? {} : { after: messageKey(threadId, before) }
      const keys = await storage.list(messagePrefix(threadId), { ...after, limit })
      const stored = await storage.getMany<ConsoleMessage>(keys)
      return present(stored).map((message) => growing.get(message.id) ?? message)
    },

    async putMessage(threadId: string, message: ConsoleMessage): Promise<void> {
      await storage.set(messageKey(threadId, message.id), message)
      if (!message.live) growing.delete(message.id)
    },

    /** A further frame of a live message. */
    growMessage(message: ConsoleMessage): void {
      growing.set(message.id, message)
    },

    async removeMessage(threadId: string, id: string): Promise<void> {
      growing.delete(id)
      await storage.delete(messageKey(threadId, id))
      await storage.delete(fileKey(threadId, id))
    },

    putFile: (threadId: string, id: string, file: { name: string; base64: string }) =>
      storage.set(fileKey(threadId, id), file),
    file: (threadId: string, id: string) => storage.get<{ name: string; base64: string }>(fileKey(threadId, id)),

    /** The id of the message that a post's idempotency key stands for. */
    postedAs: (threadId: string, hash: string, id: string) => once(`console/posts/${threadId}/${hash}`, id),
    /** The thread and message that an `open` with this key stands for. */
    openedAs: (hash: string, ids: { threadId: string; messageId: string }) => once(`console/opens/${hash}`, ids),

    /** Notes what was typed before anything is done about it, so that a crash on the way loses nothing. */
    async begin(id: string, submission: StoredSubmission): Promise<StoredSubmission> {
      await storage.set(pendingKey(id), true)
      return once(submissionKey(id), submission)
    },
    submission: (id: string) => storage.get<StoredSubmission>(submissionKey(id)),
    delivered: (id: string) => storage.delete(pendingKey(id)),
    async undelivered(): Promise<string[]> {
      const keys = await storage.list(pendingKey(''))
      return keys.map((key) => key.slice(pendingKey('').length))
    },
  }
}

export type Shelf = ReturnType<typeof createShelf>

/** A thread as it is stored; those of before there were cards don't say that nothing waits in them. */
type StoredThread = Omit<ConsoleThread, 'waiting'> & Partial<Pick<ConsoleThread, 'waiting'>>

function threadsOf(stored: readonly (StoredThread | undefined)[]): ConsoleThread[] {
  return present(stored).map((thread) => ({ waiting: [], ...thread }))
}

function present<T>(values: readonly (T | undefined)[]): T[] {
  return values.filter((value) => value !== undefined)
}
