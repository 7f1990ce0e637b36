import { beforeEach, describe, expect, it } from 'vitest'
import { type AuditEntry, auditOf } from '../../src/session/approvalAudit.ts'
import { type Approvals, createApprovals } from '../../src/session/approvals.ts'
import { openStore } from '../../src/session/openStore.ts'
import type { Store } from '../../src/session/store.ts'
import { createToolSwitches } from '../../src/session/toolSwitches.ts'
import { ANN, askFor, BOB, CALL, CYD, decisionOf, EXPIRES_MS, questionFor, START, THREAD } from './approvalAsks.ts'

const CHANNEL = { platform: 'slack', account: 'T1', id: 'C1' }
const OTHER = 'slack:T1:C1:2.0'

let store: Store
let approvals: Approvals
let clock: number
beforeEach(async () => {
  clock = START
  store = await openStore('memory:')
  approvals = createApprovals(store, () => clock++)
})

async function audit(thread?: string, channel?: typeof CHANNEL): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = []
  for await (const entry of auditOf(store, thread, channel)) entries.push(entry)
  return entries
}

const told = (entries: readonly AuditEntry[]) =>
  entries.map(({ what, by, number }) => [what, by?.name ?? '-', ...(number === undefined ? [] : [number])].join(' '))

describe('the audit', () => {
  it('tells a whole story with who, when and what, in its order', async () => {
    await approvals.ask(THREAD, askFor({ quorum: 2, at: clock++ }))
    await approvals.vote(THREAD, CALL, 1, ANN, { always: false })
    await approvals.decide(THREAD, CALL, 1, decisionOf('edited', BOB, clock++))
    await approvals.ask(THREAD, askFor({ version: 2, quorum: 2, at: clock++ }))
    await approvals.vote(THREAD, CALL, 2, BOB, { always: true })
    await approvals.vote(THREAD, CALL, 2, CYD, { always: true })
    await approvals.grantAlways(THREAD, 0, { key: 'k', kind: 'command', detail: 'make' }, CYD)
    await approvals.begin(THREAD, CALL, 1)
    await approvals.end(THREAD, CALL, 1, { kind: 'again', at: clock++, by: ANN })
    await approvals.begin(THREAD, CALL, 2)
    await approvals.end(THREAD, CALL, 2, { kind: 'finished', at: clock++, text: 'made', failed: true })
    await approvals.resetAlways(THREAD, BOB)
    const entries = await audit(THREAD)
    expect(told(entries)).toEqual([
      'asked Ann 1',
      'voted Ann 1',
      'edited Bob 1',
      'asked Bob 2',
      'voted Bob 2',
      'voted Cyd 2',
      'approved Cyd 2',
      'always granted Cyd',
      'begun - 1',
      'run again Ann 1',
      'begun - 2',
      'finished - 2',
      'always reset Bob',
    ])
    expect(entries[2]).toEqual({
      ...{ thread: THREAD, callKey: CALL, number: 1, tool: 'run_command' },
      ...{ at: entries[2]!.at, what: 'edited', by: BOB, detail: { args: { command: 'make edited' } } },
    })
    expect(entries[6]!.detail).toEqual({ voters: ['Bob', 'Cyd'], always: true })
    expect(entries[11]!.detail).toEqual({ failed: true })
    expect(entries.map(({ at }) => at)).toEqual(entries.map(({ at }) => at).toSorted((a, b) => a - b))
  })

  it.each([
    ['denied', 'denied Bob 1'],
    ['stopped', 'stopped Bob 1'],
    ['expired', 'expired - 1'],
    ['always', 'allowed by always Bob 1'],
  ] as const)('tells the end of a version: %s', async (kind, line) => {
    await approvals.ask(THREAD, askFor())
    await approvals.decide(THREAD, CALL, 1, decisionOf(kind, BOB, clock))
    expect(told(await audit(THREAD))).toEqual(['asked Ann 1', line])
  })

  it('tells questions with their answers, and why something was denied', async () => {
    await approvals.ask(THREAD, questionFor())
    await approvals.decide(THREAD, CALL, 1, { v: 1, at: clock, by: BOB, kind: 'answered', text: 'a' })
    await approvals.ask(THREAD, askFor({ callKey: 'c13.0', at: clock }))
    await approvals.decide(THREAD, 'c13.0', 1, { v: 1, at: clock, by: CYD, kind: 'denied', reason: 'not on a Friday' })
    const entries = await audit(THREAD)
    expect(entries.map(({ what, detail }) => ({ what, detail }))).toEqual([
      { what: 'asked', detail: { question: 'Which one?' } },
      { what: 'answered', detail: 'a' },
      { what: 'asked', detail: { args: { command: 'make v1' }, summary: 'make v1' } },
      { what: 'denied', detail: 'not on a Friday' },
    ])
  })

  it('tells what was skipped, and what was given up before it ran', async () => {
    for (const callKey of ['c1.0', 'c2.0']) {
      await approvals.ask(THREAD, askFor({ callKey, at: clock++ }))
      await approvals.vote(THREAD, callKey, 1, ANN, { always: false })
    }
    await approvals.begin(THREAD, 'c1.0', 1)
    for (const callKey of ['c1.0', 'c2.0']) await approvals.giveUp(THREAD, callKey, CYD)
    const ends = (await audit(THREAD)).filter(({ what }) => what === 'begun' || what === 'skipped')
    expect(ends.map(({ callKey, what, detail }) => [callKey, what, detail])).toEqual([
      ['c1.0', 'begun', undefined],
      ['c1.0', 'skipped', undefined],
      ['c2.0', 'skipped', 'before it ran'],
    ])
  })

  it('has nothing happen before its cause, however clocks differ', async () => {
    const late = START + EXPIRES_MS / 2
    await approvals.ask(THREAD, askFor({ at: late }))
    await approvals.decide(THREAD, CALL, 1, decisionOf('denied', BOB, START - 500))
    expect(told(await audit(THREAD))).toEqual(['asked Ann 1', 'denied Bob 1'])
  })

  it('tells things of one moment in the order in which they can only have happened', async () => {
    const still = createApprovals(store, () => START)
    await still.ask(THREAD, askFor())
    await still.vote(THREAD, CALL, 1, ANN, { always: false })
    await still.begin(THREAD, CALL, 1)
    await still.end(THREAD, CALL, 1, { kind: 'finished', at: START, text: '', failed: false })
    expect(told(await audit(THREAD))).toEqual([
      'asked Ann 1',
      'voted Ann 1',
      'approved Ann 1',
      'begun - 1',
      'finished - 1',
    ])
  })

  it('is of one thread with the switches of its channel, or of everything, each thing once', async () => {
    const switches = createToolSwitches(store, () => clock++)
    await approvals.ask(THREAD, askFor({ at: clock++ }))
    await switches.set({ thread: THREAD }, 'run_command', true, ANN)
    await switches.set({ channel: CHANNEL }, 'run_command', false, BOB)
    await switches.set({ thread: OTHER }, 'planner', false, CYD)
    await approvals.ask(`${THREAD}0`, askFor({ at: clock++ }))
    expect(told(await audit(THREAD))).toEqual(['asked Ann 1', 'switched on Ann'])
    expect(told(await audit(THREAD, CHANNEL))).toEqual(['asked Ann 1', 'switched on Ann', 'switched off Bob'])
    expect(await audit('slack:T1:C1:9.9')).toEqual([])
    expect((await audit()).map(({ thread, what, tool }) => `${thread} ${what} ${tool}`)).toEqual([
      `${THREAD} asked run_command`,
      `${THREAD} switched on run_command`,
      `${THREAD}0 asked run_command`,
      'channel:slack:T1:C1 switched off run_command',
      `${OTHER} switched off planner`,
    ])
  })

  it('tells every thread of very many', async () => {
    const threads = Array.from({ length: 1_200 }, (_, index) => `console:local:t${String(index).padStart(4, '0')}`)
    for (const thread of threads) await approvals.ask(thread, askFor({ at: START }))
    expect((await audit()).map(({ thread }) => thread)).toEqual(threads)
  })
})
