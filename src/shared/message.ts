/**
 * Messages in the wire format of OpenAI's chat completions, which is also the format in which a thread's records keep them.
 * The array of messages is the only state of a run (design, idea 1).
 */

export interface ToolCall {
  id: string
  type: 'function'
  function: {
    name: string
    /** JSON text, as the model wrote it. */
    arguments: string
  }
  /** Provider data that has to be sent back unchanged, such as Gemini's thought signature. */
  extra_content?: unknown
}

export interface SystemMessage {
  role: 'system'
  content: string
}

export type ContentPart =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string; detail?: 'auto' | 'low' | 'high' } }

export interface UserMessage {
  role: 'user'
  content: string | ContentPart[]
}

export interface AssistantMessage {
  role: 'assistant'
  /** `null` only beside tool calls. */
  content: string | null
  tool_calls?: ToolCall[]
  /** True when the output limit cut the answer: none of its calls may run. Ours alone; not part of the wire format. */
  cut?: true
  /** Reasoning that some providers want back; `field` is the name it came under, `details` OpenRouter's parts, unchanged. */
  reasoning?: { field: string; text: string; provider: string; model: string; details?: unknown[] }
}

export interface ToolMessage {
  role: 'tool'
  tool_call_id: string
  content: string
}

export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage

/** Tokens and money of one model call. Counts that the provider did not report are absent, never 0. */
export interface Usage {
  inputTokens?: number
  /** Part of `inputTokens` that the provider read from its cache. */
  cachedInputTokens?: number
  /** Part of `inputTokens` that the provider wrote to its cache. */
  cacheWriteTokens?: number
  /** Includes reasoning tokens. */
  outputTokens?: number
  reasoningTokens?: number
  /** US dollars, where the provider reports them or the configuration has prices. */
  costUsd?: number
  /** True where nothing was reported (a cut stream) and the counts are our own estimate. */
  estimated?: true
}

/** The text of a message whatever its form; images become nothing. */
export function textOf(message: Message): string {
  const { content } = message
  if (typeof content === 'string') return content
  if (content === null) return ''
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

/**
 * The calls of the last assistant message that have no `tool` message yet, with their index within that message.
 * While there are some, the run stands in the middle of a step: they are answered before the model is asked again.
 * A call counts as answered by position, not by id alone: providers repeat ids such as `call_0`.
 */
export function unanswered(messages: readonly Message[]): { call: ToolCall; index: number }[] {
  let at = messages.length - 1
  while (at >= 0 && messages[at]!.role === 'tool') at--
  const last = messages[at]
  if (last?.role !== 'assistant' || !last.tool_calls?.length) return []
  const answered = messages.slice(at + 1).map((message) => (message as ToolMessage).tool_call_id)
  return last.tool_calls.flatMap((call, index) => {
    const found = answered.indexOf(call.id)
    if (found < 0) return [{ call, index }]
    answered.splice(found, 1)
    return []
  })
}
