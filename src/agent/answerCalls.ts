import { Paused } from '../shared/errors.ts'
import { type AssistantMessage, type ToolCall, unanswered } from '../shared/message.ts'
import { errorText } from '../tool/observation.ts'
import type { Dispatched, ToolContext } from '../tool/tool.ts'
import type { Prepared } from '../tool/toolManager.ts'
import { type KeyedCall, push, type Run, Suspended, stopError } from './reactOptions.ts'
import { withHint } from './repetition.ts'

const CUT_OFF =
  'this call did not run, because the answer reached the output limit before it was complete. Make it again, in smaller pieces.'
const NOT_RUN = 'stopped before it ran'

interface OpenCall {
  call: ToolCall
  callKey: string
}

interface PreparedCall extends OpenCall {
  prepared: Prepared
}

type Observation = Extract<Dispatched, { kind: 'observation' }>

/**
 * Answers the open calls of the last assistant message; resolves to false when there are none. All are prepared in order
 * first, so that people see what they are asked before anything runs. Safe neighbours run together, a call with an effect
 * runs alone and in its place; results are saved in call order. Then, if calls wait for people, throws `Suspended`; if the
 * run was stopped, gives every call that is still open its result (unless it is only paused) and throws the `AbortError`.
 */
export async function answerOpenCalls(run: Run): Promise<boolean> {
  const assistant = run.messages.findLast((message): message is AssistantMessage => message.role === 'assistant')
  const open = unanswered(run.messages).map(({ call, index }) => ({ call, callKey: run.callKey(assistant!, index) }))
  if (open.length === 0) return false

  if (assistant!.cut) {
    for (const one of open) await record(run, one, failure(CUT_OFF))
    return true
  }

  // Ends tools that run beside one whose callback failed; the run is over then.
  const step = new AbortController()
  const signal = AbortSignal.any([run.signal, step.signal])
  try {
    const prepared: PreparedCall[] = []
    for (const one of open) prepared.push({ ...one, prepared: await prepare(run, one, signal) })
    const waiting: OpenCall[] = prepared.filter((one) => one.prepared.kind === 'pending')
    for (const batch of batches(prepared)) waiting.push(...(await runBatch(run, batch)))
    if (run.signal.aborted) for (const one of waiting) await settle(run, one, failure(NOT_RUN))
    else if (waiting.length > 0) throw new Suspended(waiting.map(keyed))
  } catch (error) {
    step.abort()
    throw error
  }
  if (run.signal.aborted) throw stopError(run.signal)
  return true
}

async function prepare(run: Run, { call, callKey }: OpenCall, signal: AbortSignal): Promise<Prepared> {
  if (signal.aborted) return failure(NOT_RUN)
  const context: ToolContext = { ...run.context, callKey, signal }
  try {
    return await run.toolManager.prepare(call.function.name, call.function.arguments, context)
  } catch (error) {
    if (signal.aborted) return failure(NOT_RUN)
    throw error
  }
}

/** Neighbours that may run together; a call that must run alone is a batch of its own. */
function batches(calls: readonly PreparedCall[]): PreparedCall[][] {
  const found: PreparedCall[][] = []
  let together: PreparedCall[] | null = null
  for (const one of calls) {
    if (one.prepared.kind === 'pending') continue
    const alone = one.prepared.kind === 'ready' && one.prepared.alone
    if (together && !alone) together.push(one)
    else found.push([one])
    together = alone ? null : found.at(-1)!
  }
  return found
}

/** Runs a batch and records each result as soon as those before it are in. Resolves to the calls that turned out to wait. */
async function runBatch(run: Run, batch: readonly PreparedCall[]): Promise<OpenCall[]> {
  const running = batch.map((one) => start(run, one))
  // Each is awaited below; one that fails while an earlier one is awaited must not count as unhandled.
  for (const one of running) one.catch(() => {})
  const waiting: OpenCall[] = []
  for (const [index, one] of batch.entries()) {
    const { outcome, durationMs } = await running[index]!
    if (outcome.kind === 'pending') waiting.push(one)
    else await settle(run, one, outcome, durationMs)
  }
  return waiting
}

async function start(run: Run, { call, callKey, prepared }: PreparedCall) {
  if (run.signal.aborted) return { outcome: prepared.kind === 'observation' ? prepared : failure(NOT_RUN) }
  await run.onToolCall?.(call.function.name, call.function.arguments, callKey)
  const startedAt = performance.now()
  const outcome = prepared.kind === 'ready' ? await prepared.run() : prepared
  return { outcome, durationMs: Math.round(performance.now() - startedAt) }
}

/** Records an outcome, unless the run was paused before the call could succeed: then it stays open for the next run. */
async function settle(run: Run, one: OpenCall, outcome: Observation, durationMs?: number): Promise<void> {
  if (outcome.failed && run.signal.reason instanceof Paused) return
  await record(run, one, outcome, durationMs)
}

async function record(run: Run, { call, callKey }: OpenCall, outcome: Observation, durationMs?: number): Promise<void> {
  const content = withHint(outcome.text, call, run.messages.slice(run.beginsAt))
  const meta = { failed: outcome.failed, ...(durationMs === undefined ? {} : { durationMs }) }
  await push(run, { role: 'tool', tool_call_id: call.id, content }, meta)
  await run.onToolResult?.(call.function.name, content, callKey, outcome.failed)
}

function failure(problem: string): Observation {
  return { kind: 'observation', failed: true, text: errorText(problem) }
}

function keyed({ call, callKey }: OpenCall): KeyedCall {
  return { id: call.id, name: call.function.name, arguments: call.function.arguments, callKey }
}
