/**
 * Stream vectors: recorded or composed response bodies, and what must come of them. Each runs through the real
 * `OpenAIClient` against a real HTTP server. The format is a JSON object a line:
 * `{ name, sse, tools, transport?, expect }`; `expect.finish` is normalised (see `Outcome`).
 */
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { ChatResponse, ToolSchema } from '../../../src/client/baseClient.ts'
import { BrokenStream } from '../../../src/client/modelErrors.ts'
import { OpenAIClient } from '../../../src/client/openAIClient.ts'
import { ModelError, type ModelErrorKind } from '../../../src/shared/errors.ts'
import { isJsonObject, parseToolArguments } from '../../../src/shared/toolArguments.ts'
import type { LlmDouble, LlmReply } from './server.ts'

export interface Vector {
  name: string
  sse: string
  tools?: string[]
  transport?: { split?: number; end?: 'reset' | 'stall'; contentType?: string }
  expect: Expectation
}

interface ExpectedCall {
  id?: string
  name: string
  arguments: string
  extra_content?: unknown
}

interface Expectation {
  content: string
  tool_calls: ExpectedCall[]
  finish: string
  raw_finish?: string
  usage?: { input?: number; output?: number; cached?: number; reasoning?: number }
  reasoning?: string
  reasoning_field?: string
  refusal?: string
  empty?: boolean
  /** False: none of its calls may run. */
  executable?: boolean
  args_valid?: boolean[]
  args_repaired?: unknown[]
  error?: { kind?: string; code?: string | number; retryable?: boolean; context_overflow?: boolean; message?: string }
}

/** What a stream came to, whether it ended well or not. */
export interface Outcome {
  /** The pieces that were handed out, joined. */
  streamed: string
  response: ChatResponse
  finish: 'stop' | 'tool_calls' | 'length' | 'content_filter' | 'error' | 'incomplete'
  error: ModelError | null
}

/** In the words of the vectors. */
const ERROR_KINDS: Record<ModelErrorKind, string> = {
  auth: 'provider_error',
  rateLimited: 'provider_error',
  contextOverflow: 'provider_error',
  refused: 'provider_error',
  server: 'provider_error',
  unreachable: 'transport',
  timeout: 'idle_timeout',
  incompleteStream: 'incomplete_stream',
  emptyResponse: 'empty_response',
  malformed: 'malformed_frame',
}
const FINISHES = { stop: 'stop', toolCalls: 'tool_calls', length: 'length', filtered: 'content_filter' } as const
const EMPTY: ChatResponse = { content: '', toolCalls: [], usage: {}, model: '', finish: 'stop' }

/** The vectors of a file, one a line. */
export function loadVectors(file: string): Vector[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as Vector)
}

/** Reads one stream to its end, once: no retries, so that the outcome is the stream's own. */
export async function readStream(
  llm: LlmDouble,
  reply: LlmReply,
  tools: readonly string[] = [],
  idleTimeoutMs = 10_000,
): Promise<Outcome> {
  // The body is chosen by the path, so that many can be read at the same time.
  const id = streams.size + 1
  streams.set(`/${id}/v1/chat/completions`, reply)
  llm.respond((request) => streams.get(request.path))
  const client = new OpenAIClient({
    apiKeys: [llm.apiKey],
    baseUrl: llm.baseUrl.replace(/\/v1$/, `/${id}/v1`),
    model: 'm',
    maxRetries: 0,
    idleTimeoutMs,
  })
  const stream = client.streamChat([{ role: 'user', content: 'Go.' }], { tools: tools.map(schemaOf) })
  let streamed = ''
  try {
    while (true) {
      const { done, value } = await stream.next()
      if (done) return { streamed, response: value, finish: FINISHES[value.finish], error: null }
      streamed += value
    }
  } catch (error) {
    if (!(error instanceof ModelError)) throw error
    const response = error instanceof BrokenStream ? error.partial : EMPTY
    return { streamed, response, finish: error.kind === 'incompleteStream' ? 'incomplete' : 'error', error }
  }
}

const streams = new Map<string, LlmReply>()

