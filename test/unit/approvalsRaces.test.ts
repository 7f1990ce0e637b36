/** What races with what over several instances: each store call of each instance may come at any place among the others'. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { versionOf } from '../../src/session/approvalState.ts'
import { type Approvals, createApprovals } from '../../src/session/approvals.ts'
import type { CallState, Decision, PersonName } from '../../src/session/approvalTypes.ts'
import { openStore } from '../../src/session/openStore.ts'
import { StaleAttempt } from '../../src/tool/approver.ts'
import { interleavingStore } from '../doubles/store/cutStore.ts'
import { ANN, askFor, BOB, CALL, CYD, decisionOf, EXPIRES_MS, flawsOf, PEOPLE, START, THREAD } from './approvalAsks.ts'

/** Instances that share a store, and what they were told: who won which version, what they began. */
class World {
  clock = START
  /** Decisions that somebody was told to have taken, by version. */
  readonly won: { version: number; how: string; decision: Decision }[] = []
  /** Numbers of the attempts that were begun, and of those that took effect. */
  readonly begun: number[] = []
  readonly effects: number[] = []
  readonly instance: Approvals
  readonly #turn: () => Promise<void>

  constructor(instance: Approvals, turn: () => Promise<void>, setClock: (clock: () => number) => void) {
    this.instance = instance
    this.#turn = turn
    setClock(() => this.clock)
  }

  async vote(by: PersonName, version = 1, always = false): Promise<void> {
    const outcome = await this.instance.vote(THREAD, CALL, version, by, { always })
    if (outcome.kind === 'decided' && outcome.won) {
      this.won.push({ version, how: `vote of ${by.id}`, decision: outcome.decision })
    }
  }

  async decide(kind: Parameters<typeof decisionOf>[0], version = 1): Promise<Decision> {
    const { won, decision } = await this.instance.decide(THREAD, CALL, version, decisionOf(kind, BOB, this.clock))
    if (won) this.won.push({ version, how: kind, decision })
    return decision
  }

  /** What a submitted edit and the run after it do. */
  async edit(version = 1, quorum = 2): Promise<void> {
    await this.decide('edited', version)
    const { ask, decision } = await this.state()
    if (decision?.kind !== 'edited') return
    await this.instance.ask(THREAD, askFor({ version: ask!.version + 1, at: this.clock, quorum }))
    await this.vote(BOB, version + 1)
  }

  /** A worker that is at any place of its way for as long as it likes. */
  async run(attempt = 1): Promise<void> {
    if ((await this.instance.begin(THREAD, CALL, attempt)) === 'lost') return
    this.begun.push(attempt)
    try {
      await this.instance.confirm(THREAD, CALL, attempt)
    } catch (error) {
      expect(error).toBeInstanceOf(StaleAttempt)
      return
    }
    this.effects.push(attempt)
    await this.instance.end(THREAD, CALL, attempt, { kind: 'finished', at: this.clock, text: '', failed: false })
  }

  async close(kind: 'again' | 'skip', attempt = 1): Promise<void> {
    const begun = (await this.state()).attempts.some(({ number }) => number === attempt)
    if (begun) await this.instance.end(THREAD, CALL, attempt, { kind, at: this.clock, by: CYD })
  }

  async pass(ms: number): Promise<void> {
    await this.#turn()
    this.clock += ms
  }

  state(): Promise<CallState> {
    return this.instance.state(THREAD, CALL)
  }
}

type Actor = (world: World) => Promise<unknown>

/** Lets the actors race in many orders, then holds what always has to hold, and what `check` says. */
async function race(
  actors: readonly Actor[] | fc.Arbitrary<Actor[]>,
  check: (world: World, state: CallState) => void | Promise<void> = () => {},
  {
    quorum = 1,
    before = async () => {},
    numRuns = 100,
  }: Partial<{ quorum: number; before: Actor; numRuns: number }> = {},
): Promise<void> {
  const crowds = Array.isArray(actors) ? fc.constant(actors) : (actors as fc.Arbitrary<Actor[]>)
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), crowds, async (schedule, crowd) => {
      let now = () => START
      let atOnce = true
      const turn = () => (atOnce ? Promise.resolve() : schedule.schedule(Promise.resolve()))
      const store = interleavingStore(await openStore('memory:'), turn)
      const world = new World(
        createApprovals(store, () => now()),
        turn,
        (clock) => {
          now = clock
        },
      )
      await world.instance.ask(THREAD, askFor({ quorum }))
      await before(world)
      atOnce = false
      await schedule.waitFor(Promise.all(crowd.map((actor) => actor(world))))
      atOnce = true
      const state = await world.state()
      expect(flawsOf(state)).toEqual([])
      // Nobody may have won where somebody else came by and wrote what was due, but never two.
      for (const { version, how, decision } of world.won) {
        expect(decision).toEqual(versionOf(state, version)?.decision)
        expect(world.won.filter((one) => one.version === version && one.how !== how)).toEqual([])
      }
      expect(new Set(world.begun).size).toBe(world.begun.length)
      expect(new Set(world.effects).size).toBe(world.effects.length)
      expect(await world.instance.open(THREAD)).toEqual(state.decision ? [] : [CALL])
      await check(world, state)
    }),
    { numRuns },
  )
}

const settled = (_: World, { decision }: CallState) => expect(decision).toBeDefined()

