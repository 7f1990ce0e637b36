import { Suspended } from '../agent/reactOptions.ts'
import { Interrupted } from '../session/scheduler/scheduler.ts'
import { isAbort, ModelError, Paused } from '../shared/errors.ts'
import { type AssistantMessage, textOf } from '../shared/message.ts'
import type { Wording } from '../shared/wording/wording.ts'
import { agentTurn } from './agentTurn.ts'
import { beginningOf, mark, type OpenThread } from './openThread.ts'
import { showIfPossible, stepKey } from './showRecords.ts'
import { specialistTurn } from './specialistTurn.ts'
import type { RunOutcome, Turn, TurnParts } from './turnParts.ts'

/**
 * Answers what stands open in the thread: the agent's loop, or a specialist where a command asked for one. What is shown as
 * done was stored first; live text is a preview. Resuming after a restart is the same call.
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
  const asked = beginningOf(open.thread)
  const turn: Turn = {
    open,
    parts,
    signal,
    asked,
    piece(text) {
      // Text that has yet to be judged is not shown; the status says that something is going on.
      if (parts.auditAnswer) return
      partial += text
      open.view.text(stepKey(open.thread.nextSeq), text)
    },
    restart() {
      partial = ''
      open.view.restart(stepKey(open.thread.nextSeq))
    },
    async save(record) {
      const { message } = record
      if (message.role === 'assistant') {
        await audit(message)
        partial = ''
      }
      show(await open.append(record))
    },
    async saveEmpty() {
      show(await open.append(mark(open.now(), { mark: 'handled', what: 'empty' })))
    },
  }

  /** A text that does not pass is taken out of the messages before anybody sees it; the model reads the refusal as its own. */
  async function audit(message: AssistantMessage): Promise<void> {
    if (!parts.auditAnswer || textOf(message).trim() === '') return
    open.view.working(open.wording.checkingAnswer)
    if (await parts.auditAnswer(textOf(message))) return
    message.content = message.tool_calls?.length ? null : open.wording.outputRefused
    // What it thought on the way may hold the same.
    delete message.reasoning
  }

  let outcome: RunOutcome
  try {
    if (asked?.command) await specialistTurn(turn, parts.specialists[asked.command])
    else await agentTurn(turn)
    outcome = { kind: 'done' }
  } catch (error) {
    outcome = await endOf(error)
  }
  if (outcome.kind !== 'paused') await Promise.all([...shown, open.view.callsShown()])
  return outcome

  /** Turns what ended a turn early into a record that people see, and into an outcome. Anything unforeseen is thrown on. */
  async function endOf(error: unknown): Promise<RunOutcome> {
    if (error instanceof Suspended) return { kind: 'waiting' }
    if (signal.reason instanceof Paused && isAbort(error)) return { kind: 'paused' }
    if (signal.aborted && isAbort(error)) {
      const by = signal.reason instanceof Interrupted ? signal.reason.message : null
      show(await open.append(mark(open.now(), { mark: 'stopped', by, partial })))
      return { kind: 'stopped' }
    }
    if (!(error instanceof ModelError)) throw error
    parts.log.error({ error, thread: open.key }, 'the model failed')
    const reason = sentenceFor(error, open.wording)
    show(await open.append(mark(open.now(), { mark: 'failed', reason, partial })))
    return { kind: 'failed', reason }
  }
}

/** One sentence for people; the log has the rest. */
function sentenceFor(error: ModelError, wording: Wording): string {
  switch (error.kind) {
    case 'auth':
      return wording.modelRefusedKey
    case 'rateLimited':
      return wording.modelBusy
    case 'unreachable':
    case 'timeout':
      return wording.modelUnreachable
    case 'contextOverflow':
      return wording.modelOverflow
    default:
      return wording.modelFailed
  }
}
