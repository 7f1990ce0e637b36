import type { AssistantMessage, Message, ToolCall, Usage } from '../shared/message.ts'

/** A tool as the model API is told of it. */
export interface ToolSchema {
  type: 'function'
  function: { name: string; description: string; parameters: Record<string, unknown> }
}

export interface ChatParams {
  /** Overrides the client's own model. */
  model?: string
  tools?: readonly ToolSchema[]
  temperature?: number
  /** Most tokens of the answer. */
  maxTokens?: number
  signal?: AbortSignal
  /** Stable per conversation; helps providers that cache prompts (at most 64 characters). */
  cacheKey?: string
  /**
   * Allows a broken stream to be asked for again after pieces were handed out: it is called first, and means "the text of
   * this call so far is void". Without it an error after the first piece ends the stream.
   */
  onRestart?: (cause: Error) => void
  /**
   * Told of each attempt that began to answer and came to nothing (it broke, was empty, or was stopped), because its tokens
   * are paid for, too. Counts that the server did not report by then are our estimate. Awaited.
   */
  onLostCall?: (call: Pick<ChatResponse, 'model' | 'usage'>) => Promise<void> | void
}

/** A call as the model made it. `arguments` is its JSON text, valid or not. */
export interface ToolCallInfo {
  id: string
  name: string
  arguments: string
  /** Provider data to be replayed with the call. */
  extraContent?: unknown
}

export interface ChatResponse {
  /** Never null: an answer without text is the empty string. */
  content: string
  /** `[]` means: this is the final answer. */
  toolCalls: ToolCallInfo[]
  usage: Usage
  model: string
  /** Normalised: `length` means cut by the output limit (none of its calls may run), `filtered` stopped by the provider. */
  finish: 'stop' | 'toolCalls' | 'length' | 'filtered'
  /** The provider's own word for it; for the log. */
  rawFinish?: string
  /** The model's words for declining, where the provider sends them apart from the text; `content` holds them too then. */
  refusal?: string
  reasoning?: NonNullable<AssistantMessage['reasoning']>
}

/** Talks to a model. Callers depend on this, never on a provider. One client serves many threads at once: it keeps no state of one answer. */
export abstract class BaseClient {
  /** The name of the model that answers unless `params.model` says otherwise. */
  abstract readonly model: string
  /** Rejects with `ModelError`, or with an `AbortError` when `params.signal` aborts. */
  abstract chat(messages: readonly Message[], params?: ChatParams): Promise<ChatResponse>
  /** Yields the pieces of the text as they come; the return value is the whole response (the original's `lastResponse`). */
  abstract streamChat(messages: readonly Message[], params?: ChatParams): AsyncGenerator<string, ChatResponse>
}

/** The form in which a response's calls stand in the messages array. */
export function toToolCalls(calls: readonly ToolCallInfo[]): ToolCall[] {
  return calls.map(({ id, name, arguments: args, extraContent }) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
    ...(extraContent === undefined ? {} : { extra_content: extraContent }),
  }))
}
