import type { Message, Usage } from '../shared/message.ts'
import { estimateTokens, messageTokens } from '../shared/tokenEstimate.ts'
import type { ChatResponse, ToolCallInfo, ToolSchema } from './baseClient.ts'

/** US dollars per million tokens. Without `cached_input` cached tokens cost as much as others. */
export interface Prices {
  input: number
  cached_input?: number
  output: number
}

type Json = Record<string, unknown>

/** One US dollar in the unit in which xAI reports what a call cost. */
const XAI_TICKS_PER_USD = 1e10

/** True for an object that counts something: servers send zeros until they know. */
export function countsSomething(usage: Json): boolean {
  return Number(usage.prompt_tokens ?? 0) > 0 || Number(usage.completion_tokens ?? 0) > 0
}

/**
 * The wire's usage object in our terms. What the server did not report stays absent. Cost: what the provider reports, else
 * computed from `prices` (servers that leave reasoning out of `completion_tokens` show it in the total, so the total decides
 * what is billed as output), else absent.
 */
export function readUsage(usage: Json, prices?: Prices): Usage {
  const input = count(usage.prompt_tokens)
  const output = count(usage.completion_tokens)
  const inputDetails = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {}
  const outputDetails = isObject(usage.completion_tokens_details) ? usage.completion_tokens_details : {}
  const cached = count(inputDetails.cached_tokens) ?? count(usage.prompt_cache_hit_tokens) ?? count(usage.cached_tokens)
  const written = count(inputDetails.cache_write_tokens)
  const reasoning = count(outputDetails.reasoning_tokens) ?? count(usage.reasoning_tokens)
  const read: Usage = {}
  if (input !== undefined) read.inputTokens = input
  if (cached !== undefined) read.cachedInputTokens = cached
  if (written !== undefined) read.cacheWriteTokens = written
  if (output !== undefined) read.outputTokens = output
  if (reasoning !== undefined) read.reasoningTokens = reasoning
  const cost = reportedCost(usage) ?? (prices && computedCost(read, count(usage.total_tokens), prices))
  if (cost !== undefined) read.costUsd = cost
  return read
}

/** What an answer took of which the server reported nothing, as far as can be told: marked as an estimate. */
export function estimateUsage(
  sent: { messages: readonly Message[]; tools?: readonly ToolSchema[] | undefined },
  answer: ChatResponse,
  prices?: Prices,
): Usage {
  const { content, toolCalls, reasoning } = answer
  const tools = sent.tools ? estimateTokens(JSON.stringify(sent.tools)) : 0
  const inputTokens = sent.messages.reduce((sum, message) => sum + messageTokens(message), tools)
  const outputTokens = estimateTokens([content, reasoning?.text ?? '', ...toolCalls.map(textOfCall)].join(''))
  const read: Usage = { inputTokens, outputTokens, estimated: true }
  const cost = prices && computedCost(read, undefined, prices)
  return cost === undefined ? read : { ...read, costUsd: cost }
}

function textOfCall(call: ToolCallInfo): string {
  return call.name + call.arguments
}

function reportedCost(usage: Json): number | undefined {
  const ticks = count(usage.cost_in_usd_ticks)
  if (ticks !== undefined) return ticks / XAI_TICKS_PER_USD
  const cost = count(usage.cost)
  if (cost === undefined || usage.is_byok !== true || !isObject(usage.cost_details)) return cost
  // With the customer's own key OpenRouter's `cost` is its fee alone; the provider bills the rest.
  return cost + (count(usage.cost_details.upstream_inference_cost) ?? 0)
}

function computedCost(usage: Usage, total: number | undefined, prices: Prices): number | undefined {
  const { inputTokens: input, outputTokens: output } = usage
  if (input === undefined || output === undefined) return undefined
  const cached = Math.min(usage.cachedInputTokens ?? 0, input)
  const billedOutput = Math.max(output, (total ?? 0) - input)
  const cachedPrice = prices.cached_input ?? prices.input
  return ((input - cached) * prices.input + cached * cachedPrice + billedOutput * prices.output) / 1e6
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
