import { createApprovals } from './approvals.ts'
import { openKeys, parkedKeys, threadKeys } from './keys.ts'
import { newestOf } from './recency.ts'
import type { Parked } from './scheduler/failures.ts'
import type { Store } from './store.ts'
import type { ThreadHead } from './thread.ts'

export interface ListedThread {
  thread: string
  title: string
  /** Milliseconds since the epoch. */
  createdAt: number
  /**
   * `parked`: its runs failed again and again, and it is left alone until somebody writes in it or frees it. `waiting`:
   * calls wait for people. `working`: something is under way or about to be. `idle`: everything is answered.
   */
  state: 'parked' | 'waiting' | 'working' | 'idle'
  /** Since when, in milliseconds since the epoch, and why; of a parked one. */
  parked?: { at: number; error: string }
}

/** The threads of a store, those in which a person spoke last first. Only reads, so it works beside the bot. */
export async function* listThreads(store: Store): AsyncGenerator<ListedThread> {
  for await (const thread of newestOf(store, 'threads')) {
    const [head, parked] = await store.getMany([threadKeys.head(thread), parkedKeys.thread(thread)])
    if (head === undefined) continue
    const { title, createdAt } = head as ThreadHead
    if (parked === undefined) yield { thread, title, createdAt, state: await stateOf(store, thread) }
    else {
      const { at, error } = parked as Parked
      yield { thread, title, createdAt, state: 'parked', parked: { at, error } }
    }
  }
}

async function stateOf(store: Store, thread: string): Promise<ListedThread['state']> {
  const [work] = await store.list(openKeys.thread(thread), { limit: 1 })
  if (work !== undefined) return 'working'
  return (await createApprovals(store).open(thread)).length > 0 ? 'waiting' : 'idle'
}
