import { type ThreadRef, threadKey } from '../shared/thread.ts'
import { mirrorKeys } from './keys.ts'
import type { Store } from './store.ts'

/** Which thread shows the cards of another one, too: the console's, for what other platforms' dialogs can't hold. */
export interface Mirrors {
  /** The thread whose calls are shown in this one; `undefined` for a thread of its own. */
  homeOf(mirror: ThreadRef): Promise<ThreadRef | undefined>
  mirrorOf(home: ThreadRef): Promise<ThreadRef | undefined>
  /** Kept for good; a second link of the same threads changes nothing. */
  link(home: ThreadRef, mirror: ThreadRef): Promise<void>
}

export function createMirrors(store: Store): Mirrors {
  return {
    homeOf: (mirror) => store.get<ThreadRef>(mirrorKeys.home(threadKey(mirror))),
    mirrorOf: (home) => store.get<ThreadRef>(mirrorKeys.mirror(threadKey(home))),
    async link(home, mirror) {
      // The way back first: a card that people can press has to lead somewhere.
      await store.putIfAbsent(mirrorKeys.home(threadKey(mirror)), home)
      await store.putIfAbsent(mirrorKeys.mirror(threadKey(home)), mirror)
    },
  }
}
