import { foldCall } from './approvalState.ts'
import type { AlwaysGrant, FreshStart } from './approvals.ts'
import type { Ask, Attempt, CallState, Decision, PersonName, Version } from './approvalTypes.ts'
import { partsUnder, readAll } from './entries.ts'
import { approvalKeys, switchKeys } from './keys.ts'
import type { Store } from './store.ts'
import { scopeName, type ToolSwitch } from './toolSwitches.ts'
import type { Place } from './usage.ts'

/** One thing that happened to a call, or to what may run without asking. */
export interface AuditEntry {
  /** Milliseconds since the epoch. */
  at: number
  /** Key of the thread; for switches of a channel its name. */
  thread: string
  what:
    | 'asked'
    | 'voted'
    | 'approved'
    | 'allowed by always'
    | 'denied'
    | 'edited'
    | 'answered'
    | 'expired'
    | 'stopped'
    | 'begun'
    | 'finished'
    | 'run again'
    | 'skipped'
    | 'always granted'
    | 'always reset'
    | 'switched on'
    | 'switched off'
  by: PersonName | null
  tool?: string
  callKey?: string
  /** Of the version, or of the attempt for `begun` and what ends it. */
  number?: number
  /** What is known beside that: arguments, a reason, whether it failed. */
  detail?: unknown
}

/** An entry and when it can have happened at the earliest: clocks of instances differ, but nothing precedes its cause. */
type Placed = AuditEntry & { since: number }

/**
 * What happened, made of the entries that decide: nothing can be decided without being here, and nothing here can be changed.
 * Of one thread (with the switches of its channel, if given), or of all and of channels; threads one after another, each in
 * the order of time. Holds the entries of one thread at a time.
 */
export async function* auditOf(store: Store, thread?: string, channel?: Place): AsyncGenerator<AuditEntry> {
  if (thread !== undefined) {
    yield* await entriesOf(store, thread, scopeName({ thread }), ...(channel ? [scopeName({ channel })] : []))
    return
  }
  for await (const name of partsUnder(store, approvalKeys.all)) {
    yield* await entriesOf(store, name, scopeName({ thread: name }))
  }
  for await (const scope of partsUnder(store, switchKeys.all)) {
    const name = scope.replace(/^thread:/, '')
    const isTold = name !== scope && (await store.list(approvalKeys.thread(name), { limit: 1 })).length > 0
    if (!isTold) yield* await entriesOf(store, name, scope)
  }
}

async function entriesOf(store: Store, thread: string, ...scopes: string[]): Promise<AuditEntry[]> {
  const calls = new Map<string, [name: string, value: unknown][]>()
  const entries: Placed[] = []
  for (const [key, value] of await readAll<unknown>(store, approvalKeys.thread(thread))) {
    const [group, callKey = '', ...name] = key.split('/')
    if (group === 'call') calls.set(callKey, [...(calls.get(callKey) ?? []), [name.join('/'), value]])
    else entries.push(group === 'always' ? granted(thread, value as AlwaysGrant) : reset(thread, value as FreshStart))
  }
  for (const call of calls.values()) entries.push(...historyOf(thread, foldCall(call)))
  for (const scope of scopes) {
    for (const [, entry] of await readAll<ToolSwitch>(store, switchKeys.scope(scope))) {
      entries.push(switched(scope.replace(/^thread:/, ''), entry))
    }
  }
  return entries.sort((a, b) => a.since - b.since).map(({ since: _, ...entry }) => entry)
}

function granted(thread: string, { at, by, scope }: AlwaysGrant): Placed {
  return { since: at, at, thread, what: 'always granted', by, detail: scope }
}

function reset(thread: string, { at, by }: FreshStart): Placed {
  return { since: at, at, thread, what: 'always reset', by }
}

function switched(thread: string, { at, by, tool, on }: ToolSwitch): Placed {
  return { since: at, at, thread, what: on ? 'switched on' : 'switched off', by, tool }
}

/** What happened to one call, in the order in which it can only have happened. */
function historyOf(thread: string, { earlier, attempts, ...latest }: CallState): Placed[] {
  if (!latest.ask) return []
  const { callKey, tool } = latest.ask
  const happened = [...[...earlier, latest as Version].flatMap(ofVersion), ...attempts.flatMap(ofAttempt)]
  let since = 0
  return happened.map(({ at, what, by, number, ...detail }) => {
    since = Math.max(since, at)
    return { since, at, thread, what, by, tool, callKey, number, ...detail }
  })
}

type Happened = Required<Pick<AuditEntry, 'at' | 'what' | 'by' | 'number'>> & { detail?: unknown }

function ofVersion({ ask, votes, decision }: Version): Happened[] {
  const number = ask.version
  return [
    { at: ask.at, what: 'asked', by: askedBy(ask), number, detail: askedWhat(ask) },
    ...votes.map(({ at, by, always }): Happened => {
      return { at, what: 'voted', by, number, ...(always && { detail: 'always' }) }
    }),
    ...(decision ? [{ ...decided(decision), at: decision.at, number }] : []),
  ]
}

function askedBy(ask: Ask): PersonName | null {
  return (ask.kind === 'call' && ask.editedBy) || ask.requesters.at(-1) || null
}

function askedWhat(ask: Ask): unknown {
  return ask.kind === 'call' ? { args: ask.args, summary: ask.preview.summary } : { question: ask.question.text }
}

function decided(decision: Decision): Pick<Happened, 'what' | 'by' | 'detail'> {
  const { by, kind } = decision
  switch (kind) {
    case 'always':
      return { what: 'allowed by always', by: decision.grantedBy }
    case 'approved':
      return {
        what: kind,
        by,
        detail: { voters: decision.voters.map(({ name }) => name), always: decision.always },
      }
    case 'denied':
      return { what: kind, by, ...(decision.reason && { detail: decision.reason }) }
    case 'edited':
      return { what: kind, by, detail: { args: decision.args } }
    case 'answered':
      return { what: kind, by, detail: decision.text }
    default:
      return { what: kind, by }
  }
}

function ofAttempt({ number, begunAt, end }: Attempt): Happened[] {
  if (end?.kind === 'skip' && end.neverRan) {
    return [{ at: end.at, what: 'skipped', by: end.by, number, detail: 'before it ran' }]
  }
  const begun: Happened = { at: begunAt, what: 'begun', by: null, number }
  if (!end) return [begun]
  if (end.kind === 'finished') {
    return [begun, { at: end.at, what: 'finished', by: null, number, detail: { failed: end.failed } }]
  }
  return [begun, { at: end.at, what: end.kind === 'again' ? 'run again' : 'skipped', by: end.by, number }]
}
