import type { ChatCompletionCreateParamsStreaming } from 'openai/resources/chat/completions'
import type { AssistantMessage, Message } from '../shared/message.ts'
import type { ChatParams, ToolSchema } from './baseClient.ts'
import type { Compat } from './compat.ts'
import { repairHistory } from './history.ts'

/** Fields that a request can do without. A server that refuses one by name is asked again without it. */
export const OPTIONAL_FIELDS = [
  'stream_options',
  'prompt_cache_key',
  'temperature',
  'max_tokens',
  'max_completion_tokens',
] as const
export type OptionalField = (typeof OPTIONAL_FIELDS)[number]

/** Gemini refuses a call without a thought signature; this one, of its own documentation, stands for "another model's". */
const FOREIGN_SIGNATURE = { google: { thought_signature: 'skip_thought_signature_validator' } }

/**
 * The body of one streamed request: the repaired history in the provider's dialect, the tools sorted by name (an unchanged
 * prefix is what prompt caches live on), and the optional fields that the server is not known to refuse.
 */
export function requestBody(
  messages: readonly Message[],
  params: ChatParams & { model: string },
  compat: Compat,
  refused: ReadonlySet<OptionalField>,
): ChatCompletionCreateParamsStreaming {
  const history = repairHistory(messages, compat)
  const tools = offeredTools(params.tools ?? [], history, compat)
  const wanted: Partial<Record<OptionalField, unknown>> = {
    stream_options: compat.usageInStreaming ? { include_usage: true } : undefined,
    prompt_cache_key: compat.promptCacheKey ? params.cacheKey?.slice(0, 64) : undefined,
    temperature: params.temperature,
    [maxTokensField(compat, refused)]: params.maxTokens,
  }
  const optional = Object.entries(wanted).filter(
    ([field, value]) => value !== undefined && !refused.has(field as OptionalField),
  )
  return {
    model: params.model,
    messages: history.map((message) => toWire(message, params.model, compat)),
    ...(tools.length > 0 ? { tools } : {}),
    stream: true,
    ...Object.fromEntries(optional),
  } as ChatCompletionCreateParamsStreaming
}

/** The name for the output limit: the other one once the server has refused the first. */
function maxTokensField(compat: Compat, refused: ReadonlySet<OptionalField>): OptionalField {
  const other = compat.maxTokensField === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
  return refused.has(compat.maxTokensField) ? other : compat.maxTokensField
}

function offeredTools(tools: readonly ToolSchema[], history: readonly Message[], compat: Compat): ToolSchema[] {
  if (tools.length > 0) return tools.toSorted((a, b) => (a.function.name < b.function.name ? -1 : 1))
  if (!compat.toolsWithToolHistory) return []
  const names = new Set(
    history
      .flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))
      .map((call) => call.function.name),
  )
  return [...names].sort().map((name) => ({
    type: 'function',
    function: { name, description: 'Not available at this point.', parameters: { type: 'object', properties: {} } },
  }))
}

function toWire(message: Message, model: string, compat: Compat): object {
  return message.role === 'assistant' ? assistantToWire(message, model, compat) : message
}

function assistantToWire(message: AssistantMessage, model: string, compat: Compat): object {
  const { reasoning, cut: _cut, tool_calls: calls, ...wire } = message
  if (!calls) return wire
  const own = reasoning?.provider === compat.provider && reasoning.model === model
  return {
    ...wire,
    // The turns of other models have none of this model's reasoning; an empty one is accepted in its place.
    ...(compat.replayReasoning ? { [compat.replayReasoning]: own ? reasoning.text : '' } : {}),
    // Only a server that sent them gets them back.
    ...(own && reasoning.details ? { reasoning_details: reasoning.details } : {}),
    tool_calls: calls.map(({ extra_content: extra, ...call }) => {
      if (compat.extraContent === 'drop') return call
      const kept = extra ?? (compat.extraContent === 'signature' ? FOREIGN_SIGNATURE : undefined)
      return kept === undefined ? call : { ...call, extra_content: kept }
    }),
  }
}
