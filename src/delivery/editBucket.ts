import type { PlatformLimits } from '../platform/platform.ts'

/**
 * How many edits may be made now. A platform counts edits in a window; spending them as they come would leave all live
 * texts frozen for the rest of the window. So a fifth of the window's edits may come at once and the others evenly spaced:
 * no window ever holds more than the limit, wherever it begins.
 */
export interface EditBucket {
  /** Milliseconds until an edit of this kind may be made. Frames leave a reserve for final texts. */
  waitMs(kind: 'frame' | 'final'): number
  take(): void
  /** After a refusal: nothing for `ms`, and from then on slower; the pace comes back within minutes without refusals. */
  pause(ms: number): void
}

/** The share of a window's edits that may be made at once. */
const BURST = 0.2
/** The share of the burst that only final texts may use. */
const RESERVE = 0.3
/** A refusal slows the pace to this share of it, down to the slowest. */
const SLOW_DOWN = 0.7
const SLOWEST = 0.25
/** Time without a refusal after which the pace is whole again, in milliseconds. */
const RECOVERY_MS = 5 * 60_000
/** The least pause after a refusal, in milliseconds: one that names no wait must not be repeated without end. */
const SHORTEST_PAUSE_MS = 250

export function createBucket(edits: PlatformLimits['edits'], now: () => number): EditBucket {
  if (edits.scope === 'none') return createPauses(now)
  // Two at least: one for the live text and one in reserve.
  const burst = Math.max(2, Math.floor(edits.edits * BURST))
  const reserve = Math.max(1, Math.floor(burst * RESERVE))
  const perMs = Math.max(0.2, edits.edits - burst) / edits.perMs
  let tokens = burst
  let countedAt = now()
  let pausedUntil = -Infinity
  let pace = 1
  let refusedAt = now()

  const currentPace = () => Math.min(1, pace + (1 - pace) * Math.max(0, (now() - refusedAt) / RECOVERY_MS))

  function count(): void {
    const at = now()
    tokens = Math.min(burst, tokens + (at - countedAt) * perMs * currentPace())
    countedAt = at
  }

  return {
    waitMs(kind) {
      count()
      const wanted = kind === 'final' ? 1 : 1 + reserve
      // A little over, so that rounding never wakes the timer a hair too early.
      const refill = tokens >= wanted - 1e-9 ? 0 : Math.ceil((wanted - tokens) / (perMs * currentPace()))
      return Math.max(refill, pausedUntil - now(), 0)
    },
    take() {
      count()
      tokens -= 1
    },
    pause(ms) {
      count()
      pace = Math.max(SLOWEST, currentPace() * SLOW_DOWN)
      refusedAt = now()
      pausedUntil = Math.max(pausedUntil, now() + Math.max(SHORTEST_PAUSE_MS, ms))
      // Whatever was saved up: the platform's count is the one that is right.
      tokens = Math.min(tokens, 1)
    },
  }
}

/** Edits that nobody counts: only refusals hold them up. */
function createPauses(now: () => number): EditBucket {
  let pausedUntil = -Infinity
  return {
    waitMs: () => Math.max(pausedUntil - now(), 0),
    take() {},
    pause(ms) {
      pausedUntil = Math.max(pausedUntil, now() + Math.max(SHORTEST_PAUSE_MS, ms))
    },
  }
}
