import { importKey } from './session/keys.ts'
import { openStore } from './session/openStore.ts'
import type { Store } from './session/store.ts'
import type { Log } from './shared/log.ts'
import { unfinishedImport } from './transferCommands.ts'

/**
 * The store for a bot. Rejects with `SetupError` as `openStore` does, and where an import into it has not ended: a bot on
 * half of its threads would take the other half for new ones.
 */
export async function openWholeStore(url: string, log: Log): Promise<Store> {
  const store = await openStore(url, { log })
  try {
    if ((await store.get(importKey)) !== undefined) throw unfinishedImport()
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}
