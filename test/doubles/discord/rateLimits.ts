/**
 * Rate limits as Discord was observed to apply them: creating and editing messages share one `X-RateLimit-Bucket` value but are
 * counted apart, per channel; edits of messages older than an hour and names of channels are rarer still; reactions one per
 * 250 ms; the rest generously. A bot has 50 requests a second, in which answers to interactions do not count
 * (facts/discord.md b and its table of routes).
 */

interface Rule {
  bucket: string
  limit: number
  windowMs: number
}

const RULES: Record<string, Rule> = {
  'POST /channels/:id/messages': { bucket: 'messages', limit: 5, windowMs: 5_000 },
  'PATCH /channels/:id/messages/:id': { bucket: 'messages', limit: 5, windowMs: 5_000 },
  'POST /channels/:id/typing': { bucket: 'typing', limit: 5, windowMs: 5_000 },
  'PUT /channels/:id/messages/:id/reactions/:emoji/@me': { bucket: 'reactions', limit: 1, windowMs: 250 },
  'DELETE /channels/:id/messages/:id/reactions/:emoji/@me': { bucket: 'reactions', limit: 1, windowMs: 250 },
  'POST /channels/:id/messages/:id/threads': { bucket: 'threads', limit: 50, windowMs: 300_000 },
}
const OLD_EDIT: Rule = { bucket: 'old-messages', limit: 3, windowMs: 6_000 }
/** The error code of a 429 for one edit too many of an old message. */
const OLD_EDITS_CODE = 30046
const RENAME: Rule = { bucket: 'names', limit: 2, windowMs: 600_000 }
const OTHERS: Omit<Rule, 'bucket'> = { limit: 50, windowMs: 1_000 }
const GLOBAL = { limit: 50, windowMs: 1_000 }

export interface RateVerdict {
  headers: Record<string, string>
  /** Seconds to wait; absent when the request may pass. */
  retryAfter?: number
  global: boolean
  code?: number
}

/** What of a request decides, beside its route, by which rule it is counted. */
export interface Counted {
  editsOldMessage: boolean
  renames: boolean
}

interface Counter {
  used: number
  resetAt: number
}

export function createRateLimits(now: () => number) {
  const counters = new Map<string, Counter>()

  const count = (key: string, limit: number, windowMs: number) => {
    let counter = counters.get(key)
    if (!counter || counter.resetAt <= now()) {
      counter = { used: 0, resetAt: now() + windowMs }
      counters.set(key, counter)
    }
    const over = counter.used >= limit
    if (!over) counter.used += 1
    return { over, remaining: limit - counter.used, resetAt: counter.resetAt }
  }

  return {
    /** Counts one request of `route` (ids replaced) on its major parameter (channel, guild or webhook). */
    take(route: string, major: string, { editsOldMessage, renames }: Counted): RateVerdict {
      const special = editsOldMessage ? OLD_EDIT : renames ? RENAME : undefined
      const rule = special ?? RULES[route] ?? { bucket: route, ...OTHERS }
      const own = count(`${special?.bucket ?? route}|${major}`, rule.limit, rule.windowMs)
      const isFree = /^\w+ \/(interactions|webhooks)\//.test(route)
      const global = own.over || isFree ? undefined : count('global', GLOBAL.limit, GLOBAL.windowMs)
      const wait = Math.max(0, (global?.over ? global.resetAt : own.resetAt) - now()) / 1000
      const headers: Record<string, string> = {
        'x-ratelimit-limit': String(rule.limit),
        'x-ratelimit-remaining': String(own.remaining),
        'x-ratelimit-reset': ((now() + wait * 1000) / 1000).toFixed(3),
        'x-ratelimit-reset-after': wait.toFixed(3),
        'x-ratelimit-bucket': hashOf(rule.bucket),
      }
      if (!own.over && !global?.over) return { headers, global: false }
      const retryAfter = Math.max(0.001, wait)
      headers['retry-after'] = String(Math.ceil(retryAfter))
      headers['x-ratelimit-scope'] = global?.over ? 'global' : 'user'
      if (global?.over) headers['x-ratelimit-global'] = 'true'
      const code = own.over && editsOldMessage ? { code: OLD_EDITS_CODE } : {}
      return { headers, retryAfter, global: global?.over ?? false, ...code }
    },
  }
}

/** Opaque like Discord's, and the same for every route of a bucket. */
function hashOf(bucket: string): string {
  return Buffer.from(bucket).toString('hex').padEnd(32, '0').slice(0, 32)
}
