import { Paused } from '../../shared/errors.ts'
import type { Parked } from './failures.ts'

/**
 * Decides when and where a thread's handler runs; never holds anything that is not in the store as well. Leases are best
 * effort: what keeps two runs apart in the end is the log, whose appends are put-if-absent.
 */
export interface Scheduler {
  /** Idempotent: once it resolves, the handler starts at least once later (after `afterMs`, default 0). */
  wake(threadKey: string, options?: { afterMs?: number }): Promise<void>
  /** Begins to run handlers, at most `concurrency` at once and never two at a time for one thread. Also sweeps for work left by a crash. */
  start(handler: RunHandler, options: { concurrency: number }): Promise<void>
  /** Aborts the thread's run on whichever instance has it, within a second. Resolves when the wish is on its way. */
  interrupt(threadKey: string, reason: string): Promise<void>
  /** Starts nothing new, waits up to `graceMs` for runs, then aborts the rest and waits for them to let go. */
  stop(options: { graceMs: number }): Promise<{ interrupted: string[] }>
  health(): Promise<{ ok: boolean; detail?: string }>
  /** Threads that are left alone because their runs failed again and again. */
  parked(): Promise<Parked[]>
  /** Gives a parked thread a fresh start. */
  retry(threadKey: string): Promise<void>
}

/**
 * `signal.reason` is an `Interrupted` when somebody stopped the run, a `ShuttingDown` when the process ends, a `LeaseLost`
 * when another instance may have the thread by now. A rejection is counted and tried again later.
 */
export type RunHandler = (threadKey: string, run: { signal: AbortSignal }) => Promise<void>

export class Interrupted extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'AbortError'
  }
}

export class ShuttingDown extends Paused {
  constructor() {
    super('the program is shutting down')
  }
}

/** The instance was out of touch for longer than its lease on the thread: the run must let go without another word. */
export class LeaseLost extends Paused {
  constructor() {
    super('another instance may have taken over the thread')
  }
}
