import type { Ask, Attempt, AttemptEnd, Begin, CallState, Decision, Version, Vote } from './approvalTypes.ts'
import { readAll } from './entries.ts'
import { approvalKeys } from './keys.ts'
import type { Store } from './store.ts'

/** Everything known of a call, by one listing and one read. */
export async function readCall(store: Store, thread: string, callKey: string): Promise<CallState> {
  return foldCall(await readAll(store, approvalKeys.call(thread, callKey)))
}

/**
 * Entries of a call, in any order, as one state; pure. The names are `v0001/ask`, `v0001/vote/ID`, `v0001/decision`,
 * `a0001/begin` and `a0001/end`.
 */
export function foldCall(entries: readonly (readonly [name: string, value: unknown])[]): CallState {
  const versions = new Map<number, { ask?: Ask; votes: Vote[]; decision?: Decision }>()
  const attempts = new Map<number, { begin?: Begin; end?: AttemptEnd }>()
  for (const [name, value] of entries) {
    const [group = '', what] = name.split('/')
    const number = Number(group.slice(1))
    if (group[0] === 'v') {
      const version = versions.get(number) ?? { votes: [] }
      versions.set(number, version)
      if (what === 'ask') version.ask = value as Ask
      if (what === 'vote') version.votes.push(value as Vote)
      if (what === 'decision') version.decision = value as Decision
    } else {
      const attempt = attempts.get(number) ?? {}
      attempts.set(number, attempt)
      if (what === 'begin') attempt.begin = value as Begin
      if (what === 'end') attempt.end = value as AttemptEnd
    }
  }
  const asked = [...versions.values()].filter((version): version is Version => version.ask !== undefined)
  asked.sort((a, b) => a.ask.version - b.ask.version)
  for (const { votes } of asked) votes.sort((a, b) => a.at - b.at || (a.by.id < b.by.id ? -1 : 1))
  const latest = asked.at(-1)
  return {
    ...latest,
    votes: latest?.votes ?? [],
    earlier: asked.slice(0, -1),
    attempts: [...attempts]
      .sort(([a], [b]) => a - b)
      .flatMap(([number, { begin, end }]) => (begin ? [attemptOf(number, begin, end)] : [])),
  }
}

function attemptOf(number: number, { at, givenUpBy }: Begin, end: AttemptEnd | undefined): Attempt {
  if (givenUpBy) return { number, begunAt: at, end: { kind: 'skip', at, by: givenUpBy, neverRan: true } }
  return { number, begunAt: at, ...(end && { end }) }
}

/** The version of a call with this number, whether or not it is the latest. */
export function versionOf(state: CallState, number: number): Version | undefined {
  const { ask, votes, decision } = state
  if (ask?.version === number) return { ask, votes, ...(decision && { decision }) }
  return state.earlier.find((one) => one.ask.version === number)
}

/** The number of the attempt that may be begun now; `null` where none may. */
export function nextAttempt({ decision, attempts }: CallState): number | null {
  if (decision?.kind !== 'approved' && decision?.kind !== 'always') return null
  const last = attempts.at(-1)
  if (!last) return 1
  return last.end?.kind === 'again' ? last.number + 1 : null
}

/**
 * The decision that is due though nobody wrote it: of votes that were complete before a crash, or of the end of the time.
 * Votes come first, because they were taken while there was time.
 */
export function dueDecision({ ask, votes, decision }: Pick<CallState, 'ask' | 'votes' | 'decision'>, now: number) {
  if (!ask || decision) return null
  if (ask.kind === 'call' && votes.length >= ask.rule.quorum) return agreed(votes, votes.at(-1)!.by, now)
  const expired: Decision = { v: 1, at: now, by: null, kind: 'expired' }
  return ask.expiresAt <= now ? expired : null
}

/** The decision that a quorum of votes is; `by` is whose vote completed it. */
export function agreed(votes: readonly Vote[], by: Vote['by'], at: number): Decision {
  const voters = votes.map((one) => one.by)
  return { v: 1, at, by, kind: 'approved', voters, always: votes.every(({ always }) => always) }
}
