import { randomUUID } from 'node:crypto'
import type { Usage } from '../shared/message.ts'
import { usageKeys } from './keys.ts'
import type { Store } from './store.ts'
import { addCall, addTotals, noUsage, type UsageTotals } from './usageTotals.ts'

/** A person or a channel: the platform's id, with what makes it unique. */
export interface Place {
  platform: string
  account: string
  id: string
}

/** Whole days in UTC, both ends included, as in `2026-12-01`. */
export interface Days {
  from: string
  to: string
}

/** One model call, to be kept for ever. */
export interface ModelCall {
  /** Names the call, so that recording it again after a failure counts it once; give `at` with it. Default: a random one. */
  id?: string
  /** When it was made, in milliseconds since the epoch. Default: now. */
  at?: number
  /** Key of the thread. */
  thread: string
  /** Whose message it was for; `null` where nobody asked. */
  person: Place | null
  channel: Place | null
  model: string
  /** What the call was for. */
  purpose: 'agent' | 'subagent' | 'summary' | 'audit'
  usage: Usage
}

/** What is kept of a call: who and where stand in its keys. */
interface Entry {
  v: 1
  at: number
  model: string
  purpose: ModelCall['purpose']
  usage: Usage
}

/** Whose calls are added up. */
export type UsageScope =
  | { thread: string }
  | { person: Place }
  | { channel: Place }
  /** Everything that the bot did. */
  | 'all'

export interface UsageLedger {
  /** Keeps one call. Call it again after a failure, with the same `id`: it counts once. */
  record(call: ModelCall): Promise<void>
  /** The sum over a scope, of all times or of some days. */
  usageOf(scope: UsageScope, days?: Days): Promise<UsageTotals>
}

const HOUR_MS = 3_600_000
/** How long after its end an hour is still read call by call: longer than clocks differ and writes take. */
const GRACE_MS = 10 * 60_000
const PAGE = 1_000

/**
 * Usage over a store. Each call is put if absent, once per scope it belongs to; a total is always folded from those, and no
 * counter is ever overwritten. So that folds stay small, the sum of an hour is put if absent, too, by the first fold that
 * comes by ten minutes after the hour's end: a month of any scope is at most 744 sums and the calls of the last hours, and
 * two processes that add up the same hour write the same. A writer that stands still for longer than those minutes between
 * reading the clock and writing (a frozen machine) leaves its call out of an hour that was added up meanwhile.
 */
export function createUsageLedger(store: Store, now: () => number = Date.now): UsageLedger {
  const marked = createMarks(store)

  return {
    async record(call) {
      const { id = randomUUID(), at = now(), model, purpose, usage } = call
      const hour = hourOf(at)
      const entry: Entry = { v: 1, at, model, purpose, usage }
      await Promise.all(
        scopesOf(call).map(async (scope) => {
          // The hour first: a call whose hour no fold knows would never be counted.
          await marked(scope, hour)
          await store.putIfAbsent<Entry>(usageKeys.call(scope, hour, id), entry)
        }),
      )
    },

    async usageOf(scope, days) {
      const name = nameOf(scope)
      const totals = noUsage()
      for await (const hours of hoursOf(name, days)) {
        const sums = await store.getMany<UsageTotals>(hours.map((hour) => usageKeys.sum(name, hour)))
        for (const [index, hour] of hours.entries()) addTotals(totals, sums[index] ?? (await sumOf(name, hour)))
      }
      return totals
    },
  }

  /** Hours in which the scope has calls, ascending, in pages. */
  async function* hoursOf(scope: string, days: Days | undefined): AsyncGenerator<string[]> {
    const prefix = usageKeys.hours(scope)
    // `!` sorts before the `T` that follows the day in every hour's name.
    let after = days ? `${prefix}${days.from}!` : prefix
    while (true) {
      const keys = await store.list(prefix, { after, limit: PAGE })
      const hours = keys.map((key) => key.slice(prefix.length))
      const wanted = days ? hours.filter((hour) => hour.slice(0, DAY_CHARACTERS) <= days.to) : hours
      yield wanted
      if (keys.length < PAGE || wanted.length < hours.length) return
      after = keys.at(-1)!
    }
  }

  /** The calls of one hour added up; kept as their sum once the hour is over. */
  async function sumOf(scope: string, hour: string): Promise<UsageTotals> {
    const totals = noUsage()
    const prefix = usageKeys.calls(scope, hour)
    let after = prefix
    while (true) {
      const keys = await store.list(prefix, { after, limit: PAGE })
      for (const entry of await store.getMany<Entry>(keys)) if (entry) addCall(totals, entry.usage)
      if (keys.length < PAGE) break
      after = keys.at(-1)!
    }
    if (endOf(hour) + GRACE_MS <= now()) await store.putIfAbsent(usageKeys.sum(scope, hour), totals)
    return totals
  }
}

/** Marks that a scope has calls in an hour, without a write for each call: what this process marked last is remembered. */
function createMarks(store: Store): (scope: string, hour: string) => Promise<void> {
  let current = ''
  const known = new Set<string>()
  return async (scope, hour) => {
    if (hour !== current) known.clear()
    current = hour
    if (known.has(scope)) return
    await store.putIfAbsent(usageKeys.hour(scope, hour), true)
    if (hour === current) known.add(scope)
  }
}

/** A day in UTC, as in `2026-12-01`. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, DAY_CHARACTERS)
}

const DAY_CHARACTERS = 10

/** An hour in UTC, as in `2026-12-01T06`. */
function hourOf(at: number): string {
  return new Date(at).toISOString().slice(0, DAY_CHARACTERS + 3)
}

function endOf(hour: string): number {
  return Date.parse(`${hour}:00:00.000Z`) + HOUR_MS
}

function scopesOf({ thread, person, channel }: ModelCall): string[] {
  const scopes: UsageScope[] = ['all', { thread }]
  if (person) scopes.push({ person })
  if (channel) scopes.push({ channel })
  return scopes.map(nameOf)
}

function nameOf(scope: UsageScope): string {
  if (scope === 'all') return 'all'
  if ('thread' in scope) return `thread:${scope.thread}`
  if ('person' in scope) return `person:${placeName(scope.person)}`
  return `channel:${placeName(scope.channel)}`
}

function placeName({ platform, account, id }: Place): string {
  return `${platform}:${account}:${id}`
}
