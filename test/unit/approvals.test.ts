import { beforeEach, describe, expect, it } from 'vitest'
import { type Approvals, createApprovals } from '../../src/session/approvals.ts'
import type { Decision } from '../../src/session/approvalTypes.ts'
import { openStore } from '../../src/session/openStore.ts'
import type { Store } from '../../src/session/store.ts'
import { StaleAttempt } from '../../src/tool/approver.ts'
import { countingStore } from '../doubles/store/cutStore.ts'
import { ANN, askFor, BOB, CALL, CYD, decisionOf, EXPIRES_MS, questionFor, START, THREAD } from './approvalAsks.ts'

let store: Store
let approvals: Approvals
let clock: number
beforeEach(async () => {
  clock = START
  store = await openStore('memory:')
  approvals = createApprovals(store, () => clock)
})

const ask = (options?: Parameters<typeof askFor>[0]) => approvals.ask(THREAD, askFor(options))
const vote = (by = ANN, version = 1, always = false) => approvals.vote(THREAD, CALL, version, by, { always })
const decide = (kind: Parameters<typeof decisionOf>[0], by = BOB, version = 1) =>
  approvals.decide(THREAD, CALL, version, decisionOf(kind, by, clock))
const begin = (attempt = 1) => approvals.begin(THREAD, CALL, attempt)
const finish = (attempt = 1) =>
  approvals.end(THREAD, CALL, attempt, { kind: 'finished', at: clock, text: 'made', failed: false })
const close = (kind: 'again' | 'skip', attempt = 1) =>
  approvals.end(THREAD, CALL, attempt, { kind, at: clock, by: BOB })
const state = () => approvals.state(THREAD, CALL)

describe('asking', () => {
  it('keeps what is asked as it is; asked again, the first ask stands', async () => {
    expect(await state()).toEqual({ votes: [], earlier: [], attempts: [] })
    expect(await ask()).toBe('asked')
    expect(await ask({ quorum: 5, at: START + 7 })).toBe('known')
    expect(await state()).toEqual({ ask: askFor(), votes: [], earlier: [], attempts: [] })
  })

  it('lists calls that wait, and looks at no others', async () => {
    for (const callKey of ['c1.0', 'c1.1', 'c1.2']) await approvals.ask(THREAD, askFor({ callKey }))
    await approvals.ask('slack:T1:C1:2.0', askFor({ callKey: 'c9.0' }))
    expect(await approvals.open(THREAD)).toEqual(['c1.0', 'c1.1', 'c1.2'])
    await approvals.vote(THREAD, 'c1.0', 1, ANN, { always: false })
    await approvals.decide(THREAD, 'c1.1', 1, decisionOf('denied'))
    const counting = countingStore(store)
    expect(await createApprovals(counting, () => clock).open(THREAD)).toEqual(['c1.2'])
    expect(counting.calls).toEqual({ list: 2, getMany: 2 })
  })

  it('lists a call again whose edit is asked about', async () => {
    await ask()
    await decide('edited')
    expect(await approvals.open(THREAD)).toEqual([])
    await ask({ version: 2 })
    expect(await approvals.open(THREAD)).toEqual([CALL])
  })

  it('takes a next version only of an edit', async () => {
    await ask()
    await expect(ask({ version: 2 })).rejects.toThrow('no edit made version 2')
    await decide('denied')
    await expect(ask({ version: 2 })).rejects.toThrow('no edit made version 2')
  })
})

