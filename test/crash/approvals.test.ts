import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { repairHistory } from '../../src/client/history.ts'
import { openStore } from '../../src/session/openStore.ts'
import type { Store } from '../../src/session/store.ts'
import { modelView } from '../../src/session/view.ts'
import { StaleThread } from '../../src/shared/errors.ts'
import { unanswered } from '../../src/shared/message.ts'
import { Died, dyingStore, freezingStore } from '../doubles/store/cutStore.ts'
import {
  type Breakage,
  bornProcess,
  EXPIRES_MS,
  KEY,
  type Plan,
  type PlannedCall,
  type Process,
} from './approvalWorld.ts'

const call = fc.record<PlannedCall>({
  kind: fc.constantFrom('read', 'effect', 'effect', 'effect', 'ask'),
  will: fc.constantFrom('approve', 'approve', 'approve', 'always', 'deny', 'edit', 'late', 'stop'),
  unknown: fc.constantFrom('again', 'skip'),
})
const plan = fc.array(fc.array(call, { minLength: 1, maxLength: 3, size: 'max' }), {
  minLength: 1,
  maxLength: 3,
  size: 'max',
})
/** At which of its writes each process dies, before or after that took effect; the last one lives. */
const deaths = fc.array(fc.record({ at: fc.nat(60), when: fc.constantFrom('before' as const, 'after' as const) }), {
  maxLength: 3,
  size: 'max',
})

/** No schedule of three deaths needs more rounds of running and deciding. */
const MOST_ROUNDS = 60

interface Life {
  store: Store
  /** Ids of calls that people said yes to, with how often they had it run again. */
  again: Map<string, number>
  over: boolean
}

/** Runs the plan to its end, however often the process dies; people look at what waits after every run. */
async function live(
  story: Plan,
  dying: readonly { at: number; when: 'before' | 'after' }[],
  breakage?: Breakage,
  base?: Store,
): Promise<Life> {
  const store = base ?? (await openStore('memory:'))
  const clock = { now: 1_000 }
  const left = [...dying]
  const again = new Map<string, number>()
  const born = (): Process => {
    const next = left.shift()
    return bornProcess(next ? dyingStore(store, next.at, next.when) : store, story, clock, breakage)
  }
  let process = born()
  const survive = async (task: (alive: Process) => Promise<unknown>): Promise<void> => {
    try {
      await task(process)
      await process.rest()
    } catch (error) {
      if (!isDeath(error)) throw error
      process = born()
    }
  }

  // What is not acknowledged is delivered again.
  let begun = false
  while (!begun) {
    await survive(async (alive) => {
      await alive.begin()
      await alive.say('m1', 'do it')
      begun = true
    })
  }
  let over = false
  for (let round = 0; round < MOST_ROUNDS && !over; round++) {
    clock.now += 10
    await survive((alive) => alive.run())
    await survive(async (alive) => {
      over = await alive.isOver()
      if (!over) await decide(alive, story, clock, again, round)
    })
  }
  return { store, again, over }
}

/** A death inside of a run may come out as the failure of whatever was waited for. */
function isDeath(error: unknown): boolean {
  if (error instanceof Died || error instanceof StaleThread) return true
  return error instanceof Error && error.cause !== undefined && isDeath(error.cause)
}

