import { ModelError } from '../shared/errors.ts'
import { isJsonObject } from '../shared/toolArguments.ts'
import type { ChatResponse } from './baseClient.ts'
import { createCallAssembly } from './callAssembly.ts'
import { createReasoningAssembly } from './reasoningAssembly.ts'
import { createThinkFilter } from './thinkFilter.ts'
import { countsSomething, type Prices, readUsage } from './usage.ts'

/** Makes one response of the chunks of a stream, whatever server they came from. Holds the state of one answer. */
export interface StreamAssembly {
  /** Takes a chunk; returns the text that people may see of it. */
  push(chunk: unknown): string
  /** Text held back until the end of the stream (the start of what might have become a hidden block). */
  flush(): string
  /** True once any chunk came. */
  readonly begun: boolean
  /** True once the server has said how the answer ended, and that it did not fail. */
  readonly answered: boolean
  /** What came so far, as it stands. */
  soFar(): ChatResponse
  /**
   * The whole response. Throws a retryable `ModelError` when the stream was cut (neither a finish nor a `[DONE]` with
   * complete calls), or when the server said that it failed.
   */
  result(end: { done: boolean; begun: boolean }): ChatResponse
}

export interface AssemblyOptions {
  /** The model asked for; the answer may name another. */
  model: string
  provider: string
  /** Names of the tools that were offered. */
  toolNames: ReadonlySet<string>
  prices?: (model: string) => Prices | undefined
  /** Told of finish words that are not known; they count as a stop. */
  onUnknownFinish?: (word: string) => void
}

type Json = Record<string, unknown>
type Finish = 'stop' | 'toolCalls' | 'length' | 'filtered' | 'error'

/** What servers say at the end, in lower case. Sources: section (b) of our provider notes. */
const FINISH: Record<string, Finish> = {
  stop: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  end: 'stop',
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_calls: 'toolCalls',
  tool_call: 'toolCalls',
  tool_use: 'toolCalls',
  function_call: 'toolCalls',
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  content_filter: 'filtered',
  safety: 'filtered',
  recitation: 'filtered',
  sensitive: 'filtered',
  error: 'error',
  network_error: 'error',
  insufficient_system_resource: 'error',
}
/** Where several choices end differently, the one that forbids most counts. */
const WEIGHT: Record<Finish, number> = { stop: 0, toolCalls: 1, length: 2, filtered: 3, error: 4 }

export function createStreamAssembly(options: AssemblyOptions): StreamAssembly {
  const calls = createCallAssembly(options.toolNames)
  const reasoning = createReasoningAssembly()
  const think = createThinkFilter()
  let content = ''
  let refusal = ''
  let finish: Finish | null = null
  let rawFinish = ''
  let usage: Json | null = null
  let model = options.model
  let textChoice: number | null = null
  let anything = false

  function push(chunk: unknown): string {
    if (!isObject(chunk)) return ''
    anything = true
    if (typeof chunk.model === 'string' && chunk.model !== '') model = chunk.model
    noteUsage(chunk.usage)
    if (isObject(chunk.x_groq)) noteUsage(chunk.x_groq.usage)
    let visible = ''
    for (const choice of Array.isArray(chunk.choices) ? chunk.choices : [])
      if (isObject(choice)) visible += pushChoice(choice)
    return visible
  }

  function pushChoice(choice: Json): string {
    const index = typeof choice.index === 'number' ? choice.index : 0
    noteUsage(choice.usage)
    const delta = isObject(choice.delta) ? choice.delta : isObject(choice.message) ? choice.message : null
    let visible = ''
    if (delta) {
      for (const entry of Array.isArray(delta.tool_calls) ? delta.tool_calls : []) calls.push(entry, index)
      if (isObject(delta.function_call)) calls.push({ index: 0, function: delta.function_call }, index)
      reasoning.push(delta)
      if (typeof delta.refusal === 'string') refusal += delta.refusal
      // Only one answer was asked for: text of a second choice would be another version of it.
      if (hasText(delta.content)) textChoice ??= index
      if (textChoice === index) visible = show(delta.content)
    }
    if (typeof choice.finish_reason === 'string' && choice.finish_reason !== '') noteFinish(choice.finish_reason)
    return visible
  }

  function show(text: unknown): string {
    if (typeof text === 'string') return reveal(think.push(text))
    let visible = ''
    for (const part of Array.isArray(text) ? text : []) {
      if (!isObject(part)) continue
      if (typeof part.text === 'string') visible += reveal(think.push(part.text))
      else if (part.thinking !== undefined) reasoning.note(textOfParts(part.thinking), 'thinking')
    }
    return visible
  }

  function reveal({ text, thought }: { text: string; thought: string }): string {
    reasoning.note(thought, 'think')
    content += text
    return text
  }

  /** Beside the choices, inside of one (Moonshot), under `x_groq`; more than once. The last that counts something holds. */
  function noteUsage(counted: unknown): void {
    if (isObject(counted) && countsSomething(counted)) usage = counted
  }

  function noteFinish(word: string): void {
    const known = FINISH[word.toLowerCase()]
    if (!known) options.onUnknownFinish?.(word)
    const next = known ?? 'stop'
    if (!rawFinish || rawFinish === 'stop') rawFinish = word
    if (finish === null || WEIGHT[next] > WEIGHT[finish]) finish = next
  }

  function soFar(): ChatResponse {
    const toolCalls = calls.calls()
    const ended = finish === null || finish === 'error' ? 'stop' : finish
    const thoughts = reasoning.soFar()
    const prices = options.prices?.(model) ?? options.prices?.(options.model)
    return {
      content: content || refusal,
      toolCalls,
      usage: usage ? readUsage(usage, prices) : {},
      model,
      // What came decides, not the word: servers say `stop` beside calls, and `tool_calls` without any.
      finish: ended === 'length' || ended === 'filtered' ? ended : toolCalls.length > 0 ? 'toolCalls' : 'stop',
      ...(rawFinish ? { rawFinish } : {}),
      ...(refusal ? { refusal } : {}),
      ...(thoughts ? { reasoning: { ...thoughts, provider: options.provider, model: options.model } } : {}),
    }
  }

  function result({ done, begun }: { done: boolean; begun: boolean }): ChatResponse {
    const response = soFar()
    if (finish === 'error') {
      throw new ModelError('server', `The model server ended the answer with "${rawFinish}".`, {
        retryable: true,
        code: rawFinish,
      })
    }
    if (finish !== null) return response
    if (!anything && (done || !begun)) {
      throw new ModelError('emptyResponse', 'The model server sent an empty answer.', { retryable: true })
    }
    if (!done || !response.toolCalls.every((call) => isJsonObject(call.arguments))) {
      throw new ModelError('incompleteStream', 'The connection ended in the middle of the answer.', { retryable: true })
    }
    return response
  }

  return {
    push,
    flush: () => reveal(think.end()),
    get begun() {
      return anything
    },
    get answered() {
      return finish !== null && finish !== 'error'
    },
    soFar,
    result,
  }
}

function hasText(content: unknown): boolean {
  return typeof content === 'string' ? content !== '' : Array.isArray(content) && content.length > 0
}

function textOfParts(parts: unknown): string {
  if (typeof parts === 'string') return parts
  if (!Array.isArray(parts)) return ''
  return parts.map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('')
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
