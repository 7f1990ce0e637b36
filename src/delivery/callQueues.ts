import type { Bucket } from './editBucket.ts'
import { before, isUrgent, rank, type Urgency } from './urgency.ts'

/** A call that waits for its turn. */
export interface WaitingCall {
  readonly buckets: readonly Bucket[]
  readonly urgency: Urgency
  /** Since when it waits; set before it is added. */
  since: number
  /** The message that it edits: of one message, one call is in flight. */
  readonly lane: { readonly inFlight: unknown; readonly lastTurnAt: number } | null
  /** It is an edit of live text, which keeps a pause to the turn before. */
  readonly isFrame: boolean
}

/**
 * Everything that waits, in queues of calls that draw on the same budgets. Hundreds of answers in one workspace wait for one
 * budget: while that is spent, none of them need be looked at.
 */
export interface CallQueues<C extends WaitingCall> {
  add(call: C): void
  /** False if it did not wait. */
  delete(call: C): boolean
  has(call: C): boolean
  /** The call whose turn it is; else in how many milliseconds to ask again, `null`: not before something changes. */
  next(at: number): { call: C } | { inMs: number | null }
  /** Budgets have been drawn on, or what drew on them has ended: what was known of them is void. */
  changed(buckets: readonly Bucket[]): void
  /** How many draw on the budget and are as urgent at least. */
  ahead(bucket: Bucket, urgency: Urgency): number
  /** Empties all queues. */
  drain(): C[]
}

/** What is known of a budget. A call is put off by what was known, but made only by what was asked for right then. */
interface Gate {
  askedAt: number
  opensAt: number
}

interface Queue<C> {
  key: string
  buckets: readonly Bucket[]
  isUrgent: boolean
  gates: readonly Gate[]
  calls: Set<C>
  frames: number
  /** None of the calls is ready before; looked for anew when it is `null`. */
  readyAt: number | null
}

/** Sums of times are wrong by so little, in milliseconds; a timer that is that much too early must not be set again. */
const HAIR_MS = 0.001

export function createCallQueues<C extends WaitingCall>(editIntervalMs: number): CallQueues<C> {
  const queues = new Map<string, Queue<C>>()
  const numbers = new WeakMap<Bucket, number>()
  const gates = new WeakMap<Bucket, { urgent: Gate; other: Gate }>()
  let count = 0

  function numberOf(bucket: Bucket): number {
    const known = numbers.get(bucket)
    if (known !== undefined) return known
    numbers.set(bucket, ++count)
    return count
  }

  function gatesOf(bucket: Bucket): { urgent: Gate; other: Gate } {
    const known = gates.get(bucket)
    if (known) return known
    const created = { urgent: unknownGate(), other: unknownGate() }
    gates.set(bucket, created)
    return created
  }

  function keyOf({ buckets, urgency }: C): string {
    return `${isUrgent(urgency) ? 'urgent' : 'other'} ${buckets.map(numberOf).join()}`
  }

  function queueFor(call: C): Queue<C> {
    const key = keyOf(call)
    const known = queues.get(key)
    if (known) return known
    const { buckets } = call
    const urgent = isUrgent(call.urgency)
    const own = buckets.map((bucket) => gatesOf(bucket)[urgent ? 'urgent' : 'other'])
    const created: Queue<C> = { key, buckets, isUrgent: urgent, gates: own, calls: new Set(), frames: 0, readyAt: null }
    queues.set(key, created)
    return created
  }

  /** When the budgets of the queue let a call through. */
  function opensAt({ gates: own, buckets, isUrgent: urgent }: Queue<C>, at: number): number {
    let latest = at
    for (const [index, gate] of own.entries()) {
      const isKnown = gate.opensAt > at + HAIR_MS || gate.askedAt === at
      if (!isKnown) Object.assign(gate, { askedAt: at, opensAt: at + buckets[index]!.waitMs(urgent) })
      latest = Math.max(latest, gate.opensAt)
    }
    return latest
  }

  /** The first of the calls that are ready; where none is, the queue knows from then on when one will be. */
  function firstReady(queue: Queue<C>, at: number): C | null {
    if (queue.readyAt !== null && queue.readyAt > at + HAIR_MS) return null
    const pauseMs = editIntervalMs * slowness(queue.frames)
    let best: C | null = null
    let soonest = Number.POSITIVE_INFINITY
    for (const call of queue.calls) {
      const { lane, isFrame } = call
      if (lane?.inFlight) continue
      const readyAt = lane && isFrame ? lane.lastTurnAt + pauseMs : at
      if (readyAt > at + HAIR_MS) soonest = Math.min(soonest, readyAt)
      else if (!best || before(call, best)) best = call
    }
    queue.readyAt = best ? null : soonest
    return best
  }

  function remove(queue: Queue<C> | undefined, call: C): boolean {
    if (!queue?.calls.delete(call)) return false
    if (call.isFrame) queue.frames--
    queue.readyAt = null
    if (queue.calls.size === 0) queues.delete(queue.key)
    return true
  }

  return {
    add(call) {
      const queue = queueFor(call)
      if (queue.calls.has(call)) return
      queue.calls.add(call)
      if (call.isFrame) queue.frames++
      queue.readyAt = null
    },
    delete: (call) => remove(queues.get(keyOf(call)), call),
    has: (call) => queues.get(keyOf(call))?.calls.has(call) ?? false,
    next(at) {
      let best: C | null = null
      let soonest = Number.POSITIVE_INFINITY
      for (const queue of queues.values()) {
        const open = opensAt(queue, at)
        const ready = open > at ? null : firstReady(queue, at)
        if (!ready) soonest = Math.min(soonest, Math.max(open, queue.readyAt ?? at))
        else if (!best || before(ready, best)) best = ready
      }
      if (best) return { call: best }
      return { inMs: soonest < Number.POSITIVE_INFINITY ? Math.max(0, soonest - at) : null }
    },
    changed(buckets) {
      for (const bucket of buckets) {
        const { urgent, other } = gatesOf(bucket)
        Object.assign(urgent, unknownGate())
        Object.assign(other, unknownGate())
      }
      for (const queue of queues.values()) if (queue.buckets[0] === buckets[0]) queue.readyAt = null
    },
    ahead(bucket, urgency) {
      let ahead = 0
      for (const { buckets, calls } of queues.values()) {
        if (!buckets.includes(bucket)) continue
        for (const one of calls) if (rank(one) <= rank({ urgency })) ahead++
      }
      return ahead
    },
    drain() {
      const all = [...queues.values()].flatMap(({ calls }) => [...calls])
      queues.clear()
      return all
    },
  }
}

function unknownGate(): Gate {
  return { askedAt: Number.NEGATIVE_INFINITY, opensAt: Number.NEGATIVE_INFINITY }
}

/**
 * Where several live texts share a budget, each is edited less often: an edit that comes right after another shows next to
 * nothing new, and is missed later.
 */
function slowness(crowd: number): number {
  return Math.min(3, 1 + (crowd - 1) / 4)
}
