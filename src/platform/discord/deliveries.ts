import type { Log } from '../../shared/log.ts'
import { pause } from './pause.ts'

/** Pauses between attempts at the store: doubled each time from 250 ms, at most 30 s. */
export const FIRST_PAUSE_MS = 250
export const LONGEST_PAUSE_MS = 30_000
/** A delivery that failed for this long is given up; its thread is caught up once the inbox takes something again. */
const GIVE_UP_MS = 10 * 60_000

/** One thing to hand to the inbox. `order` is its snowflake: by time. */
export interface Delivery {
  /** The thread whose order it keeps. */
  lane: string
  order: string
  run(): Promise<void>
}

/**
 * Hands events to the inbox: in order within a thread, threads side by side, each tried again until the inbox has it, for
 * Discord tells everything once. While held, events only gather; they are sorted by time when they are let go, since
 * discord.js may tell those that came during its start late and out of order.
 */
export interface Deliveries {
  add(delivery: Delivery): void
  /** Gathers from here on, without handing over. */
  hold(): void
  /** Puts `first` at the head of their threads' queues, then lets go what gathered. */
  release(first?: readonly Delivery[]): void
  /** Takes nothing more; resolves when what is under way has been tried once more or taken. */
  stop(): Promise<void>
}

export function createDeliveries(options: {
  log: Log
  now: () => number
  /** The inbox takes deliveries again after some were given up. */
  onRecovered: () => void
}): Deliveries {
  const { log, now, onRecovered } = options
  const lanes = new Map<string, Promise<void>>()
  const stopping = new AbortController()
  let held: Delivery[] | undefined
  let givenUp = false

  async function persist(delivery: Delivery): Promise<void> {
    const since = now()
    for (let attempt = 0; !stopping.signal.aborted; attempt++) {
      try {
        await delivery.run()
        if (givenUp) {
          givenUp = false
          onRecovered()
        }
        return
      } catch (error) {
        if (now() - since > GIVE_UP_MS) {
          givenUp = true
          log.error(
            { error, id: delivery.order, thread: delivery.lane },
            'an event could not be stored and is given up',
          )
          return
        }
        if (attempt === 0) log.warn({ error, id: delivery.order }, 'an event could not be stored; it is tried again')
        await pause(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt), stopping.signal)
      }
    }
  }

  function enqueue(delivery: Delivery): void {
    const before = lanes.get(delivery.lane) ?? Promise.resolve()
    const mine = before
      .then(() => persist(delivery))
      .finally(() => {
        if (lanes.get(delivery.lane) === mine) lanes.delete(delivery.lane)
      })
    lanes.set(delivery.lane, mine)
  }

  return {
    add(delivery) {
      if (stopping.signal.aborted) return
      if (held) held.push(delivery)
      else enqueue(delivery)
    },
    hold() {
      held ??= []
    },
    release(first = []) {
      const waiting = held ?? []
      held = undefined
      for (const delivery of first) enqueue(delivery)
      for (const delivery of waiting.sort(byTime)) enqueue(delivery)
    },
    async stop() {
      stopping.abort()
      held = undefined
      await Promise.all(lanes.values())
    },
  }
}

function byTime(a: Delivery, b: Delivery): number {
  const [left, right] = [BigInt(a.order), BigInt(b.order)]
  return left < right ? -1 : left > right ? 1 : 0
}
