import type { CallLimit } from '../platform/platform.ts'

/**
 * How many calls may be made now under one limit. This is the seam for a budget that several instances share: another
 * implementation may hand out a leased share, as long as the shares never add up to more than the limit.
 */
export interface Bucket {
  /**
   * Milliseconds until a call may be made behind `ahead` others. Urgent ones may use the reserve. Asked again whenever a
   * call has ended or the time is over, so it may be wrong about the future, but never about now.
   */
  waitMs(urgent: boolean, ahead?: number): number
  /** Counts a call that starts now; the returned function says that it has been answered. */
  take(): () => void
  /** After a refusal: nothing for `ms`, and from then on slower; the pace comes back within minutes without refusals. */
  pause(ms: number): void
}

/** A refusal slows the pace to this share of it, down to the slowest. */
const SLOW_DOWN = 0.7
const SLOWEST = 0.25
/** Time without a refusal after which the pace is whole again, in milliseconds. */
const RECOVERY_MS = 5 * 60_000
/** The least pause after a refusal, in milliseconds: one that names no wait must not be repeated without end. */
const SHORTEST_PAUSE_MS = 250

/**
 * The platform sees a call at some moment between its start and its answer. So a call is counted from its start until one
 * window after its answer: whatever the delays on the way, no window of the platform's holds more than the limit.
 *
 * Spending a long window as it comes would leave all live texts frozen for the rest of it. So a limit with a `burst` gives
 * only that many at once and the others one by one.
 */
export function createBucket(limit: CallLimit, now: () => number): Bucket {
  const { most, perMs, burst = most, reserve = 0 } = limit
  const isSpread = burst < most
  /** When calls were answered, oldest first. */
  let answered: number[] = []
  let underWay = 0
  let tokens = burst
  let countedAt = now()
  let pausedUntil = -Infinity
  let pace = 1
  let refusedAt = now()

  const currentPace = () => Math.min(1, pace + (1 - pace) * Math.max(0, (now() - refusedAt) / RECOVERY_MS))
  const currentMost = () => Math.max(1, Math.floor(most * currentPace()))
  const refillPerMs = () => ((most - burst) / perMs) * currentPace()

  function count(): void {
    const at = now()
    if (answered[0] !== undefined && answered[0] + perMs <= at) answered = answered.filter((one) => one + perMs > at)
    if (isSpread) tokens = Math.min(burst, tokens + Math.max(0, at - countedAt) * refillPerMs())
    countedAt = Math.max(countedAt, at)
  }

  /** Until so many more calls fit into the window: each takes the place of the oldest, and again one window later. */
  function windowMs(wanted: number): number {
    const places = currentMost()
    const missing = wanted - (places - underWay - answered.length)
    if (missing <= 0) return 0
    const freed = answered[(missing - 1) % places]
    const firstMs = freed === undefined ? perMs : freed + perMs - now()
    return firstMs + perMs * Math.floor((missing - 1) / places)
  }

  function spreadMs(wanted: number): number {
    // A little over, so that rounding never wakes the timer a hair too early.
    return tokens >= wanted - 1e-9 ? 0 : Math.ceil((wanted - tokens) / refillPerMs())
  }

  return {
    waitMs(urgent, ahead = 0) {
      count()
      const kept = urgent ? 0 : Math.min(reserve, Math.min(currentMost(), burst) - 1)
      const wanted = 1 + ahead + kept
      return Math.max(0, windowMs(wanted), isSpread ? spreadMs(wanted) : 0, pausedUntil - now())
    },
    take() {
      count()
      tokens -= 1
      underWay++
      return () => {
        underWay--
        answered.push(now())
      }
    },
    pause(ms) {
      count()
      pace = Math.max(SLOWEST, currentPace() * SLOW_DOWN)
      refusedAt = now()
      pausedUntil = Math.max(pausedUntil, now() + Math.max(SHORTEST_PAUSE_MS, ms))
      // Whatever was saved up: the platform's count is the one that is right. Nothing is saved up meanwhile, either.
      tokens = Math.min(tokens, 1 + reserve)
      countedAt = pausedUntil
    },
  }
}
