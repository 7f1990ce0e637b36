import { randomBytes } from 'node:crypto'
import type { ResultKeeper } from '../tool/resultKeeper.ts'
import { resultKey } from './keys.ts'
import type { Store } from './store.ts'

/** How long a whole result can be paged through; the record keeps what the model was shown, for ever. */
const KEEP_MS = 30 * 24 * 3_600_000

/** Keeps long results of tools as values of their own, beside the records of their thread and found from there only. */
export function createResultKeeper(store: Store): ResultKeeper {
  return {
    async keep(text, { threadKey }) {
      const id = randomBytes(5).toString('hex')
      await store.set(resultKey(threadKey, id), text, KEEP_MS)
      return id
    },
    read: (id, { threadKey }) => store.get<string>(resultKey(threadKey, id)),
  }
}
