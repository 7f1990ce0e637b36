import type { ToolContext } from './context.ts'
import type { Answer, Question } from './question.ts'
import type { Tool } from './tool.ts'

/** What the people have said of one call so far. */
export type Verdict =
  | { kind: 'pending' }
  /**
   * `args` are the arguments that may run: exactly what was approved, which an edit may have changed; `note` then says so to
   * the model. `attempt` is the number to begin. `basis` is what the approved preview was made from.
   */
  | { kind: 'approved'; args: unknown; attempt: number; note?: string; basis?: string }
  | { kind: 'denied'; by: string; reason?: string }
  | { kind: 'expired' }
  /** An attempt ran to its end, but its result did not get into the thread's records. */
  | { kind: 'finished'; text: string; failed: boolean }
  /** An attempt was begun, nobody knows how it ended, and `by` decided to leave it at that. */
  | { kind: 'skipped'; by: string }

/** A call as an approver is asked about it. `args` are validated. */
export interface CallToApprove {
  callKey: string
  name: string
  args: unknown
}

/**
 * Asks people about calls, and keeps what was begun. Everything it says comes from the store, so it can be asked again
 * after a restart and on another instance. Where there is none (a sub-agent, a script), calls that need a yes are denied.
 */
export interface Approver {
  /** What the people say of a call; the first time, they are asked. Throws what the tool's preview throws as a `PreviewError`. */
  verdict(call: CallToApprove, tool: Tool, context: ToolContext): Promise<Verdict>
  /** Claims the right to run; exactly one caller wins per attempt, over all instances and restarts. */
  begin(callKey: string, attempt: number): Promise<'won' | 'lost'>
  /** Rejects with `StaleAttempt` when people have closed the attempt meanwhile: to be asked right before an effect. */
  confirm(callKey: string, attempt: number): Promise<void>
  /** Keeps the result of an attempt before it becomes a record; `lost` where people have ended the attempt meanwhile. */
  finish(callKey: string, attempt: number, result: { text: string; failed: boolean }): Promise<'won' | 'lost'>
  /** What the people say to a question; the first time, they are asked. */
  answer(callKey: string, question: Question, context: ToolContext): Promise<Answer>
}

/** People have closed an attempt (skipped it, or began another) that a worker believes to be its own. */
export class StaleAttempt extends Error {
  constructor(callKey: string, attempt: number) {
    super(`attempt ${attempt} of the call ${callKey} was closed by people; it has no effect any more`)
    this.name = 'StaleAttempt'
  }
}

/** No preview of a call could be made; the message is for the model. */
export class PreviewError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PreviewError'
  }
}
