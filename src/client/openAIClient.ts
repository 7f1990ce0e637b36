import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI, { APIError } from 'openai'
import { ModelError } from '../shared/errors.ts'
import { type Log, silentLog } from '../shared/log.ts'
import type { Message } from '../shared/message.ts'
import { BaseClient, type ChatParams, type ChatResponse } from './baseClient.ts'
import { type Compat, detectCompat } from './compat.ts'
import { abortError, BrokenStream, toModelError } from './modelErrors.ts'
import { OPTIONAL_FIELDS, type OptionalField, requestBody } from './requestBody.ts'
import type { Chunk } from './sseFrames.ts'
import { createStreamAssembly, type StreamAssembly } from './streamAssembly.ts'
import { estimateUsage, type Prices } from './usage.ts'
import { openWire, type Wire } from './wire.ts'

export interface OpenAIClientOptions {
  /** At least one; a server without keys gets any word. Tried in order, beginning with the one that last worked. */
  apiKeys: readonly string[]
  /** Up to and including `/v1`, or what the server has in its place. */
  baseUrl: string
  model: string
  /** Further attempts per key after the first. Default 2. */
  maxRetries?: number
  /** The first pause between attempts, in milliseconds; it doubles up to 30 s, give or take a quarter. Default 1000. */
  retryIntervalMs?: number
  /**
   * How long the server may be silent, in milliseconds, before the headers and between any two bytes. Default 300000,
   * which is also the most: Node's own fetch gives up a silent connection then.
   */
  idleTimeoutMs?: number
  /** What is known of the server beyond what its address tells. */
  compat?: Partial<Compat>
  /** US dollars per million tokens, by model. */
  prices?: Record<string, Prices>
  log?: Log
  /** For tests. */
  fetch?: typeof fetch
}

const DEFAULT_IDLE_MS = 300_000
const LONGEST_PAUSE_MS = 30_000
/** A longer `Retry-After` is not waited for: the caller tells the people how long it would be. */
const LONGEST_RETRY_AFTER_MS = 60_000
/** How long a server may keep the connection open after the last word of an answer. */
const LINGER_MS = 5_000

interface OpenStream {
  chunks: AsyncIterable<Chunk[]>
  wire: Wire
  assembly: StreamAssembly
  /** True once a piece of it was handed out. */
  shown: boolean
}

/**
 * Any OpenAI-compatible server. Requests go out through the SDK; the bytes of the answer are
 * read by our own frame reader and assembly, because the SDK's stream loses what some servers send; retries are ours.
 *
 * One client serves many threads at once. What it remembers between calls is about the server, never about an answer: which
 * key last worked, and which optional fields the server refuses for a model.
 */
export class OpenAIClient extends BaseClient {
  readonly model: string
  readonly #options: Required<Pick<OpenAIClientOptions, 'maxRetries' | 'retryIntervalMs' | 'idleTimeoutMs'>> &
    OpenAIClientOptions
  readonly #log: Log
  readonly #refused = new Map<string, Set<OptionalField>>()
  #goodKey = 0

  /** Throws a `RangeError` when there is no key. */
  constructor(options: OpenAIClientOptions) {
    super()
    if (options.apiKeys.length === 0) throw new RangeError('OpenAIClient needs at least one API key')
    this.model = options.model
    this.#options = { maxRetries: 2, retryIntervalMs: 1000, idleTimeoutMs: DEFAULT_IDLE_MS, ...options }
    this.#log = options.log ?? silentLog
  }

  /** The drained stream: one path for both, and long answers are not cut by time-outs of whole requests. */
  async chat(messages: readonly Message[], params: ChatParams = {}): Promise<ChatResponse> {
    // Nobody has seen a piece of it, so a broken stream can always be asked for again.
    const stream = this.streamChat(messages, { onRestart: () => {}, ...params })
    while (true) {
      const { done, value } = await stream.next()
      if (done) return value
    }
  }

  async *streamChat(messages: readonly Message[], params: ChatParams = {}): AsyncGenerator<string, ChatResponse> {
    const { apiKeys, maxRetries } = this.#options
    const firstKey = this.#goodKey
    let failures = 0
    let last: ModelError | undefined
    for (let turn = 0; turn < apiKeys.length; turn++) {
      const key = (firstKey + turn) % apiKeys.length
      for (let attempt = 0; attempt <= maxRetries; attempt++) {
        if (last && attempt > 0) await this.#pause(last, attempt, params.signal)
        let open: OpenStream | undefined
        let returned = false
        try {
          open = await this.#open(apiKeys[key]!, messages, params)
          const response = yield* this.#read(open, params.signal)
          this.#goodKey = key
          // An empty answer is asked for once more; the second one is the answer.
          returned = !isEmpty(response) || last?.kind === 'emptyResponse' || attempt === maxRetries
          if (returned) return response
          last = new ModelError('emptyResponse', 'The model server sent an empty answer.', { retryable: true })
        } catch (error) {
          if (params.signal?.aborted) throw abortError(params.signal)
          last = open ? new BrokenStream(toModelError(error), open.assembly.soFar()) : toModelError(error)
          failures++
          this.#log.warn(
            { model: this.#modelOf(params), kind: last.kind, code: last.code, key, attempt, error: last },
            'a model call failed',
          )
          const sameKey = last.retryable && attempt < maxRetries && (last.retryAfterMs ?? 0) <= LONGEST_RETRY_AFTER_MS
          const isLast = mustStop(last) || !(sameKey || turn + 1 < apiKeys.length)
          if (open?.shown) {
            // The reader has seen text that can't be taken back, unless it says that it can.
            if (isLast || !last.retryable || !params.onRestart) throw last
            params.onRestart(last)
          }
          if (mustStop(last)) throw last
          if (!sameKey) break
        } finally {
          open?.wire.close()
          if (open?.assembly.begun && !returned) await this.#tellLost(open.assembly.soFar(), messages, params)
        }
      }
    }
    throw this.#exhausted(last!, failures)
  }

