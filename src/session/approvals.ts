import type { AlwaysScope } from '../tool/approval.ts'
import { StaleAttempt } from '../tool/approver.ts'
import { dueDecision, nextAttempt, readCall, versionOf } from './approvalState.ts'
import type { Ask, AttemptEnd, Begin, CallState, Decision, PersonName, Vote } from './approvalTypes.ts'
import { listAll } from './entries.ts'
import { approvalKeys, numberOf } from './keys.ts'
import type { Store } from './store.ts'

/** What became of a yes. */
export type VoteOutcome =
  | { kind: 'counted'; have: number; need: number }
  /** The version is decided: by this person's vote if `won`, else by somebody before or by the end of its time. */
  | { kind: 'decided'; decision: Decision; won: boolean }
  /** This person has said yes to this version before. */
  | { kind: 'again'; have: number; need: number }
  /** There is no such version, or a newer one. */
  | { kind: 'stale' }

/**
 * What people were asked, what they said and what was begun, for all threads. Every part is put if absent and never changed:
 * the first one to say something is the one who said it, over all instances, and the entries are their own audit log. What
 * a crash left half done (enough votes and no decision, an end of the time that nobody noticed) is done by whoever votes or
 * decides next, before anything else.
 */
export interface Approvals {
  state(thread: string, callKey: string): Promise<CallState>
  /** Keeps an ask; `known` where this version is there already. Rejects for a version that no edit has made. */
  ask(thread: string, ask: Ask): Promise<'asked' | 'known'>
  /** A person's yes to a call. The last one that the quorum needs decides. */
  vote(
    thread: string,
    callKey: string,
    version: number,
    by: PersonName,
    options: { always: boolean },
  ): Promise<VoteOutcome>
  /**
   * Decides a version otherwise; whoever is second gets the decision that stands. Rejects for a version that nobody was
   * asked about, for an approval that the votes do not make, and for a decision that is none of this kind of ask.
   */
  decide(
    thread: string,
    callKey: string,
    version: number,
    decision: Decision,
  ): Promise<{ won: boolean; decision: Decision }>
  /** Claims an attempt of an approved call. Attempts follow one another only where people ended one with `again`. */
  begin(thread: string, callKey: string, attempt: number): Promise<'won' | 'lost'>
  /** Ends an attempt, once; `won` is false where it had ended. Rejects where it was never begun. */
  end(thread: string, callKey: string, attempt: number, end: AttemptEnd): Promise<{ won: boolean; end: AttemptEnd }>
  /** Rejects with `StaleAttempt` where the attempt has ended or was given up. */
  confirm(thread: string, callKey: string, attempt: number): Promise<void>
  /**
   * Gives a call up: what waits is decided `stopped`, what was approved can't be begun any more (also by a worker that slept
   * through all this), what was begun ends as skipped. Resolves to the state after that.
   */
  giveUp(thread: string, callKey: string, by: PersonName): Promise<CallState>
  /** Calls of the thread whose latest version waits for people. */
  open(thread: string): Promise<string[]>
  /** Counts the fresh starts of the thread. */
  generation(thread: string): Promise<number>
  /** A fresh start: what was granted "always" before counts no more. */
  resetAlways(thread: string, by: PersonName): Promise<void>
  grantAlways(thread: string, generation: number, scope: AlwaysScope, by: PersonName): Promise<void>
  /** Who granted it, if it is granted. */
  alwaysFor(thread: string, generation: number, scopeKey: string): Promise<PersonName | undefined>
}

/** What a grant and a fresh start hold. */
export interface AlwaysGrant {
  at: number
  by: PersonName
  scope: AlwaysScope
}

export interface FreshStart {
  at: number
  by: PersonName
}