/** Runs a vector with its body written `split` bytes at a time; returns every difference, one a line. */
export async function runVector(llm: LlmDouble, vector: Vector, split: number | undefined): Promise<string[]> {
  const { transport = {}, sse, tools, expect } = vector
  const reply: LlmReply = { raw: sse, end: transport.end ?? 'done' }
  const bytes = split ?? transport.split
  if (bytes !== undefined) reply.splitBytes = bytes
  if (transport.contentType) reply.contentType = transport.contentType
  try {
    const outcome = await readStream(llm, reply, tools, transport.end === 'stall' ? 1_000 : 10_000)
    return differences(expect, outcome)
  } catch (error) {
    return [`threw ${error instanceof Error ? error.stack : String(error)}`]
  }
}

function differences(expected: Expectation, outcome: Outcome): string[] {
  const { response, error, finish, streamed } = outcome
  const found: string[] = []
  const check = (what: string, wanted: unknown, got: unknown) => {
    if (!isDeepStrictEqual(wanted, got)) found.push(`${what}: expected ${show(wanted)}, got ${show(got)}`)
  }
  // A refusal is shown as the text of the answer; the vectors keep the two apart.
  const content = response.refusal !== undefined && response.content === response.refusal ? '' : response.content
  check('content', expected.content, content)
  check('streamed pieces', response.content, streamed)
  check('finish', expected.finish, finish)
  if (expected.raw_finish !== undefined) check('raw finish', expected.raw_finish, response.rawFinish)
  check(
    'calls',
    expected.tool_calls.map((call) => comparable(call)),
    response.toolCalls.map((call, at) =>
      comparable(
        {
          id: call.id,
          name: call.name,
          arguments: call.arguments,
          ...(call.extraContent === undefined ? {} : { extra_content: call.extraContent }),
        },
        expected.tool_calls[at],
      ),
    ),
  )
  const ids = response.toolCalls.map((call) => call.id)
  check('unique ids', true, new Set(ids).size === ids.length && ids.every((id) => id !== ''))
  if (expected.usage) check('usage', expected.usage, usageLike(expected.usage, response))
  if (expected.reasoning !== undefined) check('reasoning', expected.reasoning, response.reasoning?.text)
  if (expected.reasoning_field !== undefined)
    check('reasoning field', expected.reasoning_field, response.reasoning?.field)
  if (expected.refusal !== undefined) check('refusal', expected.refusal, response.refusal)
  if (expected.empty !== undefined) {
    const empty = content.trim() === '' && response.toolCalls.length === 0 && response.refusal === undefined
    check('empty', expected.empty, empty)
  }
  if (expected.executable !== undefined)
    check('executable', expected.executable, finish === 'stop' || finish === 'tool_calls')
  if (expected.args_valid)
    check(
      'valid arguments',
      expected.args_valid,
      response.toolCalls.map((call) => isJsonObject(call.arguments)),
    )
  if (expected.args_repaired) {
    const repaired = response.toolCalls.map((call) => parseToolArguments(call.arguments))
    check(
      'repaired arguments',
      expected.args_repaired,
      repaired.map((read) => (read.ok ? read.value : read.problem)),
    )
  }
  if (expected.error) {
    const wanted = expected.error
    if (!error) found.push(`error: expected ${show(wanted)}, got none`)
    else {
      if (wanted.kind !== undefined) check('error kind', wanted.kind, ERROR_KINDS[error.kind])
      if (wanted.code !== undefined) check('error code', String(wanted.code), error.code)
      if (wanted.retryable !== undefined) check('retryable', wanted.retryable, error.retryable)
      if (wanted.context_overflow !== undefined)
        check('context overflow', wanted.context_overflow, error.kind === 'contextOverflow')
      if (wanted.message !== undefined)
        check('message contains', true, error.message.includes(wanted.message) || error.message)
    }
  } else if (error && finish === 'error') found.push(`unexpected error: ${error.kind} ${error.message}`)
  return found
}

/** A call without an id in the expectation may have any. */
function comparable(call: ExpectedCall, expected: ExpectedCall | undefined = call): ExpectedCall {
  const { id, ...rest } = call
  return expected.id === undefined || id === undefined ? rest : { id, ...rest }
}

function usageLike(expected: NonNullable<Expectation['usage']>, { usage }: ChatResponse): object {
  const all = {
    input: usage.inputTokens,
    output: usage.outputTokens,
    cached: usage.cachedInputTokens,
    reasoning: usage.reasoningTokens,
  }
  return Object.fromEntries(Object.entries(all).filter(([name]) => name in expected))
}

function schemaOf(name: string): ToolSchema {
  return { type: 'function', function: { name, description: name, parameters: { type: 'object', properties: {} } } }
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? String(value)
}
