import type { SubAgentRun } from '../agent/subAgent.ts'
import type { BaseClient } from '../client/baseClient.ts'
import type { Compaction } from '../session/compaction.ts'
import type { ModelCall } from '../session/usage.ts'
import type { Log } from '../shared/log.ts'
import type { UserMessage } from '../shared/message.ts'
import type { MessageRecord } from '../shared/record.ts'
import type { ToolManager } from '../tool/toolManager.ts'
import type { OpenThread } from './openThread.ts'

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

/** Keeps what one model call took, for the thread it was made in. */
export type CountCall = (call: Pick<ModelCall, 'model' | 'purpose' | 'usage'>) => Promise<void>

/** Judges a text; false means that it must not pass. */
export type Audit = (text: string, options: { signal: AbortSignal; countCall: CountCall }) => Promise<boolean>

export interface CompactOptions {
  overflow: boolean
  signal: AbortSignal
  toolManager: ToolManager
  systemPrompt: string
  countCall: CountCall
}

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
  /** Brings a thread that has grown too long for the model below its budget; `overflow`: the model server said so. */
  compact(open: OpenThread, options: CompactOptions): Promise<Compaction>
  countCall: CountCall
  /** False for an answer that must not pass; with it, nothing of an answer is shown before it has passed. `null`: off. */
  auditAnswer: ((text: string) => Promise<boolean>) | null
}

/** A turn under way, as the agent and the specialists see it. */
export interface Turn {
  open: OpenThread
  parts: TurnParts
  signal: AbortSignal
  /** The message that is answered; `null` where the thread begins with something else. */
  asked: MessageRecord | null
  /** More live text of the step under way. */
  piece(text: string): void
  /** The live text of the step under way is void. */
  restart(): void
  /** Stores a message of the turn and has it shown. An answer that does not pass the audit is replaced first. */
  save(record: MessageRecord): Promise<void>
  /** The turn ends without a word of the model; people are told so. */
  saveEmpty(): Promise<void>
}

/** Takes a stream to its end, handing on its pieces. */
export async function drain(stream: AsyncGenerator<string, string>, piece: (text: string) => void): Promise<string> {
  while (true) {
    const { done, value } = await stream.next()
    if (done) return value
    piece(value)
  }
}