/** People look at the first call that waits, and say what the plan has them say; every click is made twice. */
async function decide(
  alive: Process,
  story: Plan,
  clock: { now: number },
  again: Map<string, number>,
  round: number,
): Promise<void> {
  const thread = await alive.threads.open(KEY)
  const view = modelView(thread)
  const assistant = view.messages.findLast((message) => message.role === 'assistant')
  if (!assistant) return
  const seq = view.seqOf(assistant)!
  for (const { call: waiting, index } of unanswered(view.messages)) {
    const key = `c${seq}.${index}`
    const state = await alive.approvals.state(KEY, key)
    if (!state.ask) continue
    const { id } = JSON.parse(waiting.function.arguments) as { id: string }
    const [step, at] = id.split('.').map(Number)
    const { will, unknown, kind } = story[step!]![at!]!
    const last = state.attempts.at(-1)
    if (last && !last.end) {
      if (unknown === 'again') again.set(`${id}#${last.number}`, 1)
      await twice(() => alive.click(unknown, `${key}/${last.number}`))
      return
    }
    if (state.decision) continue
    const value = `${key}/${state.ask.version}`
    if (will === 'late') {
      clock.now += EXPIRES_MS
    } else if (will === 'stop') {
      await alive.say(`stop-${round}`, 'stop')
    } else if (kind === 'ask') {
      await twice(() => alive.click('answer.1', `${value}/1`))
    } else if (will === 'deny') {
      await twice(() => alive.submit('deny', value, { reason: '' }))
    } else if (will === 'edit' && state.ask.version === 1) {
      await twice(() => alive.submit('edit', value, { id, edited: 'true' }))
    } else {
      await twice(() => alive.click(will === 'always' ? 'always' : 'approve', value))
    }
    return
  }
}

async function twice(click: () => Promise<unknown>): Promise<void> {
  await click()
  await click()
}

/** What must hold of a life, as sentences about what does not. */
async function faultsOf(story: Plan, { store, again, over }: Life): Promise<string[]> {
  const faults: string[] = []
  if (!over) faults.push('the run did not end')
  const ran = new Map<string, number>()
  for (const key of await store.list('effect/', { limit: 10_000 })) {
    const id = key.split('/')[1]!
    ran.set(id, (ran.get(id) ?? 0) + 1)
  }
  const whole = bornProcess(store, story, { now: 0 })
  const thread = await whole.threads.open(KEY)
  const { messages } = modelView(thread)
  if (over && unanswered(messages).length > 0) faults.push('a call has no result')
  const repaired = repairHistory(messages)
  if (
    over &&
    repaired.filter(({ role }) => role === 'tool').length !== messages.filter(({ role }) => role === 'tool').length
  ) {
    faults.push('the history had to be repaired')
  }
  for (const [step, calls] of story.entries()) {
    for (const [at, { will, kind }] of calls.entries()) {
      const id = `${step}.${at}`
      const times = ran.get(id) ?? 0
      const repeats = [...again.keys()].filter((key) => key.startsWith(`${id}#`)).length
      if (times > 1 + repeats) faults.push(`${id} had its effect ${times} times, and was to run again ${repeats} times`)
      const refused = kind === 'effect' && (will === 'deny' || will === 'late' || will === 'stop')
      const always = story.flat().some((other) => other.will === 'always')
      if (refused && times > 0 && !always) faults.push(`${id} had its effect though it was refused`)
    }
  }
  return faults
}

async function check(
  story: Plan,
  dying: readonly { at: number; when: 'before' | 'after' }[],
  breakage?: Breakage,
): Promise<void> {
  const life = await live(story, dying, breakage)
  expect(await faultsOf(story, life)).toEqual([])
}

describe('approvals and death', () => {
  it('whenever a process dies, every run ends, each yes has its effect at most once, and no no has one', async () => {
    await fc.assert(
      fc.asyncProperty(plan, deaths, (story, dying) => check(story, dying)),
      { numRuns: Number(process.env.CRASH_RUNS ?? 2_000) },
    )
  }, 120_000)

  it('dies before and after every single write of a life with an approval, a denial and a question', async () => {
    const story: Plan = [
      [
        { kind: 'effect', will: 'approve', unknown: 'again' },
        { kind: 'read', will: 'approve', unknown: 'skip' },
        { kind: 'effect', will: 'deny', unknown: 'skip' },
      ],
      [
        { kind: 'ask', will: 'approve', unknown: 'skip' },
        { kind: 'effect', will: 'edit', unknown: 'skip' },
      ],
    ]
    for (const when of ['before', 'after'] as const) {
      for (let at = 0; at < 90; at++) await check(story, [{ at, when }])
    }
  }, 120_000)
})

