import { streamReact } from '../agent/react.ts'
import { Suspended } from '../agent/reactOptions.ts'
import type { SubAgentRun } from '../agent/subAgent.ts'
import type { BaseClient } from '../client/baseClient.ts'
import { Interrupted, ShuttingDown } from '../session/scheduler/scheduler.ts'
import { modelView } from '../session/view.ts'
import { isAbort, ModelError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import { type AssistantMessage, type Message, textOf, type UserMessage } from '../shared/message.ts'
import type { MessageRecord } from '../shared/record.ts'
import type { Wording } from '../shared/wording/wording.ts'
import type { ToolManager } from '../tool/toolManager.ts'
import { beginningOf, mark, type OpenThread } from './openThread.ts'
import { callKey, showIfPossible, stepKey } from './showRecords.ts'

/** How a turn ended, towards people. */
export type RunOutcome =
  | { kind: 'done' }
  | { kind: 'waiting' }
  | { kind: 'stopped' }
  | { kind: 'failed'; reason: string }
  /** The program ends; the thread goes on after the restart. */
  | { kind: 'paused' }

/** Answers a command such as `plan TASK` in the main agent's place. Sees the task and the newest talk, never the history itself. */
export interface Specialist {
  /** Name of the model that answers, for the small print. */
  model: string
  stream(task: string, earlierTalk: string | undefined, run: SubAgentRun): AsyncGenerator<string, string>
}

export type Specialists = Readonly<Record<'plan' | 'review', Specialist>>

export interface TurnParts {
  client: BaseClient
  toolManager: ToolManager
  specialists: Specialists
  systemPrompt: string
  maxSteps: number
  workspace: string
  log: Log
  /** Stores messages that people sent meanwhile and hands them over; none while a command is next. */
  nextInput(): Promise<UserMessage[]>
}

/**
 * Answers what stands open in the thread: the agent's loop, or a specialist where a command asked for one. What is shown as done
 * was stored first; live text is a preview. Resuming after a restart is the same call.
 */
export async function runTurn(open: OpenThread, parts: TurnParts, signal: AbortSignal): Promise<RunOutcome> {
  let partial = ''
  const shown: Promise<void>[] = []
  const show = (seq: number) => {
    const showing = showIfPossible(open, seq, parts.log)
    // Awaited at the end of the turn; a failure before that must not count as unhandled.
    showing.catch(() => {})
    shown.push(showing)
  }
  const piece = (text: string) => {
    partial += text
    open.view.text(stepKey(open.thread.nextSeq), text)
  }
  const restart = () => {
    partial = ''
    open.view.restart(stepKey(open.thread.nextSeq))
  }
  const save = async (record: MessageRecord) => {
    if (record.message.role === 'assistant') partial = ''
    show(await open.append(record))
  }

  const asked = beginningOf(open.thread)
  const stream = asked?.command ? specialistTurn(parts.specialists[asked.command]) : agentTurn()
  let outcome: RunOutcome
  try {
    outcome = await stream
  } catch (error) {
    outcome = await endOf(open, error, partial, signal, parts.log, show)
  }
  if (outcome.kind !== 'paused') await Promise.all(shown)
  return outcome

  async function agentTurn(): Promise<RunOutcome> {
    const view = modelView(open.thread)
    const messages: Message[] = [{ role: 'system', content: parts.systemPrompt }, ...view.messages]
    const seqs = new Map<Message, number>()
    for (const message of view.messages) {
      const seq = view.seqOf(message)
      if (seq !== undefined) seqs.set(message, seq)
    }
    const keyOf = (assistant: AssistantMessage, index: number) => callKey(seqs.get(assistant)!, index)
    const loop = streamReact({
      client: parts.client,
      messages,
      toolManager: parts.toolManager,
      maxSteps: parts.maxSteps,
      signal,
      wording: open.wording,
      callKey: keyOf,
      context: { threadKey: open.key, requester: asked?.author ?? null, workspace: parts.workspace },
      params: { cacheKey: open.key.slice(-64) },
      nextInput: parts.nextInput,
      onRestart: restart,
      onMessage: async (message, { usage, model, durationMs, failed }) => {
        seqs.set(message, open.thread.nextSeq)
        await save({
          v: 1,
          kind: 'message',
          at: open.now(),
          message,
          ...(usage && { usage }),
          ...(model && { model }),
          ...(durationMs !== undefined && { durationMs }),
          ...(failed && { failed }),
        })
      },
      onToolCall: (name, args, key) => {
        open.view.toolCall(key, name, args).catch((error) => parts.log.error({ error }, 'a call could not be shown'))
      },
    })
    const answer = await drain(loop, piece)
    if (answer.trim() === '') show(await open.append(mark(open.now(), { mark: 'handled', what: 'empty' })))
    return { kind: 'done' }
  }

  async function specialistTurn(specialist: Specialist): Promise<RunOutcome> {
    const startedAt = open.now()
    const task = textOf(asked!.message)
    const surroundings = { threadKey: open.key, requester: asked!.author ?? null, workspace: parts.workspace }
    const run = { signal, onRestart: restart, surroundings, wording: open.wording }
    const answer = await drain(specialist.stream(task, earlierTalk(open), run), piece)
    if (answer.trim() === '') {
      show(await open.append(mark(open.now(), { mark: 'handled', what: 'empty' })))
      return { kind: 'done' }
    }
    const message: AssistantMessage = { role: 'assistant', content: answer }
    const { model } = specialist
    await save({ v: 1, kind: 'message', at: open.now(), message, model, durationMs: open.now() - startedAt })
    return { kind: 'done' }
  }
}

/** Turns what ended a turn early into a record that people see, and into an outcome. Anything unforeseen is thrown on. */
async function endOf(
  open: OpenThread,
  error: unknown,
  partial: string,
  signal: AbortSignal,
  log: Log,
  show: (seq: number) => void,
): Promise<RunOutcome> {
  if (error instanceof Suspended) return { kind: 'waiting' }
  if (signal.reason instanceof ShuttingDown && isAbort(error)) return { kind: 'paused' }
  if (signal.aborted && isAbort(error)) {
    const by = signal.reason instanceof Interrupted ? signal.reason.message : null
    show(await open.append(mark(open.now(), { mark: 'stopped', by, partial })))
    return { kind: 'stopped' }
  }
  if (!(error instanceof ModelError)) throw error
  log.error({ error, thread: open.key }, 'the model failed')
  const reason = sentenceFor(error, open.wording)
  show(await open.append(mark(open.now(), { mark: 'failed', reason, partial })))
  return { kind: 'failed', reason }
}

/** One sentence for people; the log has the rest. */
function sentenceFor(error: ModelError, wording: Wording): string {
  switch (error.kind) {
    case 'auth':
      return wording.modelRefusedKey
    case 'unreachable':
    case 'timeout':
      return wording.modelUnreachable
    case 'contextOverflow':
      return wording.modelOverflow
    default:
      return wording.modelFailed
  }
}

async function drain(stream: AsyncGenerator<string, string>, piece: (text: string) => void): Promise<string> {
  while (true) {
    const { done, value } = await stream.next()
    if (done) return value
    piece(value)
  }
}

/** How much of the thread's talk a specialist is given along. */
const CONTEXT_CHARACTERS = 6_000

/** The newest talk of the thread, for a specialist that never sees the history itself. */
function earlierTalk(open: OpenThread): string | undefined {
  const talk = modelView(open.thread)
    .messages.slice(0, -1)
    .filter(({ role }) => role === 'user' || role === 'assistant')
    .map((message) => textOf(message))
    .filter((text) => text.trim())
    .join('\n\n')
  return talk ? talk.slice(-CONTEXT_CHARACTERS) : undefined
}
