/** A process that dies at any write: the next one finds a state that it can finish, and nothing counts twice for it. */
import { describe, expect, it } from 'vitest'
import { type Approvals, createApprovals } from '../../src/session/approvals.ts'
import type { CallState } from '../../src/session/approvalTypes.ts'
import { openStore } from '../../src/session/openStore.ts'
import { Died, dyingStore } from '../doubles/store/cutStore.ts'
import { ANN, askFor, BOB, CALL, CYD, decisionOf, flawsOf, START, THREAD } from './approvalAsks.ts'

type Task = (approvals: Approvals) => Promise<unknown>

/**
 * Runs a task in a process that dies before or after each of its writes in turn; then again, whole, in another process, as
 * people click again and runs are resumed. `check` says what has to hold in the end, whatever was cut.
 */
async function atEveryCut(before: Task, task: Task, check: (state: CallState, approvals: Approvals) => unknown) {
  let cuts = 0
  for (let at = 0; ; at++) {
    let died = false
    for (const when of ['before', 'after'] as const) {
      const store = await openStore('memory:')
      await before(createApprovals(store, () => START))
      const dying = createApprovals(dyingStore(store, at, when), () => START)
      // The last write of a decision is a clean-up that may fail unnoticed, so a death is not always told.
      await task(dying).catch((error: unknown) => {
        expect(error).toBeInstanceOf(Died)
        died = true
      })
      const next = createApprovals(store, () => START)
      expect(flawsOf(await next.state(THREAD, CALL))).toEqual([])
      await task(next)
      const state = await next.state(THREAD, CALL)
      expect(flawsOf(state)).toEqual([])
      expect(await next.open(THREAD)).toEqual(state.ask && !state.decision ? [CALL] : [])
      await check(state, next)
      cuts++
    }
    if (!died) return cuts
  }
}

const nothing: Task = async () => {}
const asked: Task = (approvals) => approvals.ask(THREAD, askFor({ quorum: 2 }))
const approved: Task = async (approvals) => {
  await asked(approvals)
  for (const by of [ANN, BOB]) await approvals.vote(THREAD, CALL, 1, by, { always: false })
}

describe('a death between any two writes', () => {
  it('of asking: the call is asked about and found', async () => {
    await atEveryCut(nothing, asked, ({ ask }) => expect(ask).toEqual(askFor({ quorum: 2 })))
  })

  it('of voting: enough votes are a decision, by whoever comes next', async () => {
    const vote: Task = async (approvals) => {
      for (const by of [ANN, BOB]) await approvals.vote(THREAD, CALL, 1, by, { always: true })
    }
    await atEveryCut(asked, vote, ({ votes, decision }) => {
      expect(decision).toMatchObject({ kind: 'approved', voters: [ANN, BOB], always: true })
      expect(votes.length).toBe(2)
    })
  })

  it('of the last vote: a no that comes then is too late, because all had said yes', async () => {
    const store = await openStore('memory:')
    const next = createApprovals(store, () => START)
    await asked(next)
    await next.vote(THREAD, CALL, 1, ANN, { always: false })
    const dying = createApprovals(dyingStore(store, 0, 'after'), () => START)
    await expect(dying.vote(THREAD, CALL, 1, BOB, { always: false })).rejects.toBeInstanceOf(Died)
    expect((await next.state(THREAD, CALL)).decision).toBeUndefined()
    const { won, decision } = await next.decide(THREAD, CALL, 1, decisionOf('denied', CYD))
    expect({ won, kind: decision.kind }).toEqual({ won: false, kind: 'approved' })
  })

  it('of an edit: the state says that the next version is to be asked about', async () => {
    const edit: Task = async (approvals) => {
      const { ask } = await approvals.state(THREAD, CALL)
      if (ask?.version === 1) await approvals.decide(THREAD, CALL, 1, decisionOf('edited'))
      const { ask: latest, decision } = await approvals.state(THREAD, CALL)
      if (decision?.kind === 'edited') await approvals.ask(THREAD, askFor({ version: latest!.version + 1, quorum: 2 }))
      await approvals.vote(THREAD, CALL, 2, BOB, { always: false })
    }
    await atEveryCut(asked, edit, ({ ask, earlier, votes, decision }) => {
      expect({ version: ask?.version, earlier: earlier.map((one) => one.decision?.kind) }).toEqual({
        version: 2,
        earlier: ['edited'],
      })
      expect({ voters: votes.map(({ by }) => by), decision }).toEqual({ voters: [BOB], decision: undefined })
    })
  })

  it('of running: the attempt counts as begun, and only people can close it', async () => {
    const effects: string[] = []
    const run: Task = async (approvals) => {
      const { attempts } = await approvals.state(THREAD, CALL)
      const attempt = (attempts.at(-1)?.number ?? 0) + 1
      if ((await approvals.begin(THREAD, CALL, attempt)) === 'lost') return
      await approvals.confirm(THREAD, CALL, attempt)
      effects.push('ran')
      await approvals.end(THREAD, CALL, attempt, { kind: 'finished', at: START, text: 'made', failed: false })
    }
    const cuts = await atEveryCut(approved, run, async ({ attempts }, approvals) => {
      expect(effects.length).toBeLessThanOrEqual(1)
      expect(attempts.length).toBe(1)
      if (!attempts[0]!.end) {
        await approvals.end(THREAD, CALL, 1, { kind: 'again', at: START, by: CYD })
        effects.length = 0
        await run(approvals)
        expect(effects).toEqual(['ran'])
      }
      effects.length = 0
    })
    expect(cuts).toBeGreaterThanOrEqual(4)
  })

  it.each([
    ['waits', asked],
    ['was approved', approved],
    [
      'was begun',
      (async (approvals) => {
        await approved(approvals)
        await approvals.begin(THREAD, CALL, 1)
      }) as Task,
    ],
  ])('of giving up a call that %s: it is given up by the next one', async (_, before) => {
    await atEveryCut(
      before,
      (approvals) => approvals.giveUp(THREAD, CALL, CYD),
      async ({ decision, attempts }, approvals) => {
        expect(decision?.kind === 'stopped' || attempts.at(-1)?.end?.kind === 'skip').toBe(true)
        for (const attempt of [1, 2]) expect(await approvals.begin(THREAD, CALL, attempt)).toBe('lost')
      },
    )
  })
})
