import { setTimeout as delay } from 'node:timers/promises'
import type { Job, Worker } from 'bullmq'
import { isAbort, messageOf, Paused } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { Bus } from '../bus/bus.ts'
import { inTime } from '../inTime.ts'
import type { Store } from '../store.ts'
import { createFailures, type FailuresOptions } from './failures.ts'
import type { QueueServer, Wish } from './queueServer.ts'
import { Interrupted, LeaseLost, type RunHandler, type Scheduler, ShuttingDown } from './scheduler.ts'
import { createTimers, type SetTimer } from './timers.ts'

export interface QueueSchedulerOptions extends FailuresOptions {
  server: QueueServer
  /** Carries the wish to stop a run to the instance that has it. */
  bus: Bus
  store: Store
  /** Threads with open work; `Inbox.open`. Asked at the start and with every sweep. */
  openThreads(): Promise<string[]>
  log: Log
  /** How long one call of the queue may take before it counts as failed. Default 5,000 ms. */
  timeoutMs?: number
  /** How often open work is looked for. Default 60,000 ms. */
  sweepMs?: number
}

const INTERRUPT = 'interrupt'
/** How long a worker may take to say good-bye to its server once nothing runs any more. */
const CLOSE_MS = 2_000
/** As often as the queues can count: what fails again and again is parked by us. */
const MAX_ATTEMPTS = 2 ** 31 - 1
/** So often a thread may take its instance along, or lose it by chance, in one run before it is parked. */
const MOST_LOST = 10
/** A name is told in full up to here, so that the word fits the bus. */
const MAX_REASON = 500

interface Run {
  abort: AbortController
  ended: Promise<void>
}

/** Thrown towards BullMQ only, without what went wrong: that is in our log, and may hold what the queue should not keep. */
class RunAgain extends Error {
  readonly pauseMs: number
  constructor(pauseMs: number) {
    super('the thread runs again')
    this.pauseMs = pauseMs
  }
}

/**
 * Runs handlers on whichever instance is free, through a queue on Redis or PostgreSQL. A thread has one job at most that
 * waits and one that runs (BullMQ's deduplication with `keepLastIfActive`), and a run holds a lease on its job: what a
 * killed or frozen instance had, another one takes over. The queue holds nothing that is not in the store as well: were it
 * emptied, the next sweep would find all open work.
 */
