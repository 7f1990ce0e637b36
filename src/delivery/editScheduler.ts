import type { CallLimit, LimitedCall, PlatformLimits } from '../platform/platform.ts'
import { PlatformError } from '../shared/errors.ts'
import type { ThreadRef } from '../shared/thread.ts'
import { createBudgets } from './budgets.ts'
import { createCallQueues, type WaitingCall } from './callQueues.ts'
import { type Bucket, createBucket } from './editBucket.ts'
import { createPatience, type Patience } from './patience.ts'
import { type SetTimer, systemTimer } from './timers.ts'
import { isUrgent, type Urgency } from './urgency.ts'

/**
 * Decides when which call for a message is made. All calls of one platform share this scheduler, because the platform
 * counts them together: the most urgent first, then those that have waited longest. Of a live text only the newest frame
 * exists, and of a message only one edit is ever in flight.
 */
export interface EditScheduler {
  lane(options: LaneOptions): EditLane
  /**
   * Makes a call when its budget allows, and again after each `rateLimited` for up to ten minutes; other rejections are
   * passed on. `make` is asked right before: `null` when there is nothing to send any more, which costs nothing and
   * resolves to `null`.
   */
  send<T>(call: Call, make: () => (() => Promise<T>) | null): Sending<T>
  /** Milliseconds until such a call would be made if it was asked for now, behind those that are as urgent. */
  waitMs(call: Call): number
  /** For calls that outlive the run that made them; ends with the scheduler. */
  readonly patience: Patience
  /** Sends nothing any more; what waits is rejected as `unavailable`. */
  stop(): void
}

export interface Call {
  method: LimitedCall
  thread: ThreadRef
  urgency: Urgency
}

export interface Sending<T> {
  done: Promise<T | null>
  /** Takes the call back if it still waits: then it resolves to `null`, or rejects with `error`. */
  cancel(error?: PlatformError): void
}

export interface LaneOptions {
  thread: ThreadRef
  /**
   * Asked right before a frame is sent, for the edit with the newest text; `null` when nothing has changed. The edit may
   * reject with `rateLimited` (it is asked for again after the pause); it deals with everything else itself.
   */
  frame(): (() => Promise<void>) | null
}

/** The edits of one message. */
export interface EditLane {
  /** There is something new to show. */
  touch(): void
  /** The message has just been posted, which counts as a frame. */
  posted(): void
  /**
   * Sends an edit before all frames (unless it is for `later`), after the one in flight, and again after each
   * `rateLimited`; other rejections are passed on. A frame that waits is dropped.
   */
  final<T>(send: () => Promise<T>, urgency: Urgency): Promise<T>
  /** Drops the frame that waits; resolves when no call is in flight. */
  quiet(): Promise<void>
  /** Drops what waits (a final is rejected as `unavailable`); resolves when nothing is in flight. */
  rest(): Promise<void>
}

interface Ticket extends WaitingCall {
  /** When it was refused first. */
  refusedAt: number | null
  readonly lane: Lane | null
  make(): (() => Promise<void>) | null
  dropped(): void
  reject(error: unknown): void
}

interface Lane {
  frame: Ticket
  finals: Set<Ticket>
  inFlight: Promise<void> | null
  /** When it was last asked for a frame or sent a final. Making a frame is work, so asking in vain counts too. */
  lastTurnAt: number
}

/** Pause after a `rateLimited` that does not say how long, in milliseconds. */
const UNSTATED_PAUSE_MS = 5_000
/** For how long a call is tried again that is refused for its rate, in milliseconds. */
const LONGEST_REFUSAL_MS = 10 * 60_000

