import { setTimeout as delay } from 'node:timers/promises'

/**
 * How Slack can misbehave at one call. `afterEffect`: the call takes effect, and fails all the same.
 * `retryAfter` null: a 429 without the header.
 */
export type Fault =
  | { kind: 'rateLimited'; retryAfter?: number | null }
  | { kind: 'http'; status: number; afterEffect?: boolean }
  | { kind: 'hang'; afterEffect?: boolean }
  | { kind: 'reset'; afterEffect?: boolean }
  | { kind: 'slow'; ms: number }
  | { kind: 'html'; afterEffect?: boolean }
  | { kind: 'error'; code: string; extra?: Record<string, unknown>; afterEffect?: boolean }

/** Calls per minute, by documented tier. `post` is one a second and channel, with short bursts. */
export type Tier = 1 | 2 | 3 | 4 | 'post' | 'special'
const PER_MINUTE: Record<1 | 2 | 3 | 4 | 'special', number> = { 1: 1, 2: 20, 3: 50, 4: 100, special: 600 }
const POST_BURST = 4
/** The least of the "several hundred" posts a minute that a workspace may have over all its channels. */
const POSTS_PER_MINUTE = 300
const BURST_SHARE = 0.4

export interface Faults {
  /** The next `times` calls of the method get this fault; faults queue up. */
  add(method: string, fault: Fault, times?: number): void
  next(method: string): Fault | undefined
  clear(): void
}

export function createFaults(): Faults {
  const planned = new Map<string, Fault[]>()
  return {
    add(method, fault, times = 1) {
      planned.set(method, [...(planned.get(method) ?? []), ...Array<Fault>(times).fill(fault)])
    },
    next: (method) => planned.get(method)?.shift(),
    clear: () => planned.clear(),
  }
}

export interface RateLimits {
  mode: LimitMode
  /** Seconds to wait if the call is one too many, else undefined. Calls that are refused do not count. */
  take(method: string, tier: Tier, channel: string): number | undefined
}

/**
 * - `off`: everything passes
 * - `window`: a method's calls within the last minute; posts by channel
 * - `bursts`: the same rates, but only `BURST_SHARE` of a minute's calls at once, and a cap on a workspace's posts. What
 *   Slack tolerates beyond its rates is not documented, only that there are bursts (facts/slack.md A.0): this is less.
 */
export type LimitMode = 'off' | 'window' | 'bursts'

/** Slack's limits, counted by method for the whole workspace (facts/slack.md 0.5 and A.1). */
export function createRateLimits(): RateLimits {
  const made = new Map<string, number[]>()
  const buckets = new Map<string, { tokens: number; at: number }>()

  function windowWait(method: string, tier: Tier, channel: string): number | undefined {
    const [key, most, windowMs] =
      tier === 'post' ? [`${method}:${channel}`, POST_BURST, POST_BURST * 1000] : [method, PER_MINUTE[tier], 60_000]
    const now = performance.now()
    const recent = (made.get(key) ?? []).filter((at) => now - at < windowMs)
    made.set(key, recent)
    if (recent.length >= most) return Math.max(1, Math.ceil((recent[0]! + windowMs - now) / 1000))
    recent.push(now)
    return undefined
  }

  /** A bucket of `burst` calls that fills up with `perMinute`. */
  function bucketAt(key: string, perMinute: number, burst: number) {
    const now = performance.now()
    const bucket = buckets.get(key) ?? { tokens: burst, at: now }
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 60_000) * perMinute)
    bucket.at = now
    buckets.set(key, bucket)
    return { bucket, waitMs: bucket.tokens >= 1 ? 0 : ((1 - bucket.tokens) / perMinute) * 60_000 }
  }

  function burstWait(method: string, tier: Tier, channel: string): number | undefined {
    const counted =
      tier === 'post'
        ? [bucketAt(`${method}:${channel}`, 60, POST_BURST), byMinute(method, POSTS_PER_MINUTE)]
        : [byMinute(method, PER_MINUTE[tier])]
    const waitMs = Math.max(...counted.map((one) => one.waitMs))
    if (waitMs > 0) return Math.ceil(waitMs / 1000)
    for (const { bucket } of counted) bucket.tokens -= 1
    return undefined
  }

  const byMinute = (method: string, perMinute: number) =>
    bucketAt(method, perMinute, Math.max(1, Math.floor(perMinute * BURST_SHARE)))

  const limits: RateLimits = {
    mode: 'off',
    take(method, tier, channel) {
      if (limits.mode === 'off') return undefined
      return (limits.mode === 'window' ? windowWait : burstWait)(method, tier, channel)
    },
  }
  return limits
}

export function slow(ms: number): Promise<void> {
  return delay(ms, undefined, { ref: false })
}
