import type { IncomingCommand, IncomingMessage, IncomingStop } from '../platform/platform.ts'
import { createTurns } from '../shared/turns.ts'
import { eventKey, numberOf, openKeys, threadKeys } from './keys.ts'
import type { Store } from './store.ts'

/** What waits in a thread's inbox. */
export type InboxEvent =
  | { kind: 'message'; id: string; aliases: string[]; message: IncomingMessage }
  | { kind: 'command'; id: string; aliases: string[]; command: IncomingCommand }
  | { kind: 'stop'; id: string; aliases: string[]; stop: IncomingStop }

export interface InboxSlot {
  slot: number
  event: InboxEvent
}

/**
 * The door to a thread's turn: durable, in order, each event once. `deliver` resolves when the event is in the store, its
 * thread is in the open-work index and the scheduler has been woken, also for a duplicate (the first delivery may have died
 * between writing and waking).
 */
export interface Inbox {
  deliver(threadKey: string, event: InboxEvent): Promise<'accepted' | 'duplicate'>
  /** Events from `slot` on, in order; at most `limit` (default 100). Numbers may have gaps: some slots turn out void. */
  read(threadKey: string, slot: number, limit?: number): Promise<InboxSlot[]>
  /** Removes slots below `slot`: their events are in the log. */
  trim(threadKey: string, slot: number): Promise<void>
  /** Takes the thread out of the open-work index unless something came since: to be called when all is answered and shown. */
  close(threadKey: string, nextSlot: number): Promise<void>
  /** Threads with open work, for the sweep. */
  open(): Promise<string[]>
}

export interface InboxParts {
  store: Store
  /** Has the thread's handler run soon; `Scheduler.wake`. */
  wake(threadKey: string): Promise<void>
}

/** Longer than any platform redelivers (Slack: about an hour, Discord's catch-up: as long as the bot was away). */
const REMEMBER_EVENTS_MS = 7 * 24 * 3_600_000
const DEFAULT_READ = 100
const PAGE = 1_000

/** Which slot an event belongs to: written once per id by put-if-absent, and what it says is final. */
interface Claim {
  thread: string
  slot: number
}

/** What a slot holds after its event turned out to have another one. */
const VOID = { void: true } as const
type SlotValue = InboxEvent | typeof VOID

/**
 * An event goes into the next free slot first; then its ids are claimed for that slot. Two deliveries of one event may both
 * write a slot, but only one can win the claim, and a slot counts only if all its event's ids are claimed for it. The reader
 * asks (and where a delivery died between the two writes, makes) that claim as well, so whoever comes first decides, once.
 *
 * The open-work index has an entry per slot, so that closing one event can never hide a later one.
 */
