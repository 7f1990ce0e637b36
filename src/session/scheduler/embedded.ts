import { isAbort, messageOf, StoreError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { Store } from '../store.ts'
import { createFailures, type Parked } from './failures.ts'
import { Interrupted, type RunHandler, type Scheduler, ShuttingDown } from './scheduler.ts'
import { createTimers, type SetTimer } from './timers.ts'

export interface EmbeddedSchedulerOptions {
  /** Holds timers and parked threads, so that they outlive the process. */
  store: Store
  /** Threads with open work; `Inbox.open`. Asked at the start and with every sweep. */
  openThreads(): Promise<string[]>
  log: Log
  /** Default `Date.now`. */
  now?: () => number
  /** Calls `run` after `ms`; answers how to call it off. Default: `setTimeout`, not keeping the process alive. */
  setTimer?: SetTimer
  /** How often open work is looked for. Default 60,000 ms. */
  sweepMs?: number
  /** Failures in a row after which a thread is parked. Default 5. */
  maxFailures?: number
  /** Pause before the second try; doubles with each further one up to 60 s. Default 1,000 ms. */
  retryMs?: number
  /** Told once when a thread is parked; what it rejects with is logged. */
  onParked?: (threadKey: string, error: unknown) => void | Promise<void>
}

/** The scheduler of a single process, with what only it can tell. */
export interface EmbeddedScheduler extends Scheduler {
  parked(): Promise<Parked[]>
  /** Gives a parked thread a fresh start. */
  retry(threadKey: string): Promise<void>
}

const MAX_RETRY_MS = 60_000

/**
 * Runs handlers in this process. In memory are only wishes that the store holds too: open work in the inbox's index, timers
 * and parked threads under keys of their own.
 *
 * A handler that rejects is tried again with growing pauses. After `maxFailures` in a row its thread is parked: sweeps pass
 * it over, but something new in it (`wake`) or `retry` gives it another try. A failing store (`StoreError`) and aborted
 * runs don't count: neither is the thread's fault.
 */
export function createEmbeddedScheduler(options: EmbeddedSchedulerOptions): EmbeddedScheduler {
  const { store, openThreads, log, now = Date.now, setTimer = setUnrefTimer, sweepMs = 60_000 } = options
  const { maxFailures = 5, retryMs = 1_000, onParked } = options

  /** Threads that wait for a run, first come first served. */
  const ready = new Set<string>()
  const running = new Map<string, { abort: AbortController; again: boolean; ended: Promise<void> }>()
  /** Threads that pause after a failure: how to call off the next try. */
  const pausing = new Map<string, () => void>()
  const timers = createTimers({ store, now, setTimer, fire: request })
  const failures = createFailures({ store, now })

  let handler: RunHandler | null = null
  let concurrency = 0
  let stopping = false
  let sweepError: unknown = null
  let cancelSweep = () => {}

  function request(threadKey: string): void {
    pausing.get(threadKey)?.()
    pausing.delete(threadKey)
    const run = running.get(threadKey)
    if (run) run.again = true
    else ready.add(threadKey)
    startReady()
  }

  function startReady(): void {
    if (!handler || stopping) return
    for (const threadKey of ready) {
      if (running.size >= concurrency) return
      ready.delete(threadKey)
      const abort = new AbortController()
      const entry = { abort, again: false, ended: Promise.resolve() }
      running.set(threadKey, entry)
      entry.ended = run(threadKey, handler, abort.signal).finally(() => {
        running.delete(threadKey)
        if (entry.again) request(threadKey)
        else startReady()
      })
    }
  }

  /** One run from start to end; never rejects. */
  async function run(threadKey: string, handle: RunHandler, signal: AbortSignal): Promise<void> {
    const due = timers.firedFor(threadKey)
    try {
      await handle(threadKey, { signal })
      await timers.done(threadKey, due)
      await failures.clear(threadKey)
    } catch (error) {
      await afterFailure(threadKey, error, signal)
    }
  }

  /** Tries again later, or parks the thread. An aborted run is tried again too: whoever stopped it has recorded that by then. */
  async function afterFailure(threadKey: string, error: unknown, signal: AbortSignal): Promise<void> {
    const aborted = signal.aborted && isAbort(error)
    const count = failures.count(threadKey, aborted || error instanceof StoreError)
    if (!aborted) log.error({ thread: threadKey, error, failures: count }, 'a run failed')
    // What is left over is found by the sweep of the next start.
    if (stopping) return
    if (count < maxFailures) {
      const pauseMs = Math.min(retryMs * 2 ** Math.max(0, count - 1), MAX_RETRY_MS)
      pausing.set(
        threadKey,
        setTimer(() => request(threadKey), pauseMs),
      )
      return
    }
    log.error({ thread: threadKey, error }, 'the thread is parked: its runs failed too often in a row')
    try {
      await failures.park(threadKey, messageOf(error))
      await onParked?.(threadKey, error)
    } catch (problem) {
      log.error({ thread: threadKey, error: problem }, 'the parking of the thread could not be stored or told')
    }
  }

  async function sweep(): Promise<void> {
    try {
      await timers.load()
      for (const threadKey of await openThreads()) {
        const waits = running.has(threadKey) || pausing.has(threadKey) || failures.isParked(threadKey)
        if (!waits) request(threadKey)
      }
      sweepError = null
    } catch (error) {
      sweepError = error
      log.warn({ error }, 'the sweep for open work failed; the next one comes')
    }
    if (!stopping) cancelSweep = setTimer(() => void sweep(), sweepMs)
  }

  return {
    async wake(threadKey, { afterMs = 0 } = {}) {
      if (afterMs > 0) return timers.add(threadKey, now() + afterMs)
      await failures.unpark(threadKey, maxFailures - 1)
      request(threadKey)
    },

    async start(runHandler, { concurrency: limit }) {
      if (handler) throw new Error('the scheduler was started already')
      await failures.load()
      handler = runHandler
      concurrency = limit
      await sweep()
      startReady()
    },

    async interrupt(threadKey, reason) {
      running.get(threadKey)?.abort.abort(new Interrupted(reason))
    },

    async stop({ graceMs }) {
      stopping = true
      cancelSweep()
      timers.stop()
      for (const cancel of pausing.values()) cancel()
      const allEnded = () => Promise.all([...running.values()].map(({ ended }) => ended))
      let cancelGrace = () => {}
      const grace = new Promise<void>((resolve) => {
        cancelGrace = setTimer(resolve, graceMs)
      })
      await Promise.race([allEnded(), grace])
      cancelGrace()
      const interrupted = [...running.keys()]
      for (const { abort } of running.values()) abort.abort(new ShuttingDown())
      await allEnded()
      return { interrupted }
    },

    async health() {
      if (!handler) return { ok: false, detail: 'not started' }
      if (stopping) return { ok: false, detail: 'stopping' }
      return sweepError === null ? { ok: true } : { ok: false, detail: messageOf(sweepError) }
    },

    parked: async () => failures.parked(),

    async retry(threadKey) {
      await failures.unpark(threadKey, 0)
      request(threadKey)
    },
  }
}

function setUnrefTimer(run: () => void, ms: number): () => void {
  const timer = setTimeout(run, ms)
  timer.unref()
  return () => clearTimeout(timer)
}