describe('a yes', () => {
  it('decides where one is enough', async () => {
    await ask()
    const decision = { v: 1, kind: 'approved', at: START, by: ANN, voters: [ANN], always: true }
    expect(await vote(ANN, 1, true)).toEqual({ kind: 'decided', won: true, decision })
    expect(await vote(BOB)).toEqual({ kind: 'decided', won: false, decision })
    expect(await state()).toMatchObject({ decision, votes: [{ by: ANN, at: START, always: true }] })
  })

  it('counts different people only, and "always" only if all say so', async () => {
    await ask({ quorum: 2 })
    expect(await vote(ANN, 1, true)).toEqual({ kind: 'counted', have: 1, need: 2 })
    expect(await vote({ id: 'U1', name: 'Ann by another name' })).toEqual({ kind: 'again', have: 1, need: 2 })
    clock++
    const decision = { v: 1, kind: 'approved', at: clock, by: BOB, voters: [ANN, BOB], always: false }
    expect(await vote(BOB)).toEqual({ kind: 'decided', won: true, decision })
  })

  it('counts for no other version and no other call', async () => {
    await ask({ quorum: 2 })
    expect(await vote(ANN, 2)).toEqual({ kind: 'stale' })
    expect(await approvals.vote(THREAD, 'c99.0', 1, ANN, { always: false })).toEqual({ kind: 'stale' })
    await vote(ANN)
    await decide('edited')
    await ask({ version: 2, quorum: 2 })
    expect(await vote(CYD, 1)).toEqual({ kind: 'stale' })
    expect((await state()).votes).toEqual([])
    expect(await vote(BOB, 2)).toEqual({ kind: 'counted', have: 1, need: 2 })
    clock++
    expect(await vote(ANN, 2)).toMatchObject({ kind: 'decided', won: true, decision: { voters: [BOB, ANN] } })
    expect((await state()).earlier).toMatchObject([{ ask: { version: 1 }, votes: [{ by: ANN }] }])
  })

  it('that an edit overtakes on its way counts for neither version', async () => {
    await ask({ quorum: 2 })
    const overtaken: Store = {
      ...store,
      async putIfAbsent(...entry) {
        await decide('edited')
        await ask({ version: 2 })
        return store.putIfAbsent(...entry)
      },
    }
    const late = createApprovals(overtaken, () => clock)
    expect(await late.vote(THREAD, CALL, 1, ANN, { always: false })).toEqual({ kind: 'stale' })
    expect(await state()).toMatchObject({ ask: { version: 2 }, votes: [] })
    expect((await state()).decision).toBeUndefined()
  })

  it('comes too late when the time is over, and that is then written', async () => {
    await ask({ quorum: 2 })
    await vote(ANN)
    clock += EXPIRES_MS
    const decision = { v: 1, kind: 'expired', at: clock, by: null }
    expect(await vote(BOB)).toEqual({ kind: 'decided', won: false, decision })
    expect(await state()).toMatchObject({ decision, votes: [{ by: ANN }] })
  })

  it('is none to a question', async () => {
    await approvals.ask(THREAD, questionFor())
    expect(await vote()).toEqual({ kind: 'stale' })
  })
})

describe('a decision', () => {
  it('is taken once, and whoever is second gets the one that stands', async () => {
    await ask()
    expect(await decide('denied', CYD)).toEqual({ won: true, decision: decisionOf('denied', CYD) })
    expect(await decide('edited', BOB)).toEqual({ won: false, decision: decisionOf('denied', CYD) })
    expect(await vote(ANN)).toEqual({ kind: 'decided', won: false, decision: decisionOf('denied', CYD) })
  })

  it('on an earlier version meets the edit of it', async () => {
    await ask()
    await decide('edited', CYD)
    expect((await state()).decision?.kind).toBe('edited')
    await ask({ version: 2 })
    expect(await decide('denied')).toEqual({ won: false, decision: decisionOf('edited', CYD) })
    expect((await state()).decision).toBeUndefined()
  })

  it('is the end of the time when that came first, and of the votes when they did', async () => {
    await ask({ quorum: 2 })
    clock += EXPIRES_MS
    expect(await decide('denied')).toMatchObject({ won: false, decision: { kind: 'expired', by: null } })

    // Somebody whose vote was the last one died before deciding.
    const other = { ...askFor({ callKey: 'c13.0', quorum: 1 }) }
    await approvals.ask(THREAD, other)
    await store.putIfAbsent(`approval/${THREAD}/call/c13.0/v0001/vote/U1`, { by: ANN, at: START, always: false })
    const outcome = await approvals.decide(THREAD, 'c13.0', 1, decisionOf('denied'))
    expect(outcome).toMatchObject({ won: false, decision: { kind: 'approved', by: ANN, voters: [ANN] } })
  })

  it('is refused where nobody was asked, where votes have to say it, and where it does not fit the ask', async () => {
    await expect(decide('denied')).rejects.toThrow('nobody was asked about version 1')
    await ask({ quorum: 2 })
    await approvals.ask(THREAD, questionFor('c13.0'))
    const yes = { v: 1, at: START, by: ANN } as const
    const approved: Decision = { ...yes, kind: 'approved', voters: [ANN, BOB], always: false }
    const answered = { ...yes, kind: 'answered', text: 'a' } as const
    await expect(approvals.decide(THREAD, CALL, 1, approved)).rejects.toThrow('can\'t be decided "approved"')
    await expect(approvals.decide(THREAD, CALL, 1, answered)).rejects.toThrow('can\'t be decided "answered"')
    await expect(approvals.decide(THREAD, 'c13.0', 1, decisionOf('edited'))).rejects.toThrow('the question c13.0')
    expect(await approvals.decide(THREAD, 'c13.0', 1, answered)).toEqual({ won: true, decision: answered })
  })
})

