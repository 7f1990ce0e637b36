import { type Config, storeUrl } from './config.ts'
import { operatorSocketPath, retryBySocket } from './operatorSocket.ts'
import { parkedKeys } from './session/keys.ts'
import { openScheduler } from './session/openScheduler.ts'
import { openStore } from './session/openStore.ts'
import { createFailures } from './session/scheduler/failures.ts'
import type { Store } from './session/store.ts'
import type { Log } from './shared/log.ts'

/** Frees a parked thread by `retry`; false, with nothing done: it is not parked. */
export async function freeThread(
  threadKey: string,
  { store, retry }: { store: Store; retry: (threadKey: string) => Promise<void> },
): Promise<boolean> {
  if ((await store.get(parkedKeys.thread(threadKey))) === undefined) return false
  await retry(threadKey)
  return true
}

/**
 * `toycoder threads --retry`: through the bot that runs on the same file, or through the queue that instances share; else in
 * the store itself, whose open work the next start finds. False: the thread is not parked. Rejects with `SetupError` as `openStore` does.
 */
export async function retryThread(threadKey: string, config: Config, log: Log): Promise<boolean> {
  const socket = operatorSocketPath(storeUrl(config))
  const freed = socket === null ? null : await retryBySocket(socket, threadKey)
  if (freed !== null) return freed
  const store = await openStore(storeUrl(config), { log })
  try {
    if (config.engine.kind === 'embedded') {
      return await freeThread(threadKey, { store, retry: createFailures({ store, log }).free })
    }
    const { scheduler, bus } = await openScheduler(config.engine, { store, log, openThreads: async () => [] })
    try {
      return await freeThread(threadKey, { store, retry: scheduler.retry })
    } finally {
      await scheduler.stop({ graceMs: 0 })
      await bus.close()
    }
  } finally {
    await store.close()
  }
}