describe('approvals and a process that stands still', () => {
  const story = (unknown: 'again' | 'skip'): Plan => [
    [
      { kind: 'effect', will: 'approve', unknown },
      { kind: 'effect', will: 'deny', unknown },
    ],
    [{ kind: 'effect', will: 'approve', unknown }],
  ]

  /** One process freezes at a write; another one lives on to the end; then the first one goes on. */
  async function thawed(told: Plan, at: number, when: 'before' | 'after', breakage?: Breakage): Promise<boolean> {
    const base = await openStore('memory:')
    const clock = { now: 1_000 }
    const { store, isFrozen, thaw, frozenKey } = freezingStore(base, at, when)
    const old = bornProcess(store, told, clock, breakage)
    const again = new Map<string, number>()
    const oldLife = (async () => {
      await old.begin()
      await old.say('m1', 'do it')
      for (let round = 0; round < MOST_ROUNDS && !(await old.isOver()); round++) {
        clock.now += 10
        await old.run()
        if (!(await old.isOver())) await decide(old, told, clock, again, 100 + round)
      }
    })().catch((error) => {
      if (!isDeath(error)) throw error
    })
    const froze = await Promise.race([isFrozen.then(() => true), oldLife.then(() => false)])
    const life: Life = { ...(await live(told, [], undefined, base)), store: base }
    for (const [key, value] of again) life.again.set(key, value)
    const effects = () => base.list('effect/', { limit: 10_000 })
    const before = await effects()
    thaw()
    await oldLife
    // The one window that is left, and documented: between the last look and the effect itself.
    if (!frozenKey().startsWith('effect/')) expect(await effects()).toEqual(before)
    expect(await faultsOf(told, life)).toEqual([])
    return froze
  }

  for (const unknown of ['skip', 'again'] as const) {
    it(`wakes up after "${unknown}" and everything else, and does nothing any more`, async () => {
      for (const when of ['before', 'after'] as const) {
        for (let at = 0; await thawed(story(unknown), at, when); at++) expect(at).toBeLessThan(400)
      }
    }, 120_000)
  }

  it('would be noticed if an effect came without a last look', async () => {
    const blind: Breakage = { approvals: (approvals) => ({ ...approvals, confirm: async () => {} }) }
    const outcomes: boolean[] = []
    for (let at = 0; at < 60; at++) {
      outcomes.push(
        await thawed(story('skip'), at, 'after', blind).then(
          () => true,
          () => false,
        ),
      )
    }
    expect(outcomes).toContain(false)
  }, 120_000)
})

describe('the test of approvals notices', () => {
  const notices = async (breakage: Breakage) => {
    const details = await fc.check(
      fc.asyncProperty(plan, deaths, (story, dying) => check(story, dying, breakage)),
      { numRuns: 2_000, endOnFailure: true },
    )
    return details.failed
  }

  it('a call that runs without having been claimed', async () => {
    const noBegin = (
      approvals: Breakage['approvals'] extends ((a: infer A, s: Store) => unknown) | undefined ? A : never,
    ) => ({ ...approvals, begin: async () => 'won' as const })
    expect(await notices({ approvals: noBegin })).toBe(true)
  }, 120_000)

  it('an effect that comes before the yes', async () => {
    expect(await notices({ effectFirst: true })).toBe(true)
  }, 120_000)

  it('a run that does not look at what was decided', async () => {
    const blind: NonNullable<Breakage['approvals']> = (approvals) => ({
      ...approvals,
      async state(thread, callKey) {
        const state = await approvals.state(thread, callKey)
        const decision = state.decision
        if (decision?.kind !== 'denied') return state
        return {
          ...state,
          decision: { v: 1, at: decision.at, by: decision.by, kind: 'approved', voters: [], always: false },
        }
      },
    })
    expect(await notices({ approvals: blind })).toBe(true)
  }, 120_000)
})
