/** How a server differs from OpenAI's own. Everything here is a fact about the server, not a wish of ours. */
export interface Compat {
  /** A short name for logs and for telling whose reasoning a message holds. */
  provider: string
  /** The field that carries the most tokens of an answer. */
  maxTokensField: 'max_tokens' | 'max_completion_tokens'
  /** Knows `stream_options.include_usage`. */
  usageInStreaming: boolean
  /** Knows `prompt_cache_key`. */
  promptCacheKey: boolean
  /** Wants a string, if an empty one, as the content of an assistant message with calls (old Ollama). */
  nonNullAssistantContent: boolean
  /**
   * What ids of calls must look like:
   * - `native`: whatever the server itself minted
   * - `openai40`: letters, digits, `_` and `-`, at most 40 characters
   * - `mistral9`: exactly nine letters and digits
   * - `kimi`: `functions.NAME:N`, which the model must see again verbatim
   */
  toolCallIds: ToolCallIdPolicy
  /** Refuses two user messages in a row. */
  mergeUserMessages: boolean
  /** Wants an assistant message between tool results and the next user message (old Mistral). */
  assistantAfterToolResult: boolean
  /** Refuses tool messages in the history when no tools are offered (Anthropic behind proxies). */
  toolsWithToolHistory: boolean
  /** Wants the reasoning of its own tool-calling turns back under this field (DeepSeek). */
  replayReasoning: string | null
  /** Takes `extra_content` back with a call; `signature` wants Gemini's thought signature on every one of them. */
  extraContent: 'keep' | 'drop' | 'signature'
}

export type ToolCallIdPolicy = 'native' | 'openai40' | 'mistral9' | 'kimi'

/** A server of which nothing is known: few optional fields, and nothing taken away from what it sent. */
const PLAIN: Compat = {
  provider: 'unknown',
  maxTokensField: 'max_tokens',
  usageInStreaming: true,
  promptCacheKey: false,
  nonNullAssistantContent: false,
  toolCallIds: 'native',
  mergeUserMessages: false,
  assistantAfterToolResult: false,
  toolsWithToolHistory: false,
  replayReasoning: null,
  extraContent: 'keep',
}

const OPENAI: Partial<Compat> = {
  maxTokensField: 'max_completion_tokens',
  promptCacheKey: true,
  toolCallIds: 'openai40',
  extraContent: 'drop',
}

/** By host name: the first entry whose pattern matches. Sources: the flags table and section (c) of our provider notes. */
const KNOWN: readonly [RegExp, Partial<Compat> & { provider: string }][] = [
  [/(^|\.)api\.openai\.com$/, { ...OPENAI, provider: 'openai' }],
  [/\.(openai|cognitiveservices)\.azure\.com$|\.services\.ai\.azure\.com$/, { ...OPENAI, provider: 'azure' }],
  [/(^|\.)generativelanguage\.googleapis\.com$/, { provider: 'gemini', extraContent: 'signature' }],
  [/(^|\.)mistral\.ai$/, { provider: 'mistral', toolCallIds: 'mistral9', extraContent: 'drop' }],
  [/(^|\.)moonshot\.(ai|cn)$/, { provider: 'moonshot', toolCallIds: 'kimi', promptCacheKey: true }],
  [/(^|\.)deepseek\.com$/, { provider: 'deepseek', replayReasoning: 'reasoning_content', extraContent: 'drop' }],
  [/(^|\.)groq\.com$/, { provider: 'groq', maxTokensField: 'max_completion_tokens', extraContent: 'drop' }],
  [/(^|\.)anthropic\.com$/, { provider: 'anthropic', toolCallIds: 'openai40', toolsWithToolHistory: true }],
  [/(^|\.)openrouter\.ai$/, { provider: 'openrouter', toolsWithToolHistory: true }],
  [/(^|\.)(z\.ai|bigmodel\.cn)$/, { provider: 'zai' }],
  [/(^|\.)x\.ai$/, { provider: 'xai', maxTokensField: 'max_completion_tokens' }],
  [/(^|\.)together\.(xyz|ai)$/, { provider: 'together' }],
]

/** Ollama's port, wherever it runs. */
const OLLAMA_PORT = '11434'

/**
 * What is known of the server behind a base address. `overrides` (from the configuration) win. A Kimi model is treated as
 * such on any host, because the rule about its ids is the model's, not the server's.
 */
export function detectCompat(baseUrl: string, model: string, overrides: Partial<Compat> = {}): Compat {
  const { hostname, port } = URL.canParse(baseUrl) ? new URL(baseUrl) : { hostname: '', port: '' }
  const known = KNOWN.find(([pattern]) => pattern.test(hostname))?.[1]
  const found = known ?? { provider: port === OLLAMA_PORT ? 'ollama' : hostname || PLAIN.provider }
  const kimi: Partial<Compat> = /\bkimi\b/i.test(model) ? { toolCallIds: 'kimi' } : {}
  return { ...PLAIN, ...found, ...kimi, ...overrides }
}