export function createInbox({ store, wake }: InboxParts): Inbox {
  const inTurn = createTurns()

  /** Writes the event at the next free number and answers that number. */
  async function takeSlot(thread: string, event: InboxEvent): Promise<number> {
    let candidate = await nextFree(thread)
    for (;;) {
      if (await store.putIfAbsent<SlotValue>(threadKeys.slot(thread, candidate), event)) {
        // A slot that was used up and trimmed between our look and our write is free again, but nobody reads it any more.
        const floor = await floorOf(thread)
        if (candidate >= floor) return candidate
        await store.delete(threadKeys.slot(thread, candidate))
        candidate = floor
      } else candidate++
    }
  }

  async function nextFree(thread: string): Promise<number> {
    const floor = await floorOf(thread)
    const last = (await slotKeys(thread, floor)).at(-1)
    return last === undefined ? floor : numberOf(last) + 1
  }

  /** The highest floor that any run has set: a run that froze and sets a lower one later changes nothing. */
  async function floorOf(thread: string): Promise<number> {
    const last = (await listAll(store, threadKeys.floors(thread))).at(-1)
    return last === undefined ? 0 : numberOf(last)
  }

  async function raiseFloor(thread: string, slot: number): Promise<void> {
    if (slot <= (await floorOf(thread))) return
    await store.set(threadKeys.floor(thread, slot), true)
    const lower = (await listAll(store, threadKeys.floors(thread))).filter((key) => numberOf(key) < slot)
    for (const key of lower) await store.delete(key)
  }

  async function slotKeys(thread: string, from: number): Promise<string[]> {
    return listAll(store, threadKeys.slots(thread), from === 0 ? undefined : threadKeys.slot(thread, from - 1))
  }

  /** True if the event belongs to this slot. Ids are claimed in one order everywhere, and the first loss ends it. */
  async function belongs(thread: string, slot: number, event: InboxEvent): Promise<boolean> {
    for (const key of claimKeys(event)) {
      const claim: Claim = { thread, slot }
      if (await store.putIfAbsent(key, claim, REMEMBER_EVENTS_MS)) continue
      const winner = await store.get<Claim>(key)
      if (winner?.thread !== thread || winner.slot !== slot) return false
    }
    return true
  }

  async function deliver(thread: string, event: InboxEvent): Promise<'accepted' | 'duplicate'> {
    const earlier = (await store.getMany<Claim>(claimKeys(event))).find((claim) => claim !== undefined)
    if (earlier) {
      await announce(earlier)
      return 'duplicate'
    }
    const slot = await takeSlot(thread, event)
    if (await belongs(thread, slot, event)) {
      await announce({ thread, slot })
      return 'accepted'
    }
    await store.set<SlotValue>(threadKeys.slot(thread, slot), VOID)
    await wake(thread)
    return 'duplicate'
  }

  /** Puts the slot into the open-work index, then wakes. Harmless where the event was handled long ago. */
  async function announce({ thread, slot }: Claim): Promise<void> {
    await store.set(openKeys.slot(thread, slot), thread)
    await wake(thread)
  }

  /** The event of a slot, if it is that event's own slot. */
  async function eventOf(thread: string, slot: number, value: SlotValue | undefined): Promise<InboxEvent | undefined> {
    if (value === undefined || 'void' in value) return undefined
    if (await belongs(thread, slot, value)) return value
    await store.set<SlotValue>(threadKeys.slot(thread, slot), VOID)
    return undefined
  }

  async function read(thread: string, from: number, limit = DEFAULT_READ): Promise<InboxSlot[]> {
    const keys = await slotKeys(thread, from)
    // Asked after the look at the slots: a write that came too late for its number (see `takeSlot`) lies below by now.
    const floor = await floorOf(thread)
    const found: InboxSlot[] = []
    for (const key of keys) {
      if (found.length >= limit) break
      const slot = numberOf(key)
      if (slot < floor) continue
      const event = await eventOf(thread, slot, await store.get<SlotValue>(key))
      if (event) found.push({ slot, event })
    }
    return found
  }

  return {
    deliver: (thread, event) => inTurn(thread, () => deliver(thread, event)),

    read,

    async trim(thread, slot) {
      const keys = (await slotKeys(thread, 0)).filter((key) => numberOf(key) < slot)
      if (keys.length === 0) return
      // The floor first: from then on nobody counts a slot below it as free.
      await raiseFloor(thread, slot)
      for (const key of keys) await store.delete(key)
    },

    async close(thread, nextSlot) {
      for (const key of await listAll(store, openKeys.thread(thread))) {
        const slot = numberOf(key)
        const done = slot < nextSlot || (await read(thread, slot, 1))[0]?.slot !== slot
        if (done) await store.delete(key)
      }
    },

    async open() {
      const threads = new Set<string>()
      const keys = await listAll(store, openKeys.all)
      for (let at = 0; at < keys.length; at += PAGE) {
        for (const thread of await store.getMany<string>(keys.slice(at, at + PAGE))) if (thread) threads.add(thread)
      }
      return [...threads]
    },
  }
}

function claimKeys(event: InboxEvent): string[] {
  return [...new Set([event.id, ...event.aliases].map(eventKey))].sort()
}

async function listAll(store: Store, prefix: string, after?: string): Promise<string[]> {
  const all: string[] = []
  for (;;) {
    const last = all.at(-1) ?? after
    const keys = await store.list(prefix, { ...(last === undefined ? {} : { after: last }), limit: PAGE })
    all.push(...keys)
    if (keys.length < PAGE) return all
  }
}
