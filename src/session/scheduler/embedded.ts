import { isAbort, messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { Store } from '../store.ts'
import { createFailures, type FailuresOptions } from './failures.ts'
import { Interrupted, type RunHandler, type Scheduler, ShuttingDown } from './scheduler.ts'
import { createTimers, type SetTimer } from './timers.ts'

export interface EmbeddedSchedulerOptions extends FailuresOptions {
  /** Threads with open work; `Inbox.open`. Asked at the start and with every sweep. */
  openThreads(): Promise<string[]>
  log: Log
  /** Holds timers and parked threads, so that they outlive the process. */
  store: Store
  /** Calls `run` after `ms`; answers how to call it off. Default: `setTimeout`, not keeping the process alive. */
  setTimer?: SetTimer
  /** How often open work is looked for. Default 60,000 ms. */
  sweepMs?: number
}

/**
 * Runs handlers in this process. In memory are only wishes that the store holds too: open work in the inbox's index, timers
 * and parked threads under keys of their own.
 *
 * A handler that rejects is tried again with growing pauses. After `maxFailures` in a row its thread is parked: sweeps pass
 * it over, but something new in it (`wake`) or `retry` gives it another try.
 */
export function createEmbeddedScheduler(options: EmbeddedSchedulerOptions): Scheduler {
  const { store, openThreads, log, now = Date.now, setTimer = setUnrefTimer, sweepMs = 60_000 } = options

  /** Threads that wait for a run, first come first served. */
  const ready = new Set<string>()
  const running = new Map<string, { abort: AbortController; again: boolean; ended: Promise<void> }>()
  /** Threads that pause after a failure: how to call off the next try. */
  const pausing = new Map<string, () => void>()
  const timers = createTimers({ store, now, setTimer, fire: (threadKey) => void ring(threadKey) })
  const failures = createFailures(options)

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

  /** A timer is nothing new in a thread: a parked one stays as it is. */
  async function ring(threadKey: string): Promise<void> {
    const parked = await failures.parkedAmong([threadKey]).catch(() => new Set())
    if (!parked.has(threadKey)) request(threadKey)
  }

  /** One run from start to end; never rejects. */
  async function run(threadKey: string, handle: RunHandler, signal: AbortSignal): Promise<void> {
    try {
      const due = await timers.dueFor(threadKey)
      await handle(threadKey, { signal })
      await timers.done(due)
      await failures.clear(threadKey)
    } catch (error) {
      // An aborted run is tried again too: whoever stopped it has recorded that by then.
      const pauseMs = await failures.failed(threadKey, error, { aborted: signal.aborted && isAbort(error) })
      // What is left over is found by the sweep of the next start.
      if (stopping || pauseMs === null) return
      pausing.set(
        threadKey,
        setTimer(() => request(threadKey), pauseMs),
      )
    }
  }

  async function sweep(): Promise<void> {
    try {
      await timers.load()
      const threads = await openThreads()
      const parked = await failures.parkedAmong(threads)
      for (const threadKey of threads) {
        const waits = running.has(threadKey) || pausing.has(threadKey) || parked.has(threadKey)
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
      await failures.relent(threadKey)
      request(threadKey)
    },

    async start(runHandler, { concurrency: limit }) {
      if (handler) throw new Error('the scheduler was started already')
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

    parked: () => failures.parked(),

    async retry(threadKey) {
      await failures.free(threadKey)
      request(threadKey)
    },
  }
}

function setUnrefTimer(run: () => void, ms: number): () => void {
  const timer = setTimeout(run, ms)
  timer.unref()
  return () => clearTimeout(timer)
}
