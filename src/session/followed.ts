import type { FollowedThread } from '../platform/platform.ts'
import { type MessageRef, type PlatformName, type ThreadRef, threadKey } from '../shared/thread.ts'
import { createTurns } from '../shared/turns.ts'
import { threadKeys } from './keys.ts'
import { createRecency, type Recency } from './recency.ts'
import type { Store } from './store.ts'

/** Remembers, per thread, the newest message of a person that was delivered, so that a platform can catch up from there. */
export interface Followed {
  /** Never goes back: an older message than the one known changes nothing. */
  noteSeen(thread: ThreadRef, ref: MessageRef): Promise<void>
  /** At most `limit` (default 200) threads of the platform, those with the newest messages first. */
  followed(platform: PlatformName, limit?: number): Promise<FollowedThread[]>
}

const DEFAULT_LIMIT = 200

export function createFollowed(store: Store, now: () => number = Date.now): Followed {
  const inTurn = createTurns()
  const recencies = new Map<PlatformName, Recency>()

  const recencyOf = (platform: PlatformName): Recency => {
    const recency = recencies.get(platform) ?? createRecency(store, platform)
    recencies.set(platform, recency)
    return recency
  }

  return {
    noteSeen(thread, ref) {
      const key = threadKey(thread)
      return inTurn(key, async () => {
        const known = await store.get<FollowedThread>(threadKeys.seen(key))
        if (known && !isLater(ref.id, known.lastSeen.id)) return
        await recencyOf(thread.platform).touch(key, now())
        await store.set<FollowedThread>(threadKeys.seen(key), { thread, lastSeen: ref })
      })
    },

    async followed(platform, limit = DEFAULT_LIMIT) {
      const threads: FollowedThread[] = []
      if (limit < 1) return threads
      for await (const key of recencyOf(platform).newest()) {
        const entry = await store.get<FollowedThread>(threadKeys.seen(key))
        if (entry !== undefined) threads.push(entry)
        if (threads.length >= limit) break
      }
      return threads
    },
  }
}

/** Ids of messages grow with time as numbers: Slack's `SECONDS.MICROS`, Discord's snowflakes. A longer one is a larger one. */
function isLater(id: string, than: string): boolean {
  return id.length === than.length ? id > than : id.length > than.length
}