describe('decisions that race', () => {
  it('count once: the last votes that a quorum needs decide once, by different people', async () => {
    const crowd: Actor[] = [ANN, ANN, BOB, CYD].map((by) => (world) => world.vote(by))
    await race(crowd, (_, { decision }) => expect(decision?.kind).toBe('approved'), { quorum: 2 })
  })

  it('count nothing twice: two clicks of one person are no quorum', async () => {
    const crowd: Actor[] = [ANN, ANN, ANN].map((by) => (world) => world.vote(by))
    await race(crowd, ({ won }, { decision }) => expect({ won, decision }).toEqual({ won: [], decision: undefined }), {
      quorum: 2,
    })
  })

  it('of different kinds: one stands', async () => {
    await race(
      [(world) => world.vote(ANN), (world) => world.decide('denied'), (world) => world.decide('stopped')],
      settled,
    )
  })

  it('with the end of the time: either was first, never both', async () => {
    await race(
      [
        (world) => world.vote(ANN),
        (world) => world.vote(BOB),
        (world) => world.pass(EXPIRES_MS),
        (world) => world.decide('expired'),
      ],
      (_, state) => expect(['approved', 'expired']).toContain(state.decision?.kind),
      { quorum: 2 },
    )
  })

  it('with an edit: votes of one version never count for the next', async () => {
    await race(
      [(world) => world.vote(ANN), (world) => world.vote(CYD), (world) => world.edit()],
      (_, { ask, earlier, votes, decision }) => {
        if (ask?.version === 1) return expect(decision?.kind).toBe('approved')
        expect(earlier[0]?.decision?.kind).toBe('edited')
        expect({ voters: votes.map(({ by }) => by), decision }).toEqual({ voters: [BOB], decision: undefined })
      },
      { quorum: 2 },
    )
  })

  it('with a second edit: there is one next version, with the arguments of the edit that stands', async () => {
    await race([(world) => world.edit(), (world) => world.edit(), (world) => world.vote(ANN, 2)], (_, state) => {
      expect(state.earlier.length).toBe(1)
      expect(state.ask?.version).toBe(2)
    })
  })
})

describe('workers that race', () => {
  const approved = { before: (world: World) => world.vote(ANN) }

  it('begin an attempt once', async () => {
    await race(
      [(world) => world.run(), (world) => world.run(), (world) => world.run()],
      ({ begun, effects }) => expect({ begun, effects }).toEqual({ begun: [1], effects: [1] }),
      approved,
    )
  })

  it('with "run again": the next attempt is begun once, and only after the first one was closed', async () => {
    await race(
      [
        (world) => world.run(1),
        (world) => world.close('again').then(() => world.run(2)),
        (world) => world.close('skip'),
        (world) => world.run(2),
      ],
      (_, { attempts }) => expect(attempts.length).toBeLessThanOrEqual(attempts[0]?.end?.kind === 'again' ? 2 : 1),
      approved,
    )
  })

  it('with somebody who gives up: what was not begun by then is never begun', async () => {
    await race(
      [
        (world) => world.run(1),
        async (world) => {
          const { attempts } = await world.instance.giveUp(THREAD, CALL, CYD)
          for (const attempt of [1, 2, 3]) expect(await world.instance.begin(THREAD, CALL, attempt)).toBe('lost')
          expect((await world.state()).attempts).toEqual(attempts)
        },
        (world) => world.close('again'),
      ],
      (_, { attempts }) => expect(attempts.at(-1)?.end).toBeDefined(),
      approved,
    )
  })
})

it('a fresh start that races with "always": a grant of before it is never found after it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), async (schedule) => {
      const store = interleavingStore(await openStore('memory:'), () => schedule.schedule(Promise.resolve()))
      const approvals = createApprovals(store, () => START)
      const scope = { key: 'k', kind: 'command', detail: 'make' } as const
      const late = async () => {
        await approvals.resetAlways(THREAD, CYD)
        return [await approvals.alwaysFor(THREAD, await approvals.generation(THREAD), scope.key)]
      }
      const found = await schedule.waitFor(
        Promise.all([late(), late(), approvals.grantAlways(THREAD, 0, scope, ANN).then(() => [])]),
      )
      expect(found.flat()).toEqual([undefined, undefined])
      expect(await schedule.waitFor(approvals.generation(THREAD))).toBe(2)
    }),
    { numRuns: 50 },
  )
})

it('whatever races with whatever: every decision counts once, and nothing runs without a yes or twice', async () => {
  const actor = fc.oneof(
    fc.tuple(fc.constantFrom(...PEOPLE), fc.constantFrom(1, 1, 2), fc.boolean()).map(
      ([by, version, always]): Actor =>
        (world) =>
          world.vote(by, version, always),
    ),
    fc.constantFrom('denied', 'stopped', 'always').map(
      (kind): Actor =>
        (world) =>
          world.decide(kind),
    ),
    fc.constantFrom(1, 2).map(
      (quorum): Actor =>
        (world) =>
          world.edit(1, quorum),
    ),
    fc.constantFrom(1, 2, 3).map(
      (attempt): Actor =>
        (world) =>
          world.run(attempt),
    ),
    fc.tuple(fc.constantFrom('again', 'skip'), fc.constantFrom(1, 2)).map(
      ([kind, attempt]): Actor =>
        (world) =>
          world.close(kind, attempt),
    ),
    fc.constant<Actor>((world) => world.instance.giveUp(THREAD, CALL, CYD)),
    fc.constant<Actor>((world) => world.instance.open(THREAD)),
    fc.constant<Actor>((world) => world.pass(EXPIRES_MS)),
  )
  // An actor after another one, so that what needs a yes first also comes up.
  const crowd = fc.array(fc.array(actor, { minLength: 1, maxLength: 4, size: 'max' }), {
    minLength: 2,
    maxLength: 5,
    size: 'max',
  })
  await race(
    crowd.map((scripts) =>
      scripts.map(
        (script): Actor =>
          async (world) => {
            for (const one of script) await one(world)
          },
      ),
    ),
    undefined,
    { quorum: 2, numRuns: 400 },
  )
})
