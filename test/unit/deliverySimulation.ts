import type { Leftover, Outbox, OutboxEntry, StoredCuts } from '../../src/delivery/outbox.ts'
import type { SetTimer } from '../../src/delivery/timers.ts'
import type { ChatPlatform, MessageBody, PlatformLimits } from '../../src/platform/platform.ts'
import { PlatformError } from '../../src/shared/errors.ts'
import type { MessageRef, ThreadRef } from '../../src/shared/thread.ts'

/** A clock that jumps from timer to timer: a minute of waiting takes no time, and nothing happens by luck. */
export function createClock() {
  let time = 0
  let count = 0
  const timers: { at: number; order: number; callback: () => void }[] = []
  const setTimer: SetTimer = (callback, ms) => {
    const timer = { at: time + Math.max(0, ms), order: count++, callback }
    timers.push(timer)
    return () => {
      const index = timers.indexOf(timer)
      if (index >= 0) timers.splice(index, 1)
    }
  }
  /** Lets everything that waits for promises go on until it waits for a timer. */
  const settle = async () => {
    for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  async function runUntil(end: number) {
    for (;;) {
      await settle()
      timers.sort((a, b) => a.at - b.at || a.order - b.order)
      const next = timers[0]
      if (!next || next.at > end) break
      timers.shift()
      time = next.at
      next.callback()
    }
    time = Math.max(time, end)
  }
  return {
    now: () => time,
    setTimer,
    sleep: (ms: number) => new Promise<void>((resolve) => void setTimer(resolve, ms)),
    advance: (ms: number) => runUntil(time + ms),
    pending: () => timers.length,
    /** Runs the clock until the promise has settled, at most `ms`. */
    async until<T>(promise: Promise<T>, ms = 3_600_000): Promise<T> {
      let done = false
      const watched = promise.finally(() => {
        done = true
      })
      watched.catch(() => {})
      for (const end = time + ms; !done && time < end; ) {
        await settle()
        if (!done) await runUntil(Math.min(end, timers.length ? Math.min(...timers.map(({ at }) => at)) : end))
      }
      if (!done) throw new Error('still waiting when the time was over')
      return watched
    },
  }
}
export type Clock = ReturnType<typeof createClock>

export interface Shown {
  ref: MessageRef
  key: string
  body: MessageBody
  removed: boolean
}

export type Call = { method: 'post' | 'edit' | 'remove'; key: string; at: number; body?: MessageBody }

/** What a call meets. `after`: it takes effect and is then reported as failed. */
export type Fate = { delayMs?: number; error?: PlatformError; after?: boolean }

export const THREAD: ThreadRef = { platform: 'slack', account: 'T1', id: 'C1:1.0', channel: 'C1', thread: '1.0' }

/** A platform in memory that is slow, refuses and forgets as it is told, and notes whatever must not happen. */
export function createSimulatedPlatform(
  clock: Clock,
  options: { limits?: Partial<PlatformLimits>; size?: (markdown: string) => number; fate?: (call: Call) => Fate } = {},
) {
  const messages: Shown[] = []
  const calls: Call[] = []
  const violations: string[] = []
  const statuses: (string | null)[] = []
  const inFlight = new Set<string>()
  const fates = { next: options.fate ?? (() => ({})) }
  const limits: PlatformLimits = {
    text: 400,
    unit: 'utf16',
    calls: [{ calls: ['edit'], most: 50, perMs: 60_000, scope: 'account', burst: 10, reserve: 3 }],
    editIntervalMs: 1_000,
    fileBytes: 1_000_000,
    dialog: { fields: 5, characters: 4_000 },
    ...options.limits,
  }
  const size = options.size ?? ((markdown: string) => markdown.length)

  async function carryOut<T>(call: Call, id: string, effect: () => T): Promise<T> {
    calls.push(call)
    if (inFlight.has(id)) violations.push(`two calls in flight for ${id}`)
    inFlight.add(id)
    try {
      const { delayMs = 0, error, after }: Fate = fates.next(call)
      await clock.sleep(delayMs / 2)
      if (error && !after) throw error
      const result = effect()
      await clock.sleep(delayMs / 2)
      if (error) throw error
      return result
    } finally {
      inFlight.delete(id)
    }
  }

  function check(body: MessageBody) {
    if (body.markdown.trim() === '') violations.push('an empty text was sent')
    if (size(body.markdown) > limits.text) violations.push(`a text of ${size(body.markdown)} was sent`)
  }

  const byId = (ref: MessageRef) => {
    const found = messages.find((message) => message.ref.id === ref.id)
    if (!found || found.removed) throw new PlatformError('notFound', 'message_not_found', 'gone')
    return found
  }

  const platform = {
    name: 'slack',
    limits,
    size,
    post(_thread: ThreadRef, body: MessageBody, { key, inDoubt }: { key: string; inDoubt?: boolean }) {
      return carryOut({ method: 'post', key, at: clock.now(), body }, key, () => {
        check(body)
        const known = messages.find((message) => message.key === key && !message.removed)
        if (known && inDoubt) return known.ref
        if (known) violations.push(`${key} was posted twice`)
        const ref = { channel: 'C1', id: String(messages.length + 1) }
        messages.push({ ref, key, body, removed: false })
        return ref
      })
    },
    edit(_thread: ThreadRef, ref: MessageRef, body: MessageBody) {
      const key = messages.find((message) => message.ref.id === ref.id)?.key ?? ref.id
      return carryOut({ method: 'edit', key, at: clock.now(), body }, key, () => {
        check(body)
        byId(ref).body = body
      })
    },
    remove(_thread: ThreadRef, ref: MessageRef) {
      const key = messages.find((message) => message.ref.id === ref.id)?.key ?? ref.id
      return carryOut({ method: 'remove', key, at: clock.now() }, key, () => {
        const found = messages.find((message) => message.ref.id === ref.id)
        if (found) found.removed = true
      })
    },
    status: async (_thread: ThreadRef, text: string | null) => {
      statuses.push(text)
    },
  } as unknown as ChatPlatform

  return {
    platform,
    calls,
    violations,
    statuses,
    fates,
    /** What people see, in the order of the thread. */
    visible: () => messages.filter(({ removed }) => !removed),
    removeByHand: (index: number) => {
      messages[index]!.removed = true
    },
  }
}

export function createMemoryOutbox() {
  const entries = new Map<string, OutboxEntry>()
  const cuts = new Map<string, StoredCuts>()
  const leftovers = new Map<string, Leftover>()
  const outbox: Outbox = {
    find: async (key) => entries.get(key),
    intend: async (key) => void entries.set(key, { state: 'intended' }),
    posted: async (key, ref) => void entries.set(key, { state: 'posted', ref }),
    async settled(key) {
      const entry = entries.get(key)
      if (!entry || entry.state === 'intended') throw new Error(`${key} is settled before it was posted`)
      entries.set(key, { state: 'settled', ref: entry.ref })
    },
    forget: async (key) => void entries.delete(key),
    cut: async (key, stored) => void cuts.set(key, stored),
    cuts: async (key) => cuts.get(key),
    leave: async (one) => void leftovers.set(one.key, one),
    leftover: async (key) => leftovers.get(key),
    leftovers: async () => [...leftovers.values()],
    tidied: async (key) => void leftovers.delete(key),
  }
  return { outbox, entries, cuts, leftovers }
}
