import type { ActivityLevel } from '../shared/activityLevel.ts'
import type { PersonName } from './approvalTypes.ts'
import { activityKey } from './keys.ts'
import type { Store } from './store.ts'

/** How much of the work with tools people want to see in a thread, where they have said so. Kept until they say otherwise. */
export interface ActivityLevels {
  of(thread: string): Promise<ActivityLevel | undefined>
  set(thread: string, level: ActivityLevel, by: PersonName): Promise<void>
}

interface Entry {
  v: 1
  at: number
  by: PersonName
  level: ActivityLevel
}

export function createActivityLevels(store: Store, now: () => number = Date.now): ActivityLevels {
  return {
    of: async (thread) => (await store.get<Entry>(activityKey(thread)))?.level,
    set: (thread, level, by) => store.set<Entry>(activityKey(thread), { v: 1, at: now(), by, level }),
  }
}