  /** Sends the request with one key; again at once without an optional field that the server refuses by name. */
  async #open(apiKey: string, messages: readonly Message[], params: ChatParams): Promise<OpenStream> {
    const model = this.#modelOf(params)
    const { baseUrl: baseURL, idleTimeoutMs, fetch } = this.#options
    const compat = detectCompat(baseURL, model, this.#options.compat)
    const refused = this.#refused.get(model) ?? new Set<OptionalField>()
    while (true) {
      const body = requestBody(messages, { ...params, model }, compat, refused)
      const wire = openWire({ idleTimeoutMs, ...(fetch ? { fetch } : {}) })
      const sdk = new OpenAI({
        apiKey: apiKey || 'none',
        baseURL,
        maxRetries: 0,
        // The wire's own timer is the only one: it begins with the request and is fed by every byte.
        timeout: 2 ** 31 - 1,
        organization: null,
        project: null,
        logLevel: 'off',
        fetch: wire.fetch,
      })
      try {
        const response = await sdk.chat.completions
          .create(body, params.signal ? { signal: params.signal } : {})
          .asResponse()
        return {
          chunks: wire.read(response),
          wire,
          assembly: this.#assemblyFor(model, compat.provider, params),
          shown: false,
        }
      } catch (error) {
        wire.close()
        const field = params.signal?.aborted ? undefined : refusedField(error, body)
        if (!field) throw error
        this.#log.info({ model, field }, 'the model server refuses a field; asking without it')
        refused.add(field)
        this.#refused.set(model, refused)
      }
    }
  }

  #assemblyFor(model: string, provider: string, params: ChatParams): StreamAssembly {
    return createStreamAssembly({
      model,
      provider,
      toolNames: new Set(params.tools?.map((tool) => tool.function.name)),
      prices: (name) => this.#options.prices?.[name],
      onUnknownFinish: (word) =>
        this.#log.info({ model, finish: word }, 'the model server ended an answer with an unknown word'),
    })
  }

  /** Hands out the text of one stream as it comes; returns the whole response, or throws what it broke on. */
  async *#read(open: OpenStream, signal: AbortSignal | undefined): AsyncGenerator<string, ChatResponse> {
    const { chunks, wire, assembly } = open
    try {
      for await (const batch of chunks) {
        for (const chunk of batch) {
          const piece = assembly.push(chunk)
          if (!piece) continue
          open.shown = true
          yield piece
        }
        if (assembly.answered) wire.expectEnd(LINGER_MS)
      }
    } catch (error) {
      if (signal?.aborted || !assembly.answered) throw error
      // What breaks after the last word of an answer takes nothing away from it.
      this.#log.info({ error }, 'the model server failed after the end of the answer')
    }
    signal?.throwIfAborted()
    const held = assembly.flush()
    if (held) {
      open.shown = true
      yield held
    }
    const response = assembly.result(wire)
    if (response.refusal !== undefined && response.content === response.refusal) yield response.refusal
    return response
  }

  /** Waits before the next attempt: what the server asked for, else doubling with jitter. Rejects at once on abort. */
  async #pause(cause: ModelError, attempt: number, signal: AbortSignal | undefined): Promise<void> {
    const backOff = Math.min(this.#options.retryIntervalMs * 2 ** (attempt - 1), LONGEST_PAUSE_MS)
    const ms = cause.retryAfterMs ?? backOff * (0.75 + Math.random() / 2)
    try {
      await sleep(ms, undefined, signal ? { signal } : {})
    } catch (error) {
      throw signal?.aborted ? abortError(signal) : error
    }
  }

  async #tellLost(answer: ChatResponse, messages: readonly Message[], params: ChatParams): Promise<void> {
    const { model } = answer
    const reported = answer.usage.inputTokens !== undefined || answer.usage.outputTokens !== undefined
    const prices = this.#options.prices?.[model] ?? this.#options.prices?.[this.#modelOf(params)]
    const usage = reported ? answer.usage : estimateUsage({ messages, tools: params.tools }, answer, prices)
    await params.onLostCall?.({ model, usage })
  }

  #exhausted(last: ModelError, failures: number): ModelError {
    const { apiKeys } = this.#options
    if (failures <= 1 && apiKeys.length === 1) return last
    const keys = apiKeys.length > 1 ? ` with ${apiKeys.length} keys` : ''
    return new ModelError(last.kind, `${last.message} (${failures} attempts${keys})`, {
      retryable: last.retryable,
      ...(last.retryAfterMs === undefined ? {} : { retryAfterMs: last.retryAfterMs }),
      ...(last.code === undefined ? {} : { code: last.code }),
      cause: last,
    })
  }

  #modelOf(params: ChatParams): string {
    return params.model ?? this.model
  }
}

/** Errors that no other key and no other attempt will mend. */
function mustStop(error: ModelError): boolean {
  return error.kind === 'refused' || error.kind === 'contextOverflow'
}

function isEmpty(response: ChatResponse): boolean {
  return response.finish === 'stop' && response.content.trim() === '' && response.toolCalls.length === 0
}

/** The optional field of the request that a 400 or 422 complains of by name. */
function refusedField(error: unknown, body: object): OptionalField | undefined {
  if (!(error instanceof APIError) || (error.status !== 400 && error.status !== 422)) return undefined
  const sent = OPTIONAL_FIELDS.filter((field) => field in body)
  return (
    sent.find((field) => error.param === field) ??
    sent.find((field) => new RegExp(`\\b${field}\\b`).test(error.message))
  )
}
