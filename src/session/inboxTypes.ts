import type { IncomingCommand, IncomingMessage } from '../platform/platform.ts'

/** What waits in a thread's inbox. */
export type InboxEvent =
  | { kind: 'message'; id: string; aliases: string[]; message: IncomingMessage }
  | { kind: 'command'; id: string; aliases: string[]; command: IncomingCommand }

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
  /** Events from `slot` on, in order. */
  read(threadKey: string, slot: number, limit?: number): Promise<InboxSlot[]>
  /** Removes slots below `slot`: their events are in the log. */
  trim(threadKey: string, slot: number): Promise<void>
  /** Takes the thread out of the open-work index unless something came since: to be called when all is answered and shown. */
  close(threadKey: string, nextSlot: number): Promise<void>
  /** Threads with open work, for the sweep. */
  open(): Promise<string[]>
}
