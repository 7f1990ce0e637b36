import type { MessageBody } from '../platform/platform.ts'
import type { MessageRef, ThreadRef } from '../shared/thread.ts'
import { readAll } from './entries.ts'
import { cutsKey, leftoverKeys, outboxKey } from './keys.ts'
import type { Store } from './store.ts'

type Entry = { state: 'intended' } | { state: 'posted' | 'settled'; ref: MessageRef }
type Cuts = { length: number; cuts: readonly { from: number; at: number; closed: string; next: string }[] }
type Leftover = { key: string; thread: ThreadRef; ref: MessageRef; body: MessageBody | null; isTwice?: boolean }

/**
 * Delivery's outbox over a store: what `delivery/outbox.ts` asks for (a test holds the two together; the rooms don't import
 * each other). `threadKey` keeps the keys of one thread apart from all others.
 */
export function createOutbox(store: Store, threadKey = '') {
  const at = (key: string) => outboxKey(threadKey, key)
  return {
    find: (key: string): Promise<Entry | undefined> => store.get<Entry>(at(key)),

    /** Keeps what is known already: an intent never hides a reference. */
    async intend(key: string): Promise<void> {
      await store.putIfAbsent<Entry>(at(key), { state: 'intended' })
    },

    async posted(key: string, ref: MessageRef): Promise<void> {
      await store.set<Entry>(at(key), { state: 'posted', ref })
    },

    async settled(key: string): Promise<void> {
      const entry = await store.get<Entry>(at(key))
      if (entry === undefined || entry.state === 'intended')
        throw new Error(`${key} was settled without having been posted`)
      await store.set<Entry>(at(key), { state: 'settled', ref: entry.ref })
    },

    forget: (key: string): Promise<void> => store.delete(at(key)),

    cut: (key: string, cuts: Cuts): Promise<void> => store.set<Cuts>(cutsKey(threadKey, key), cuts),
    cuts: (key: string): Promise<Cuts | undefined> => store.get<Cuts>(cutsKey(threadKey, key)),

    leave: (one: Leftover): Promise<void> => store.set<Leftover>(leftoverKeys.message(threadKey, one.key), one),
    leftover: (key: string) => store.get<Leftover>(leftoverKeys.message(threadKey, key)),
    tidied: (key: string): Promise<void> => store.delete(leftoverKeys.message(threadKey, key)),

    async leftovers(): Promise<Leftover[]> {
      const found = await readAll<Leftover>(store, leftoverKeys.all(threadKey))
      return found.map(([, one]) => one)
    },
  }
}
