import type { Log } from '../shared/log.ts'
import type { Bus } from './bus/bus.ts'
import { createLocalBus } from './bus/localBus.ts'
import { createEmbeddedScheduler } from './scheduler/embedded.ts'
import type { FailuresOptions } from './scheduler/failures.ts'
import type { Scheduler } from './scheduler/scheduler.ts'

export type Engine = { kind: 'embedded' } | { kind: 'redis' | 'postgres'; url: string }

export interface OpenSchedulerOptions extends FailuresOptions {
  /** Threads with open work; `Inbox.open`. */
  openThreads(): Promise<string[]>
  log: Log
  /** How long one call of a server may take. Default 5,000 ms. */
  timeoutMs?: number
  /** What the queue and the bus are named after, as with the store. Default `toycoder`. */
  namespace?: string
}

/**
 * The scheduler of this process alone, or the queue that all instances on a server share; and the bus between them, which
 * the caller closes after everything else. Rejects with `SetupError` when the server can't be used.
 */
export async function openScheduler(
  engine: Engine,
  options: OpenSchedulerOptions,
): Promise<{ scheduler: Scheduler; bus: Bus }> {
  if (engine.kind === 'embedded') return { scheduler: createEmbeddedScheduler(options), bus: createLocalBus() }
  const { log, timeoutMs = 5_000, namespace = 'toycoder' } = options
  const server = { log, timeoutMs, namespace }
  // Loaded only where they are used: they take a good part of the time of a start.
  const [{ openQueueServer }, { createQueueScheduler }, { openBus }] = await Promise.all([
    import('./scheduler/queueServer.ts'),
    import('./scheduler/bullmq.ts'),
    import('./bus/openBus.ts'),
  ])
  const queues = await openQueueServer(engine.url, server)
  const bus = await openBus(engine.url, server).catch(async (error) => {
    await queues.close()
    throw error
  })
  return { scheduler: createQueueScheduler({ ...options, server: queues, bus }), bus }
}
