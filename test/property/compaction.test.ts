import { resolve } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { repairHistory } from '../../src/client/history.ts'
import { ScriptedClient } from '../../src/client/scriptedClient.ts'
import { PromptManager } from '../../src/prompt/promptManager.ts'
import { compactIfNeeded } from '../../src/session/compaction.ts'
import { planCompaction } from '../../src/session/compactionPlan.ts'
import { contextSize } from '../../src/session/compactionTokens.ts'
import { prunedResult } from '../../src/session/prunedResult.ts'
import { modelView } from '../../src/session/view.ts'
import { silentLog } from '../../src/shared/log.ts'
import { unanswered } from '../../src/shared/message.ts'
import { createThread } from '../unit/compactionThread.ts'

const promptManager = new PromptManager({ folder: resolve(import.meta.dirname, '../../prompts') })
const budget = { contextTokens: 1_000, keepRecentTokens: 200 }

const size = fc.nat(3_000)
const part = fc.oneof(
  fc.record({ kind: fc.constant('turn' as const), size }),
  fc.record({ kind: fc.constant('step' as const), sizes: fc.array(size, { minLength: 1, maxLength: 3 }) }),
  fc.record({ kind: fc.constant('answer' as const), size, inputTokens: fc.option(fc.nat(5_000)) }),
  fc.record({ kind: fc.constantFrom('steer' as const, 'background' as const, 'new' as const, 'stop' as const), size }),
)

/** A thread as runs leave it: calls are followed by their results; ids repeat, as providers do. */
function threadOf(parts: (typeof part extends fc.Arbitrary<infer P> ? P : never)[]) {
  const thread = createThread()
  for (const each of parts) {
    if (each.kind === 'turn') thread.says('t'.repeat(each.size))
    if (each.kind === 'steer') thread.says('s'.repeat(each.size), { steered: true })
    if (each.kind === 'background') thread.says('b'.repeat(each.size), { background: true })
    if (each.kind === 'answer') thread.answers('a'.repeat(each.size), { inputTokens: each.inputTokens ?? 0 })
    if (each.kind === 'new') thread.mark({ mark: 'boundary', by: { id: 'U1', name: 'Ann' } })
    if (each.kind === 'stop') thread.mark({ mark: 'stopped', by: 'Bob', partial: '' })
    if (each.kind !== 'step') continue
    const ids = each.sizes.map((_, index) => `call_${index}`)
    thread.calls(...ids)
    for (const [index, id] of ids.entries()) thread.result(id, 'r'.repeat(each.sizes[index]!))
  }
  return thread
}

const json = (thread: ReturnType<typeof createThread>, upTo?: number) =>
  modelView({ records: thread.records.slice(0, upTo) }).messages.map((message) => JSON.stringify(message))

describe('compaction of any thread', () => {
  it('ends, leaves a history that needs no repair, keeps every record, and then has nothing more to do', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { maxLength: 25 }),
        fc.boolean(),
        fc.boolean(),
        async (parts, overflow, summaryFails) => {
          const thread = threadOf(parts)
          const before = structuredClone(thread.records)
          const steps = Array.from({ length: 10 }, () => ({ text: summaryFails ? '' : 'the summary' }))
          const options = {
            thread: thread.thread,
            append: thread.append,
            client: new ScriptedClient(steps),
            promptManager,
            budget,
            signal: new AbortController().signal,
            log: silentLog,
          }
          const done = await compactIfNeeded({ ...options, overflow })
          expect(thread.records.slice(0, before.length)).toEqual(before)
          expect(done === 'none').toBe(thread.records.length === before.length)
          const { messages } = modelView(thread.thread)
          const whole = repairHistory(messages).filter(({ role }) => role === 'tool').length
          expect(messages.filter(({ role }) => role === 'tool')).toHaveLength(whole)
          expect(unanswered(messages)).toEqual([])
          // The message that the open turn answers is never summarised.
          const last = thread.records.findLast(({ record }) =>
            record.kind === 'mark'
              ? record.mark === 'boundary'
              : record.message.role === 'user' && !record.steered && !record.background,
          )
          if (last?.record.kind === 'message') {
            expect(messages.some((message) => modelSeq(thread, message) === last.seq)).toBe(true)
          }
          if (overflow) return
          expect(await compactIfNeeded(options)).toBe('none')
        },
      ),
      { numRuns: 300 },
    )

    function modelSeq(thread: ReturnType<typeof createThread>, message: unknown) {
      const view = modelView(thread.thread)
      return view.seqOf(view.messages.find((other) => JSON.stringify(other) === JSON.stringify(message))!)
    }
  })

  it('has no effect on what the model saw before: between marks each view begins with the one before it', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 20 }), fc.nat(20), fc.nat(2_000), (parts, at, keep) => {
        const steady = parts.filter(({ kind }) => kind !== 'new' && kind !== 'stop')
        const thread = threadOf(steady.slice(0, at))
        thread.mark({ mark: 'pruned', upTo: thread.records.length, keep })
        const from = thread.records.length
        const later = threadOf(steady.slice(at)).records
        for (const { record } of later) thread.records.push({ seq: thread.records.length, record })
        for (let upTo = from; upTo < thread.records.length; upTo++) {
          const shorter = json(thread, upTo)
          expect(json(thread, upTo + 1).slice(0, shorter.length)).toEqual(shorter)
        }
      }),
    )
  })

  it('never makes a thread larger, and never plans what gains next to nothing', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 25 }), fc.boolean(), (parts, overflow) => {
        const thread = threadOf(parts)
        const plan = planCompaction({ records: thread.records, budget, overheadTokens: 0, overflow })
        if (plan.kind === 'none') return
        if (plan.kind === 'prune') thread.mark({ mark: 'pruned', upTo: plan.upTo, keep: plan.keep })
        else thread.mark({ mark: 'compacted', upTo: plan.upTo, summary: '' })
        const after = contextSize(thread.records, 0).tokens
        expect(after).toBeLessThan(plan.tokens)
      }),
    )
  })

  it('shows a result in no more than it had, the same each time', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 3_000 }), fc.nat(600), (text, keep) => {
        const shown = prunedResult(text, keep)
        expect(shown.length).toBeLessThanOrEqual(text.length)
        expect(prunedResult(text, keep)).toBe(shown)
        if (text.isWellFormed()) expect(shown.isWellFormed()).toBe(true)
      }),
    )
  })
})
