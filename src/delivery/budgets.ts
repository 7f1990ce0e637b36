import type { CallLimit, LimitedCall } from '../platform/platform.ts'
import type { ThreadRef } from '../shared/thread.ts'
import type { Bucket } from './editBucket.ts'

/** The budgets that a call takes from, the narrowest first: it is the one that a refusal is put down to. */
export type Budgets = (method: LimitedCall, thread: ThreadRef) => Bucket[]

const SCOPES: CallLimit['scope'][] = ['thread', 'channel', 'account', 'bot']
/** Calls that nobody counts: only refusals hold them up. */
const UNCOUNTED: CallLimit = { calls: [], most: Number.POSITIVE_INFINITY, perMs: 1, scope: 'account' }
/** How many budgets are remembered: on Discord every thread has its own, whose calls are forgotten within seconds. */
const REMEMBERED = 5_000

export function createBudgets(
  limits: readonly CallLimit[],
  bucketFor: (limit: CallLimit, key: string) => Bucket,
): Budgets {
  const buckets = new Map<string, Bucket>()

  function bucketAt(limit: CallLimit, key: string): Bucket {
    const bucket = buckets.get(key) ?? bucketFor(limit, key)
    // Back in at the end: the first ones are those that were not asked for longest.
    buckets.delete(key)
    buckets.set(key, bucket)
    if (buckets.size > REMEMBERED) buckets.delete(buckets.keys().next().value!)
    return bucket
  }

  return (method, thread) => {
    const found = limits
      .map((limit, index) => ({ limit, index }))
      .filter(({ limit }) => limit.calls.includes(method))
      .sort((a, b) => SCOPES.indexOf(a.limit.scope) - SCOPES.indexOf(b.limit.scope))
      .map(({ limit, index }) => bucketAt(limit, `${index}:${scopeKey(limit.scope, thread)}`))
    return found.length > 0 ? found : [bucketAt(UNCOUNTED, `${method}:${scopeKey('account', thread)}`)]
  }
}

function scopeKey(scope: CallLimit['scope'], { account, channel, thread = channel }: ThreadRef): string {
  return { bot: '', account, channel: `${account}/${channel}`, thread: `${account}/${thread}` }[scope]
}
