import type { Ask, CallState, Decision, PersonName } from '../../src/session/approvalTypes.ts'

export const THREAD = 'slack:T1:C1:1.0'
export const CALL = 'c12.0'
export const START = 1_000
export const EXPIRES_MS = 1_000

export const ANN: PersonName = { id: 'U1', name: 'Ann' }
export const BOB: PersonName = { id: 'U2', name: 'Bob' }
export const CYD: PersonName = { id: 'U3', name: 'Cyd' }
export const PEOPLE = [ANN, BOB, CYD]

/** A call as people are asked about it: by default the first version, one yes is enough. */
export function askFor({ version = 1, quorum = 1, at = START, generation = 0, callKey = CALL } = {}): Ask {
  return {
    ...{ v: 1, kind: 'call', callKey, version, at, expiresAt: at + EXPIRES_MS, requesters: [ANN], generation },
    rule: { who: 'anyone', quorum, expiresMs: EXPIRES_MS, always: true },
    tool: 'run_command',
    args: { command: `make v${version}` },
    preview: { summary: `make v${version}`, body: `make v${version}`, format: 'shell', fileName: 'command.sh' },
    always: { key: 'command:make', kind: 'command', detail: 'make' },
    ...(version > 1 && { editedBy: BOB }),
  }
}

export function questionFor(callKey = CALL): Ask {
  return {
    ...{ v: 1, kind: 'question', callKey, version: 1, at: START, expiresAt: START + EXPIRES_MS, requesters: [ANN] },
    rule: { who: 'anyone', quorum: 1, expiresMs: EXPIRES_MS, always: true },
    tool: 'ask_user',
    question: { text: 'Which one?', options: ['a', 'b'] },
  }
}

/** What people or the time decide, by its kind. */
export function decisionOf(
  kind: 'denied' | 'edited' | 'expired' | 'stopped' | 'always',
  by = BOB,
  at = START,
): Decision {
  const base = { v: 1, at, by } as const
  if (kind === 'edited') return { ...base, kind, args: { command: 'make edited' } }
  if (kind === 'always') return { ...base, by: null, kind, grantedBy: by }
  if (kind === 'expired') return { ...base, by: null, kind }
  return { ...base, kind }
}

/** What is wrong with what is stored of a call, whoever wrote it in whatever order; empty where all promises hold. */
export function flawsOf({ ask, votes, decision, earlier, attempts }: CallState): string[] {
  const flaws: string[] = []
  const versions = ask ? [...earlier, { ask, votes, ...(decision && { decision }) }] : []
  for (const [index, one] of versions.entries()) {
    const isLatest = index === versions.length - 1
    if (one.ask.version !== index + 1) flaws.push(`version ${one.ask.version} stands at place ${index + 1}`)
    if (!isLatest && one.decision?.kind !== 'edited')
      flaws.push(`version ${one.ask.version} has a next one without an edit`)
    if (one.votes.some(({ at }) => at >= one.ask.expiresAt)) flaws.push('a vote came after the end of the time')
    if (one.decision?.kind === 'approved') {
      const voters = new Set(one.decision.voters.map(({ id }) => id))
      if (voters.size !== one.decision.voters.length) flaws.push('somebody counts twice')
      if (voters.size < one.ask.rule.quorum) flaws.push('approved by too few')
      if (![...voters].every((id) => one.votes.some(({ by }) => by.id === id))) flaws.push('a voter never voted')
    }
  }
  const mayRun = decision?.kind === 'approved' || decision?.kind === 'always'
  if (attempts.length > 0 && !mayRun) flaws.push('begun without a yes')
  for (const [index, { number, end }] of attempts.entries()) {
    if (number !== index + 1) flaws.push(`attempt ${number} stands at place ${index + 1}`)
    if (index < attempts.length - 1 && end?.kind !== 'again')
      flaws.push(`attempt ${number} was followed though not closed`)
  }
  return flaws
}
