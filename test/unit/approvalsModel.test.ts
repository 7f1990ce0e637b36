/** Random sequences of what people and workers do, against a model that is a few plain fields. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createApprovals } from '../../src/session/approvals.ts'
import type { PersonName } from '../../src/session/approvalTypes.ts'
import { openStore } from '../../src/session/openStore.ts'
import { ANN, askFor, BOB, CALL, decisionOf, EXPIRES_MS, flawsOf, PEOPLE, START, THREAD } from './approvalAsks.ts'

const QUORUM = 2

/** A call as somebody would note it on paper who sees everything at once. */
class Paper {
  version = 0
  expiresAt = 0
  yes: string[] = []
  decision: string | null = null
  /** How each attempt ended; `null` while nobody knows. */
  attempts: (string | null)[] = []

  ask(version: number, now: number): boolean {
    const isNext = version === this.version + 1 && (version === 1 || this.decision === 'edited')
    if (isNext) Object.assign(this, { version, expiresAt: now + EXPIRES_MS, yes: [], decision: null })
    return isNext
  }

  vote({ id }: PersonName, version: number, now: number): string {
    if (version !== this.version) return 'stale'
    if (this.#over(now)) return 'decided'
    if (this.yes.includes(id)) return 'again'
    this.yes.push(id)
    if (this.yes.length < QUORUM) return 'counted'
    this.decision = 'approved'
    return 'decided, won'
  }

  decide(kind: string, version: number, now: number): boolean {
    if (version !== this.version || this.#over(now)) return false
    this.decision = kind
    return true
  }

  begin(attempt: number): boolean {
    const mayRun = this.decision === 'approved' || this.decision === 'always'
    const follows = this.attempts.length === 0 || this.attempts.at(-1) === 'again'
    if (!mayRun || !follows || attempt !== this.attempts.length + 1) return false
    this.attempts.push(null)
    return true
  }

  end(attempt: number, kind: string): boolean {
    if (this.attempts[attempt - 1] !== null) return false
    this.attempts[attempt - 1] = kind
    return true
  }

  giveUp(now: number): void {
    if (this.version > 0 && !this.#over(now)) this.decision = 'stopped'
    while (this.begin(this.attempts.length + 1));
    this.end(this.attempts.length, 'skip')
  }

  #over(now: number): boolean {
    if (this.version > 0 && this.decision === null && now >= this.expiresAt) this.decision = 'expired'
    return this.decision !== null
  }
}

const version = fc.constantFrom(1, 1, 1, 2, 2, 3)
const attempt = fc.constantFrom(1, 1, 2, 3)
const step = fc.oneof(
  fc.record({ do: fc.constant('ask' as const), version }),
  { weight: 3, arbitrary: fc.record({ do: fc.constant('vote' as const), by: fc.constantFrom(...PEOPLE), version }) },
  fc.record({
    do: fc.constant('decide' as const),
    kind: fc.constantFrom('denied', 'stopped', 'always', 'edited', 'edited'),
    version,
  }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant('begin' as const), attempt }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      attempt,
      kind: fc.constantFrom('finished', 'again', 'again', 'skip'),
    }),
  },
  fc.record({ do: fc.constant('confirm' as const), attempt }),
  fc.record({ do: fc.constant('giveUp' as const) }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 1, EXPIRES_MS) }),
)

it('whatever is done in whatever order, what is stored is what somebody would have noted on paper', async () => {
  const steps = fc.array(step, { minLength: 1, maxLength: 40, size: 'max' })
  await fc.assert(
    fc.asyncProperty(steps, async (plan) => {
      let now = START
      const approvals = createApprovals(await openStore('memory:'), () => now)
      const paper = new Paper()
      const succeeds = (task: Promise<unknown>) =>
        task.then(
          () => true,
          () => false,
        )
      await approvals.ask(THREAD, askFor({ quorum: QUORUM }))
      paper.ask(1, now)
      for (const one of plan) {
        switch (one.do) {
          case 'ask': {
            const ask = askFor({ version: one.version, quorum: QUORUM, at: now })
            const outcome = await approvals.ask(THREAD, ask).catch(() => 'refused')
            expect(outcome === 'asked').toBe(paper.ask(one.version, now))
            break
          }
          case 'vote': {
            const outcome = await approvals.vote(THREAD, CALL, one.version, one.by, { always: false })
            const told = outcome.kind === 'decided' && outcome.won ? 'decided, won' : outcome.kind
            expect(told).toBe(paper.vote(one.by, one.version, now))
            break
          }
          case 'decide': {
            const decision = decisionOf(one.kind, BOB, now)
            const outcome = await approvals.decide(THREAD, CALL, one.version, decision).catch(() => ({ won: false }))
            expect(outcome.won).toBe(paper.decide(one.kind, one.version, now))
            break
          }
          case 'begin':
            expect((await approvals.begin(THREAD, CALL, one.attempt)) === 'won').toBe(paper.begin(one.attempt))
            break
          case 'end': {
            const end =
              one.kind === 'finished'
                ? ({ kind: one.kind, at: now, text: '', failed: false } as const)
                : ({ kind: one.kind, at: now, by: ANN } as const)
            const outcome = await approvals.end(THREAD, CALL, one.attempt, end).catch(() => ({ won: false }))
            expect(outcome.won).toBe(paper.end(one.attempt, one.kind))
            break
          }
          case 'confirm':
            expect(await succeeds(approvals.confirm(THREAD, CALL, one.attempt))).toBe(
              paper.attempts[one.attempt - 1] === null,
            )
            break
          case 'giveUp':
            await approvals.giveUp(THREAD, CALL, ANN)
            paper.giveUp(now)
            break
          default:
            now += one.ms
        }
      }
      const state = await approvals.state(THREAD, CALL)
      expect(flawsOf(state)).toEqual([])
      expect({
        version: state.ask?.version,
        yes: state.votes.map(({ by }) => by.id).toSorted(),
        decision: state.decision?.kind ?? null,
        attempts: state.attempts.map(({ end }) => end?.kind ?? null),
      }).toEqual({
        version: paper.version,
        yes: paper.yes.toSorted(),
        decision: paper.decision,
        attempts: paper.attempts,
      })
      expect(await approvals.open(THREAD)).toEqual(paper.decision === null ? [CALL] : [])
    }),
    { numRuns: 250 },
  )
})
