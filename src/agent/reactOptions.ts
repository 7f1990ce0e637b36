import type { BaseClient, ChatParams, ToolCallInfo } from '../client/baseClient.ts'
import type { AssistantMessage, Message, ToolMessage, Usage, UserMessage } from '../shared/message.ts'
import type { Wording } from '../shared/wording/wording.ts'
import type { ToolContext } from '../tool/tool.ts'
import type { ToolManager } from '../tool/toolManager.ts'

export interface ReactOptions {
  client: BaseClient
  /**
   * The exchange so far, in the API's format. Mutated on purpose: afterwards it holds the whole exchange, and at every moment
   * it alone says where the run stands. Only this run may push to it meanwhile.
   */
  messages: Message[]
  toolManager: ToolManager
  /**
   * Most model calls that may use tools, default 16. Counted from the messages since the last answer or the person's message
   * that began the run, so it holds over suspensions. Messages from `nextInput` do not start the count anew; so that this
   * holds for a run that is resumed, too, `isSteering` has to know them.
   */
  maxSteps?: number
  /** True for a message of a person that entered a run under way, as `nextInput` handed it in. Default: none did. */
  isSteering?: (message: Message) => boolean
  /**
   * Stops the run: every open call gets a result, then an `AbortError` is thrown. Aborted with a `Paused` (shared/errors) as its reason, open
   * calls stay open instead, for whoever resumes the run.
   */
  signal?: AbortSignal
  /** What calls know of their surroundings; read afresh for each call, so the caller may change the object meanwhile. Default: none, and no workspace. */
  context?: Surroundings
  /**
   * Names a call, the same name after every restart. Default: `N:I`, the position of the assistant message in `messages` and
   * the index of the call in it, which is stable only where the array is.
   */
  callKey?: (assistant: AssistantMessage, index: number) => string
  /** Passed on to the client with each model call: another model, a cache key … */
  params?: Omit<ChatParams, 'tools' | 'signal' | 'onRestart'>
  /** The language of the few sentences that the loop itself says to people. Default English. */
  wording?: Wording

  // What the caller hears. All of these are awaited; what they throw ends the run as it is, and no further call is started.

  /**
   * After each push to `messages` by the loop, before anything else happens: save here. For the assistant message it comes
   * when its text has been yielded and before any of its calls runs; for a result before `onToolResult`.
   */
  onMessage?: (message: AssistantMessage | ToolMessage, meta: MessageMeta) => Promise<void> | void
  /** Right before a call runs. Not for calls that wait for people, nor for those that never run. May come again after a restart. */
  onToolCall?: (name: string, args: string, callKey: string) => Promise<void> | void
  /** After the result is in `messages` and saved. Also for calls that never ran (stopped, cut), without an `onToolCall` before. */
  onToolResult?: (name: string, observation: string, callKey: string, failed: boolean) => Promise<void> | void
  /**
   * The text of the model call under way is void and starts again. Given, it allows the client to ask again for a stream that
   * broke after its first piece; without it such an error ends the run.
   */
  onRestart?: (cause: Error) => void
  /**
   * Messages that people sent meanwhile, asked for between steps: when all results of a step are in, before the next model
   * call. They are pushed without `onMessage`; whoever hands them in has stored them.
   */
  nextInput?: () => Promise<UserMessage[]>
}

/** The part of `ToolContext` that does not change from call to call. */
export type Surroundings = Pick<ToolContext, 'threadKey' | 'requester' | 'workspace'>

/** What is known of a pushed message beside itself. */
export interface MessageMeta {
  /** For messages of the model; absent for the sentences of the loop itself. */
  usage?: Usage
  model?: string
  /** How long the model call or the tool call took, in milliseconds. */
  durationMs?: number
  /** For results: the observation tells of an error. */
  failed?: boolean
}

/** A call with the key by which everything durable about it is found. */
export interface KeyedCall extends ToolCallInfo {
  callKey: string
}

/**
 * Calls of the last assistant message wait for people. All others of that step are answered and saved; `messages` is
 * complete as it stands, and calling `streamReact` with it again carries on.
 */
export class Suspended extends Error {
  readonly calls: readonly KeyedCall[]
  constructor(calls: readonly KeyedCall[]) {
    super(`waiting for people: ${calls.map(({ name, callKey }) => `${name} (${callKey})`).join(', ')}`)
    this.name = 'Suspended'
    this.calls = calls
  }
}

/** A run as the parts of the loop see it: the options with their defaults, and where the run begins in `messages`. */
export interface Run extends ReactOptions {
  maxSteps: number
  signal: AbortSignal
  context: Surroundings
  callKey: (assistant: AssistantMessage, index: number) => string
  wording: Wording
  /** Index in `messages` from which steps and repeated calls are counted. */
  beginsAt: number
}

/** Adds a message of the run and lets the caller save it. */
export async function push(run: Run, message: AssistantMessage | ToolMessage, meta: MessageMeta): Promise<void> {
  run.messages.push(message)
  await run.onMessage?.(message, meta)
}

/** The error that ends a stopped run; always one that `isAbort` recognises. */
export function stopError(signal: AbortSignal): Error {
  const { reason } = signal
  if (reason instanceof Error && reason.name === 'AbortError') return reason
  return new DOMException('the run was stopped', { name: 'AbortError', cause: reason })
}