export function createQueueScheduler(options: QueueSchedulerOptions): Scheduler {
  const { server, bus, store, openThreads, log, now = Date.now, timeoutMs = 5_000, sweepMs = 60_000 } = options
  const failures = createFailures(options)
  const running = new Map<string, Run>()
  const timers = createTimers({ store, now, setTimer, fire: (threadKey) => void ring(threadKey) })

  let handler: RunHandler | null = null
  let worker: Worker<Wish> | null = null
  let stopping = false
  let sweepError: unknown = null
  let cancelSweep = () => {}

  const unsubscribe = bus.subscribe(INTERRUPT, (message) => {
    const { threadKey, reason } = JSON.parse(message) as { threadKey: string; reason: string }
    running.get(threadKey)?.abort.abort(new Interrupted(reason))
  })

  /** A new wish. While the thread runs, it runs once more afterwards; while it pauses after a failure, it runs at once. */
  const request = (threadKey: string) => add(threadKey, { keepLastIfActive: true, reschedule: true })

  async function add(threadKey: string, how: { keepLastIfActive?: boolean; reschedule?: boolean }): Promise<void> {
    const deduplication = { id: threadKey, ...how }
    const fate = {
      attempts: MAX_ATTEMPTS,
      backoff: { type: 'asked' },
      removeOnComplete: true,
      removeOnFail: true,
    }
    await inTime(
      'wake',
      server.queue.add('run', { threadKey }, { deduplication, stackTraceLimit: 0, ...fate }),
      timeoutMs,
    )
  }

  /** A timer is nothing new in a thread: a parked one stays as it is. */
  async function ring(threadKey: string): Promise<void> {
    try {
      const parked = await failures.parkedAmong([threadKey])
      if (!parked.has(threadKey)) await request(threadKey)
    } catch (error) {
      log.warn({ thread: threadKey, error }, 'a timer could not wake its thread; it is tried again')
      if (!stopping) setTimer(() => void ring(threadKey), timeoutMs)
    }
  }

  /** What BullMQ calls for each job. Resolves when the wish is answered; rejects with `RunAgain`. */
  async function process({ data: { threadKey }, stalledCounter: lost }: Job<Wish>): Promise<void> {
    // Left from a lease that was lost: two runs of one process would share what is in memory.
    for (let old = running.get(threadKey); old; old = running.get(threadKey)) {
      old.abort.abort(new LeaseLost())
      await old.ended
    }
    if (stopping) throw new RunAgain(0)
    if (lost >= MOST_LOST) {
      // Else one thread that ends or blocks its process would take down one instance after the other.
      return failures.park(threadKey, new Error(`its instance died or froze ${lost} times while it ran`))
    }
    const abort = new AbortController()
    const work = run(threadKey, abort.signal)
    const entry = { abort, ended: work.then(ignore, ignore) }
    running.set(threadKey, entry)
    await work.finally(() => running.get(threadKey) === entry && running.delete(threadKey))
  }

  async function run(threadKey: string, signal: AbortSignal): Promise<void> {
    try {
      const due = await timers.dueFor(threadKey)
      await handler!(threadKey, { signal })
      // Handed on at once, not with the next sweep; and what another instance has by now is not ours to close.
      if (signal.reason instanceof Paused) throw signal.reason
      await timers.done(due)
      await failures.clear(threadKey)
    } catch (error) {
      if (signal.reason instanceof Paused && isAbort(error)) throw new RunAgain(0)
      const pauseMs = await failures.failed(threadKey, error, { aborted: signal.aborted && isAbort(error) })
      if (pauseMs !== null) throw new RunAgain(pauseMs)
    }
  }

  /** Finds work whose wish was lost. A thread with a job is passed over: `add` without `keepLastIfActive` does that by itself. */
  async function sweep(): Promise<void> {
    try {
      await timers.load()
      const threads = await openThreads()
      const parked = await failures.parkedAmong(threads)
      for (const threadKey of threads) if (!parked.has(threadKey)) await add(threadKey, {})
      sweepError = null
    } catch (error) {
      sweepError = error
      log.warn({ error }, 'the sweep for open work failed; the next one comes')
    }
    if (!stopping) cancelSweep = setTimer(() => void sweep(), sweepMs)
  }

  function begin(concurrency: number): Worker<Wish> {
    const one = server.worker(process, {
      concurrency,
      pauseAfter: (error) => (error instanceof RunAgain ? error.pauseMs : 0),
    })
    one.on('error', (error) => log.warn({ error }, 'the worker of the queue reports a problem'))
    const threadOf = new Map<string, string>()
    one.on('active', (job) => void threadOf.set(job.id!, job.data.threadKey))
    one.on('completed', (job) => void threadOf.delete(job.id!))
    one.on('failed', (job) => job && void threadOf.delete(job.id!))
    one.on('lockRenewalFailed', (jobs) => {
      for (const id of jobs) {
        const threadKey = threadOf.get(id)
        threadOf.delete(id)
        if (threadKey === undefined) continue
        log.warn({ thread: threadKey }, 'the lease on a thread was lost; its run ends here')
        running.get(threadKey)?.abort.abort(new LeaseLost())
      }
    })
    one.run().catch((error) => log.error({ error }, 'the worker of the queue ended'))
    return one
  }

  return {
    async wake(threadKey, { afterMs = 0 } = {}) {
      if (afterMs > 0) return timers.add(threadKey, now() + afterMs)
      await Promise.all([failures.relent(threadKey), request(threadKey)])
    },

    async start(runHandler, { concurrency }) {
      if (handler) throw new Error('the scheduler was started already')
      handler = runHandler
      worker = begin(concurrency)
      await sweep()
    },

    async interrupt(threadKey, reason) {
      const name = reason.slice(0, MAX_REASON)
      const own = running.get(threadKey)
      own?.abort.abort(new Interrupted(name))
      try {
        await bus.publish(INTERRUPT, JSON.stringify({ threadKey, reason: name }))
      } catch (error) {
        if (!own) throw error
      }
    },

    async stop({ graceMs }) {
      stopping = true
      cancelSweep()
      timers.stop()
      unsubscribe()
      await worker?.pause(true)
      const allEnded = () => Promise.all([...running.values()].map(({ ended }) => ended))
      await withinMs(allEnded(), graceMs)
      const interrupted = [...running.keys()]
      for (const { abort } of running.values()) abort.abort(new ShuttingDown())
      await allEnded()
      if (worker && (await withinMs(worker.close(), CLOSE_MS)) === 'late') await withinMs(worker.close(true), CLOSE_MS)
      await withinMs(server.close(), CLOSE_MS)
      return { interrupted }
    },

    async health() {
      if (!handler) return { ok: false, detail: 'not started' }
      if (stopping) return { ok: false, detail: 'stopping' }
      if (sweepError !== null) return { ok: false, detail: messageOf(sweepError) }
      try {
        await inTime('health', server.queue.getDeduplicationJobId('health'), timeoutMs)
        return { ok: true }
      } catch (error) {
        return { ok: false, detail: messageOf(error) }
      }
    },

    parked: () => failures.parked(),

    async retry(threadKey) {
      await failures.free(threadKey)
      await request(threadKey)
    },
  }
}

function ignore(): void {}

const setTimer: SetTimer = (run, ms) => {
  const timer = setTimeout(run, ms)
  timer.unref()
  return () => clearTimeout(timer)
}

/** Waits for `work`, however it ends, but no longer than `ms`. */
async function withinMs(work: Promise<unknown>, ms: number): Promise<'done' | 'late'> {
  const over = new AbortController()
  const late = delay(ms, 'late' as const, { signal: over.signal }).catch(() => 'late' as const)
  const done = work.then(ignore, ignore).then(() => 'done' as const)
  return Promise.race([done, late]).finally(() => over.abort())
}
