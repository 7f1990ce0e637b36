import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { runReact } from '../../src/agent/react.ts'
import { Suspended } from '../../src/agent/reactOptions.ts'
import { ScriptedClient } from '../../src/client/scriptedClient.ts'
import { isAbort, Paused } from '../../src/shared/errors.ts'
import { type AssistantMessage, type Message, unanswered } from '../../src/shared/message.ts'
import type { Approver } from '../../src/tool/approver.ts'
import { ToolManager } from '../../src/tool/toolManager.ts'
import { call, isWellFormed } from '../unit/agentScript.ts'

/** A run as the model plays it: each step is a list of calls; then comes the answer. */
const callKind = fc.constantFrom('read', 'write', 'fails', 'unknown', 'broken')
const plan = fc.array(fc.array(callKind, { minLength: 1, maxLength: 4 }), { maxLength: 4 })

/** The world around a run that is cut off and resumed: what is stored, what took effect, what people said. */
class World {
  readonly stored: Message[] = [{ role: 'user', content: 'do it' }]
  readonly effects = new Map<string, number>()
  readonly #claims = new Set<string>()
  readonly #approved = new Set<string>()
  readonly #plan: readonly string[][]
  /** Writes to the store left before the process dies. */
  writesLeft = Number.POSITIVE_INFINITY
  onStored: () => void = () => {}

  constructor(steps: readonly string[][]) {
    this.#plan = steps
  }

  approve(callKey: string): void {
    this.#approved.add(callKey)
  }

  /** A fresh process: it knows only what is stored. */
  async run(signal?: AbortSignal): Promise<string> {
    const messages = structuredClone(this.stored)
    const taken = messages.filter(({ role }) => role === 'assistant').length
    const steps = this.#plan.map((calls, step) => ({
      toolCalls: calls.map((kind, at) =>
        call(kind, kind === 'broken' ? `{"at": ${step}.${at}` : { at: `${step}.${at}` }),
      ),
    }))
    return runReact({
      client: new ScriptedClient([...steps.slice(taken), { text: 'the end' }]),
      messages,
      toolManager: this.#tools(),
      maxSteps: 10,
      ...(signal ? { signal } : {}),
      onMessage: (message) => {
        if (this.writesLeft-- <= 0) throw new Error('the process died')
        this.stored.push(structuredClone(message))
        this.onStored()
      },
    })
  }

  #tools(): ToolManager {
    const approver: Approver = {
      verdict: async ({ callKey, args }) => {
        if (this.#claims.has(`${callKey}#1`)) return { kind: 'pending' }
        return this.#approved.has(callKey) ? { kind: 'approved', args, attempt: 1 } : { kind: 'pending' }
      },
      begin: async (callKey, attempt) => {
        const claim = `${callKey}#${attempt}`
        if (this.#claims.has(claim)) return 'lost'
        this.#claims.add(claim)
        return 'won'
      },
      confirm: async () => {},
      finish: async () => 'won',
      answer: async () => ({ kind: 'pending' }),
    }
    const manager = new ToolManager({ approver })
    const base = { description: '', parameters: z.object({ at: z.string().optional() }) }
    manager.tool({ ...base, name: 'read', permission: 'safe' }, ({ at }) => `read ${at}`)
    manager.tool({ ...base, name: 'broken', permission: 'safe' }, () => 'never')
    manager.tool({ ...base, name: 'fails', permission: 'safe' }, () => {
      throw new Error('failed')
    })
    manager.tool({ ...base, name: 'write', permission: 'sensitive' }, (_, { callKey }) => {
      this.effects.set(callKey, (this.effects.get(callKey) ?? 0) + 1)
      return 'written'
    })
    return manager
  }
}

/** Whole except for the calls of the last step, which are open. */
function isResumable(messages: readonly Message[]): boolean {
  const open = unanswered(messages).map(({ call: { id } }) => id)
  return isWellFormed([...messages, ...open.map((id) => ({ role: 'tool' as const, tool_call_id: id, content: '' }))])
}

async function untilDone(world: World): Promise<string> {
  for (let round = 0; round < 60; round++) {
    try {
      return await world.run()
    } catch (error) {
      if (!(error instanceof Suspended)) throw error
      expect(error.calls.length).toBeGreaterThan(0)
      expect(unanswered(world.stored)).toHaveLength(error.calls.length)
      world.approve(error.calls[0]!.callKey)
    }
  }
  throw new Error('it never ends')
}

describe('a run', () => {
  it('with approvals in between always ends, with whole messages and each approved call run exactly once', async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (steps) => {
        const world = new World(steps)
        expect(await untilDone(world)).toBe('the end')
        expect(isWellFormed(world.stored)).toBe(true)
        const writes = steps.flat().filter((kind) => kind === 'write').length
        expect([...world.effects.values()]).toEqual(Array.from({ length: writes }, () => 1))
        const asked = world.stored.flatMap((message) => (message as AssistantMessage).tool_calls ?? [])
        expect(asked).toHaveLength(steps.flat().length)
      }),
      { numRuns: 60 },
    )
  })

  it('that dies at any write is resumable from what is stored, and no effect happens twice', async () => {
    await fc.assert(
      fc.asyncProperty(plan, fc.integer({ min: 0, max: 12 }), async (steps, writes) => {
        const world = new World(steps)
        world.writesLeft = writes
        const died = await untilDone(world).catch((error: Error) => error)
        expect(isResumable(world.stored)).toBe(true)
        if (died === 'the end') return
        world.writesLeft = Number.POSITIVE_INFINITY
        // A call that began before the death waits for people; everything else goes on to the end.
        const end = await untilDone(world).catch((error: Error) => error.message)
        expect(end === 'the end' || end === 'it never ends').toBe(true)
        expect(isResumable(world.stored)).toBe(true)
        for (const times of world.effects.values()) expect(times).toBe(1)
      }),
      { numRuns: 60 },
    )
  })

  it('that is stopped at any moment leaves whole messages; one that is paused goes on to the same end', async () => {
    await fc.assert(
      fc.asyncProperty(plan, fc.integer({ min: 0, max: 8 }), fc.boolean(), async (steps, at, paused) => {
        const world = new World(steps.map((calls) => calls.filter((kind) => kind !== 'write').concat('read')))
        const controller = new AbortController()
        world.onStored = () => {
          if (world.stored.length > at) controller.abort(paused ? new Paused() : 'by Ann')
        }
        const ended = await world.run(controller.signal).catch((error: Error) => error)
        expect(ended === 'the end' || isAbort(ended)).toBe(true)
        if (paused) {
          expect(isResumable(world.stored)).toBe(true)
          expect(ended === 'the end' ? ended : await world.run()).toBe('the end')
          expect(JSON.stringify(world.stored)).not.toContain('stopped before')
        } else expect(isWellFormed(world.stored)).toBe(true)
      }),
      { numRuns: 100 },
    )
  })
})
