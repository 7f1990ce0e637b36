import { openStore } from '../../src/session/openStore.ts'
import { createEmbeddedScheduler } from '../../src/session/scheduler/embedded.ts'
import { silentLog } from '../../src/shared/log.ts'
import { schedulerContract } from './schedulerContract.ts'

schedulerContract({
  name: 'embedded',
  async world() {
    const store = await openStore('memory:')
    return {
      create: async (openThreads = async () => []) =>
        createEmbeddedScheduler({ store, openThreads, log: silentLog, retryMs: 5 }),
      close: () => store.close(),
    }
  },
})