describe('an attempt', () => {
  it('is begun once, and only after a yes', async () => {
    expect(await begin()).toBe('lost')
    await ask()
    expect(await begin()).toBe('lost')
    await vote()
    expect(await begin(2)).toBe('lost')
    expect(await begin()).toBe('won')
    expect(await begin()).toBe('lost')
    expect(await begin(2)).toBe('lost')
    expect((await state()).attempts).toEqual([{ number: 1, begunAt: START }])
  })

  it.each(['denied', 'edited', 'expired', 'stopped'] as const)('is never begun after "%s"', async (kind) => {
    await ask()
    await decide(kind)
    expect(await begin()).toBe('lost')
  })

  it('is begun without being asked about where "always" covers it', async () => {
    await ask()
    await decide('always')
    expect(await begin()).toBe('won')
  })

  it('follows another one only where people said so, and the closed one has no effect and no result any more', async () => {
    await ask()
    await vote()
    await begin()
    await approvals.confirm(THREAD, CALL, 1)
    expect(await close('again')).toMatchObject({ won: true })
    await expect(approvals.confirm(THREAD, CALL, 1)).rejects.toThrow(StaleAttempt)
    expect(await finish()).toEqual({ won: false, end: { kind: 'again', at: START, by: BOB } })
    expect(await begin(3)).toBe('lost')
    expect(await begin(2)).toBe('won')
    await approvals.confirm(THREAD, CALL, 2)
    expect(await finish(2)).toMatchObject({ won: true })
    expect(await close('again', 2)).toMatchObject({ won: false, end: { kind: 'finished', text: 'made' } })
    expect(await begin(3)).toBe('lost')
  })

  it('is over for good when people skip it', async () => {
    await ask()
    await vote()
    await begin()
    await close('skip')
    expect(await close('again')).toMatchObject({ won: false, end: { kind: 'skip' } })
    expect(await begin(2)).toBe('lost')
  })

  it('ends only if it was begun', async () => {
    await ask()
    await vote()
    await expect(finish()).rejects.toThrow('was never begun')
    await expect(close('again')).rejects.toThrow('was never begun')
    await expect(approvals.confirm(THREAD, CALL, 1)).rejects.toThrow('was never begun')
  })
})

describe('giving a call up', () => {
  const giveUp = () => approvals.giveUp(THREAD, CALL, CYD)

  it('decides what waits', async () => {
    await ask()
    expect(await giveUp()).toMatchObject({ decision: { kind: 'stopped', by: CYD }, attempts: [] })
    expect(await begin()).toBe('lost')
  })

  it('keeps an approved call from being begun, also by somebody who slept through it', async () => {
    await ask()
    await vote()
    const end = { kind: 'skip', at: START, by: CYD, neverRan: true }
    expect((await giveUp()).attempts).toEqual([{ number: 1, begunAt: START, end }])
    expect(await begin()).toBe('lost')
    await expect(approvals.confirm(THREAD, CALL, 1)).rejects.toThrow(StaleAttempt)
    expect(await close('again')).toEqual({ won: false, end })
    expect(await begin(2)).toBe('lost')
  })

  it('skips what was begun, and leaves alone what is over', async () => {
    await ask()
    await vote()
    await begin()
    expect((await giveUp()).attempts).toEqual([
      { number: 1, begunAt: START, end: { kind: 'skip', at: START, by: CYD } },
    ])
    const before = await store.list('approval/')
    await giveUp()
    await approvals.giveUp(THREAD, 'c99.0', CYD)
    expect(await store.list('approval/')).toEqual(before)
  })
})

describe('"always"', () => {
  const scope = { key: 'command:make', kind: 'command', detail: 'make' } as const

  it('holds for its scope until the thread starts afresh', async () => {
    expect(await approvals.generation(THREAD)).toBe(0)
    await approvals.grantAlways(THREAD, 0, scope, ANN)
    await approvals.grantAlways(THREAD, 0, scope, BOB)
    expect(await approvals.alwaysFor(THREAD, 0, scope.key)).toEqual(ANN)
    expect(await approvals.alwaysFor(THREAD, 0, 'command:make install')).toBeUndefined()
    expect(await approvals.alwaysFor('slack:T1:C1:2.0', 0, scope.key)).toBeUndefined()
    await approvals.resetAlways(THREAD, CYD)
    expect(await approvals.generation(THREAD)).toBe(1)
    expect(await approvals.alwaysFor(THREAD, 1, scope.key)).toBeUndefined()
  })

  it('of an older card counts for nothing, whoever asks', async () => {
    await approvals.resetAlways(THREAD, CYD)
    await approvals.grantAlways(THREAD, 0, scope, ANN)
    expect(await approvals.alwaysFor(THREAD, 0, scope.key)).toBeUndefined()
    expect(await approvals.alwaysFor(THREAD, 1, scope.key)).toBeUndefined()
  })

  it('is void again after each of very many fresh starts', async () => {
    for (let i = 0; i < 1_100; i++)
      await store.putIfAbsent(`approval/${THREAD}/generation/${String(i + 1).padStart(6, '0')}`, {})
    expect(await approvals.generation(THREAD)).toBe(1_100)
    await Promise.all([approvals.resetAlways(THREAD, ANN), approvals.resetAlways(THREAD, BOB)])
    expect(await approvals.generation(THREAD)).toBe(1_102)
  })
})