export function createApprovals(store: Store, now: () => number = Date.now): Approvals {
  const state = (thread: string, callKey: string) => readCall(store, thread, callKey)

  async function put(thread: string, { callKey, version }: Ask, decision: Decision) {
    const key = approvalKeys.decision(thread, callKey, version)
    const won = await store.putIfAbsent(key, decision)
    // The index is a help for `open`, which cleans it, too: a decision that is written must not fail for it.
    if (won && decision.kind !== 'edited') await store.delete(approvalKeys.openCall(thread, callKey)).catch(() => {})
    return { won, decision: won ? decision : (await store.get<Decision>(key))! }
  }

  async function decide(thread: string, callKey: string, version: number, decision: Decision) {
    const there = versionOf(await state(thread, callKey), version)
    if (!there) throw new RangeError(`nobody was asked about version ${version} of the call ${callKey}`)
    if (there.decision) return { won: false, decision: there.decision }
    const due = dueDecision(there, now())
    if (due) {
      const outcome = await put(thread, there.ask, due)
      return { ...outcome, won: outcome.won && due.kind === decision.kind }
    }
    checkKind(there.ask, decision)
    return put(thread, there.ask, decision)
  }

  async function vote(
    thread: string,
    callKey: string,
    version: number,
    by: PersonName,
    { always }: { always: boolean },
  ): Promise<VoteOutcome> {
    const before = await state(thread, callKey)
    const { ask, decision } = before
    if (ask?.kind !== 'call' || ask.version !== version) return { kind: 'stale' }
    if (decision) return { kind: 'decided', decision, won: false }
    const entry: Vote = { by, at: now(), always }
    const due = dueDecision(before, entry.at)
    if (due) return decidedFor(by, (await put(thread, ask, due)).decision)
    const isNew = await store.putIfAbsent(approvalKeys.vote(thread, callKey, version, by.id), entry)

    const after = await state(thread, callKey)
    if (after.ask?.version !== version) return { kind: 'stale' }
    if (after.decision) return decidedFor(by, after.decision)
    const dueNow = dueDecision(after, now())
    // Clocks of instances differ, so the latest vote by its time may be another one than the one that completed them.
    const completed = dueNow?.kind === 'approved' && isNew ? { ...dueNow, by } : dueNow
    if (completed) return decidedFor(by, (await put(thread, ask, completed)).decision)
    return { kind: isNew ? 'counted' : 'again', have: after.votes.length, need: ask.rule.quorum }
  }

  async function begin(thread: string, callKey: string, attempt: number, entry: Begin): Promise<'won' | 'lost'> {
    if (attempt !== nextAttempt(await state(thread, callKey))) return 'lost'
    return (await store.putIfAbsent(approvalKeys.begin(thread, callKey, attempt), entry)) ? 'won' : 'lost'
  }

  /** How an attempt that was begun has ended, if it has. */
  async function endOf(thread: string, callKey: string, attempt: number): Promise<AttemptEnd | undefined> {
    const { attempts } = await state(thread, callKey)
    const found = attempts.find(({ number }) => number === attempt)
    if (!found) throw new RangeError(`attempt ${attempt} of the call ${callKey} was never begun`)
    return found.end
  }

  async function end(thread: string, callKey: string, attempt: number, wanted: AttemptEnd) {
    const before = await endOf(thread, callKey, attempt)
    if (before) return { won: false, end: before }
    const key = approvalKeys.end(thread, callKey, attempt)
    const won = await store.putIfAbsent(key, wanted)
    return { won, end: won ? wanted : (await store.get<AttemptEnd>(key))! }
  }

  async function generation(thread: string): Promise<number> {
    const last = (await listAll(store, approvalKeys.generations(thread))).at(-1)
    return last === undefined ? 0 : numberOf(last)
  }

  return {
    state,

    async ask(thread, ask) {
      const { callKey, version } = ask
      if (version > 1) {
        const before = await store.get<Decision>(approvalKeys.decision(thread, callKey, version - 1))
        if (before?.kind !== 'edited') throw new RangeError(`no edit made version ${version} of the call ${callKey}`)
      }
      // The index first: a call that is asked about but not in it would not be found when all are to be denied.
      await store.set(approvalKeys.openCall(thread, callKey), callKey)
      const asked = await store.putIfAbsent(approvalKeys.ask(thread, callKey, version), ask)
      return asked ? 'asked' : 'known'
    },

    vote,
    decide,
    begin: (thread, callKey, attempt) => begin(thread, callKey, attempt, { at: now() }),
    end,

    async confirm(thread, callKey, attempt) {
      if (await endOf(thread, callKey, attempt)) throw new StaleAttempt(callKey, attempt)
    },

    async giveUp(thread, callKey, by) {
      // Each round ends one thing for good, and others may begin another one meanwhile only a few times.
      while (true) {
        const known = await state(thread, callKey)
        const { ask, decision, attempts } = known
        const next = nextAttempt(known)
        const last = attempts.at(-1)
        if (ask && !decision) await decide(thread, callKey, ask.version, { v: 1, at: now(), by, kind: 'stopped' })
        else if (next !== null) await begin(thread, callKey, next, { at: now(), givenUpBy: by })
        else if (last && !last.end) await end(thread, callKey, last.number, { kind: 'skip', at: now(), by })
        else return known
      }
    },

    async open(thread) {
      const found: string[] = []
      const keys = await listAll(store, approvalKeys.open(thread))
      for (const [index, callKey] of (await store.getMany<string>(keys)).entries()) {
        if (callKey === undefined) continue
        const { ask, decision } = await state(thread, callKey)
        if (ask && !decision) found.push(callKey)
        // An edited version waits for its successor, which needs the entry.
        // That it stays where it can't be deleted (a store that is only looked at) costs a look.
        else if (ask && decision?.kind !== 'edited') await store.delete(keys[index]!).catch(() => {})
      }
      return found
    },

    generation,

    async resetAlways(thread, by) {
      const start: FreshStart = { at: now(), by }
      let number = (await generation(thread)) + 1
      while (!(await store.putIfAbsent(approvalKeys.generation(thread, number), start))) number++
    },

    async grantAlways(thread, number, scope, by) {
      const grant: AlwaysGrant = { at: now(), by, scope }
      await store.putIfAbsent(approvalKeys.always(thread, number, scope.key), grant)
    },

    async alwaysFor(thread, number, scopeKey) {
      // A grant of an earlier start is void, and so is one that a slow run asks for after the next start.
      if (number !== (await generation(thread))) return undefined
      return (await store.get<AlwaysGrant>(approvalKeys.always(thread, number, scopeKey)))?.by
    },
  }
}

/** Whoever comes next takes what is due, so another one may have written what this person's vote decided. */
function decidedFor(by: PersonName, decision: Decision): VoteOutcome {
  return { kind: 'decided', decision, won: decision.kind === 'approved' && decision.by?.id === by.id }
}

const KINDS: Readonly<Record<Ask['kind'], readonly Decision['kind'][]>> = {
  call: ['always', 'denied', 'edited', 'expired', 'stopped'],
  question: ['answered', 'denied', 'expired', 'stopped'],
}

/** An approval is made of votes alone; anything else that does not fit the ask is a mistake of the caller. */
function checkKind(ask: Ask, { kind }: Decision): void {
  if (!KINDS[ask.kind].includes(kind)) throw new RangeError(`the ${ask.kind} ${ask.callKey} can't be decided "${kind}"`)
}
