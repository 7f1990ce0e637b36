import { isDeepStrictEqual } from 'node:util'
import type { Message, Usage } from '../shared/message.ts'
import { BaseClient, type ChatParams, type ChatResponse, type ToolCallInfo } from './baseClient.ts'
import { abortError } from './modelErrors.ts'

/** One model call of a script: what is looked at in the request, and what comes back. */
export interface ScriptedStep {
  /** The answer, in the pieces in which it is streamed. */
  text?: string | readonly string[]
  /** `arguments` that are no string are written as JSON. Ids default to `call_1`, `call_2` … over the whole script. */
  toolCalls?: readonly { name: string; arguments?: unknown; id?: string; extraContent?: unknown }[]
  /** Default: `toolCalls` when there are some, else `stop`. */
  finish?: ChatResponse['finish']
  usage?: Usage
  reasoning?: ChatResponse['reasoning']
  /** Thrown after the pieces of `text`, in place of a response. */
  error?: Error
  /**
   * An error that may be recovered from: where the caller allows a restart, it is told, and the next step of the script
   * answers this call; else it is thrown like `error`. `usage` is what it took.
   */
  broken?: Error
  /** Waited for before the first piece and before each further one: a gate, or a delay on the test's own clock. */
  before?: (piece: number, signal: AbortSignal | undefined) => Promise<void> | void
  /** Looks at the request; what it throws is what the caller gets. Also a place for assertions. */
  expect?: (request: ScriptedRequest) => void
}

export interface ScriptedRequest {
  /** As they stood when the call was made; a copy. */
  messages: Message[]
  params: ChatParams
}

/**
 * A model that plays a script: tests and examples know every word of it. It complains about calls that the script does not
 * have, and `finish()` complains about steps that nobody asked for.
 */
export class ScriptedClient extends BaseClient {
  readonly model: string
  /** Every call so far, also those that failed. */
  readonly requests: ScriptedRequest[] = []
  readonly #steps: ScriptedStep[]
  #calls = 0

  constructor(steps: readonly ScriptedStep[] = [], { model = 'scripted' }: { model?: string } = {}) {
    super()
    this.model = model
    this.#steps = [...steps]
  }

  /** Adds steps to the end. */
  add(...steps: ScriptedStep[]): void {
    this.#steps.push(...steps)
  }

  /** Throws when steps are left, naming the first of them. */
  finish(): void {
    const [next] = this.#steps
    if (next) throw new Error(`${this.#steps.length} steps of the script were not used; the next is ${described(next)}`)
  }

  async chat(messages: readonly Message[], params: ChatParams = {}): Promise<ChatResponse> {
    const stream = this.streamChat(messages, { onRestart: () => {}, ...params })
    while (true) {
      const { done, value } = await stream.next()
      if (done) return value
    }
  }

  async *streamChat(messages: readonly Message[], params: ChatParams = {}): AsyncGenerator<string, ChatResponse> {
    const request = { messages: structuredClone(messages) as Message[], params }
    this.requests.push(request)
    while (true) {
      const step = this.#steps.shift()
      if (!step)
        throw new Error(`the script has no step for model call ${this.requests.length}: ${lastWords(messages)}`)
      step.expect?.(request)
      const pieces = piecesOf(step.text)
      let at = 0
      for (const piece of pieces) {
        await this.#pause(step, at++, params.signal)
        yield piece
      }
      if (pieces.length === 0) await this.#pause(step, 0, params.signal)
      if (step.error) throw step.error
      if (!step.broken) return this.#response(step, pieces.join(''), params)
      if (step.usage) await params.onLostCall?.({ model: params.model ?? this.model, usage: step.usage })
      if (!params.onRestart) throw step.broken
      params.onRestart(step.broken)
    }
  }

  async #pause(step: ScriptedStep, piece: number, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted) throw abortError(signal)
    const waiting = step.before?.(piece, signal)
    if (!waiting) return
    await (signal ? orAborted(waiting, signal) : waiting)
  }

  #response(step: ScriptedStep, content: string, params: ChatParams): ChatResponse {
    const toolCalls: ToolCallInfo[] = (step.toolCalls ?? []).map((call) => ({
      id: call.id ?? `call_${++this.#calls}`,
      name: call.name,
      arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments ?? {}),
      ...(call.extraContent === undefined ? {} : { extraContent: call.extraContent }),
    }))
    return {
      content,
      toolCalls,
      usage: step.usage ?? {},
      model: params.model ?? this.model,
      finish: step.finish ?? (toolCalls.length > 0 ? 'toolCalls' : 'stop'),
      ...(step.reasoning ? { reasoning: step.reasoning } : {}),
    }
  }
}

/** Whether a request offered exactly these tools, in any order. */
export function offersTools(request: ScriptedRequest, names: readonly string[]): boolean {
  const offered = (request.params.tools ?? []).map((tool) => tool.function.name).sort()
  return isDeepStrictEqual(offered, [...names].sort())
}

async function orAborted(waiting: Promise<void>, signal: AbortSignal): Promise<void> {
  let stop: (() => void) | undefined
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(abortError(signal))
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    await Promise.race([waiting, aborted])
  } finally {
    if (stop) signal.removeEventListener('abort', stop)
  }
}

function piecesOf(text: ScriptedStep['text']): readonly string[] {
  if (text === undefined || text === '') return []
  return typeof text === 'string' ? [text] : text
}

function described(step: ScriptedStep): string {
  return JSON.stringify({
    text: piecesOf(step.text).join('').slice(0, 60),
    toolCalls: step.toolCalls,
    error: step.error?.message,
  })
}

function lastWords(messages: readonly Message[]): string {
  return JSON.stringify(messages.at(-1)).slice(0, 200)
}