export function createEditScheduler(options: {
  limits: Pick<PlatformLimits, 'calls' | 'editIntervalMs'>
  /** Milliseconds on a clock that never jumps; default the process's. */
  now?: () => number
  setTimer?: SetTimer
  /** Makes the budget of a limit for one account, channel or thread, named by `key`. Default: this process has all of it. */
  bucketFor?: (limit: CallLimit, key: string) => Bucket
}): EditScheduler {
  const { limits, now = () => performance.now(), setTimer = systemTimer } = options
  const { bucketFor = (limit) => createBucket(limit, now) } = options
  const patience = createPatience(setTimer)
  const bucketsFor = createBudgets(limits.calls, bucketFor)
  const waiting = createCallQueues<Ticket>(limits.editIntervalMs)
  let cancelTimer: (() => void) | null = null
  let stopped = false

  /** Starts what may start now and sets the timer for what may start next. */
  function pump(): void {
    cancelTimer?.()
    cancelTimer = null
    // One reading for all: hundreds of answers may be waiting.
    const at = now()
    while (!stopped) {
      const next = waiting.next(at)
      if ('call' in next) start(next.call)
      else {
        if (next.inMs !== null) cancelTimer = setTimer(pump, next.inMs)
        return
      }
    }
  }

  function start(ticket: Ticket): void {
    const { lane } = ticket
    waiting.delete(ticket)
    const send = ticket.make()
    if (lane) lane.lastTurnAt = now()
    lane?.finals.delete(ticket)
    if (!send) {
      ticket.dropped()
      return
    }
    const answered = ticket.buckets.map((bucket) => bucket.take())
    waiting.changed(ticket.buckets)
    const call = send()
      .catch((error: unknown) => refused(ticket, error))
      .finally(() => {
        for (const one of answered) one()
        if (lane) lane.inFlight = null
        waiting.changed(ticket.buckets)
        pump()
      })
    if (lane) lane.inFlight = call
  }

  function refused(ticket: Ticket, error: unknown): void {
    const isRate = error instanceof PlatformError && error.kind === 'rateLimited'
    if (isRate) ticket.buckets[0]!.pause(error.retryAfterMs ?? UNSTATED_PAUSE_MS)
    ticket.refusedAt ??= now()
    const isLast = !isRate || stopped || now() - ticket.refusedAt > LONGEST_REFUSAL_MS
    // A frame is worth nothing beside a final.
    const isStale = ticket.isFrame && ticket.lane!.finals.size > 0
    if (isLast) ticket.reject(error)
    else if (!isStale) {
      if (!ticket.isFrame) ticket.lane?.finals.add(ticket)
      waiting.add(ticket)
    }
  }

  /** A call that is to be made once: a post, a removal, a final edit. */
  function enqueue<T>(call: Call, lane: Lane | null, make: () => (() => Promise<T>) | null) {
    let cancel = (_error?: PlatformError) => {}
    const done = new Promise<T | null>((resolve, reject) => {
      if (stopped) return reject(stoppedError())
      const ticket: Ticket = {
        buckets: bucketsFor(call.method, call.thread),
        urgency: call.urgency,
        since: now(),
        refusedAt: null,
        lane,
        isFrame: false,
        make() {
          const send = make()
          return send && (async () => resolve(await send()))
        },
        dropped: () => resolve(null),
        reject,
      }
      cancel = (error) => {
        if (!waiting.delete(ticket)) return
        lane?.finals.delete(ticket)
        if (error) reject(error)
        else resolve(null)
      }
      lane?.finals.add(ticket)
      waiting.add(ticket)
      pump()
    })
    return { done, cancel: (error?: PlatformError) => cancel(error) }
  }

  function lane({ thread, frame }: LaneOptions): EditLane {
    const own: Lane = {
      frame: {
        buckets: bucketsFor('edit', thread),
        ...{ urgency: 'live', since: 0, refusedAt: null, isFrame: true },
        make: frame,
        dropped() {},
        reject() {},
        get lane() {
          return own
        },
      },
      finals: new Set(),
      inFlight: null,
      lastTurnAt: -Infinity,
    }
    const quiet = async () => {
      waiting.delete(own.frame)
      while (own.inFlight) await own.inFlight
      // One that was refused meanwhile waits again.
      waiting.delete(own.frame)
    }
    return {
      touch() {
        if (stopped || own.finals.size > 0 || waiting.has(own.frame)) return
        own.frame.since = now()
        own.frame.refusedAt = null
        waiting.add(own.frame)
        pump()
      },
      posted() {
        own.lastTurnAt = now()
      },
      async final<T>(send: () => Promise<T>, urgency: Urgency) {
        waiting.delete(own.frame)
        return (await enqueue({ method: 'edit', thread, urgency }, own, () => send).done) as T
      },
      quiet,
      async rest() {
        for (const ticket of own.finals) {
          waiting.delete(ticket)
          ticket.reject(stoppedError())
        }
        own.finals.clear()
        await quiet()
      },
    }
  }

  return {
    lane,
    patience,
    send: (call, make) => enqueue(call, null, make),
    waitMs(call) {
      const waits = bucketsFor(call.method, call.thread).map((bucket) =>
        bucket.waitMs(isUrgent(call.urgency), waiting.ahead(bucket, call.urgency)),
      )
      return Math.max(...waits)
    },
    stop() {
      stopped = true
      patience.end()
      cancelTimer?.()
      cancelTimer = null
      for (const ticket of waiting.drain()) ticket.reject(stoppedError())
    },
  }
}

export function stoppedError(): PlatformError {
  return new PlatformError('unavailable', 'stopped', 'the program is stopping')
}
