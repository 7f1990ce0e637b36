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
  on: boolean
  /** Seconds to wait if the call is one too many, else undefined. Calls that are refused do not count. */
  take(method: string, tier: Tier, channel: string): number | undefined
}

/** Slack's limits: a method's calls within the last minute; posts by channel. Off until a test switches them on. */
export function createRateLimits(): RateLimits {
  const made = new Map<string, number[]>()
  const limits: RateLimits = {
    on: false,
    take(method, tier, channel) {
      if (!limits.on) return undefined
      const [key, most, windowMs] =
        tier === 'post' ? [`${method}:${channel}`, POST_BURST, POST_BURST * 1000] : [method, PER_MINUTE[tier], 60_000]
      const now = performance.now()
      const recent = (made.get(key) ?? []).filter((at) => now - at < windowMs)
      made.set(key, recent)
      if (recent.length >= most) return Math.max(1, Math.ceil((recent[0]! + windowMs - now) / 1000))
      recent.push(now)
      return undefined
    },
  }
  return limits
}

export function slow(ms: number): Promise<void> {
  return delay(ms, undefined, { ref: false })
}
