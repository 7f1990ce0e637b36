import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type ChatParams, type ChatResponse, toToolCalls } from '../../src/client/baseClient.ts'
import { OpenAIClient, type OpenAIClientOptions } from '../../src/client/openAIClient.ts'
import { openWire } from '../../src/client/wire.ts'
import { isAbort, ModelError } from '../../src/shared/errors.ts'
import type { Message } from '../../src/shared/message.ts'
import { createGate, type LlmDouble, startLlmDouble } from '../doubles/llm/server.ts'

let llm: LlmDouble
beforeEach(async () => {
  llm = await startLlmDouble({ apiKeys: ['key-a', 'key-b'] })
})
afterEach(() => llm.close())

const HELLO: Message[] = [{ role: 'user', content: 'Hello' }]

function clientOf(options: Partial<OpenAIClientOptions> = {}): OpenAIClient {
  return new OpenAIClient({
    apiKeys: ['key-a'],
    baseUrl: llm.baseUrl,
    model: 'm',
    retryIntervalMs: 1,
    idleTimeoutMs: 5_000,
    ...options,
  })
}

async function read(
  client: OpenAIClient,
  params: ChatParams = {},
): Promise<{ pieces: string[]; response: ChatResponse }> {
  const stream = client.streamChat(HELLO, params)
  const pieces: string[] = []
  while (true) {
    const { done, value } = await stream.next()
    if (done) return { pieces, response: value }
    pieces.push(value)
  }
}

async function failure(promise: Promise<unknown>): Promise<ModelError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(ModelError)
  return error as ModelError
}

const keys = () => llm.requests.map((request) => request.apiKey)

describe('an answer', () => {
  test('comes in the pieces in which the server sends it, then as a whole with calls and usage', async () => {
    llm.reply({
      text: ['Let me ', 'look.'],
      toolCalls: [{ name: 'read_file', arguments: { path: 'a.ts' }, id: 'c1' }],
      usage: { prompt_tokens: 1000, completion_tokens: 100, prompt_tokens_details: { cached_tokens: 400 } },
    })
    const prices = { m: { input: 2, cached_input: 0.5, output: 10 } }
    const { pieces, response } = await read(clientOf({ prices }))
    expect(pieces).toEqual(['Let me ', 'look.'])
    expect(response).toMatchObject({
      content: 'Let me look.',
      toolCalls: [{ id: 'c1', name: 'read_file', arguments: '{"path":"a.ts"}' }],
      finish: 'toolCalls',
      model: 'm',
    })
    expect(response.usage).toEqual({
      inputTokens: 1000,
      cachedInputTokens: 400,
      outputTokens: 100,
      costUsd: expect.closeTo(0.0024, 10),
    })
    expect(llm.problems()).toEqual([])
  })

  test('is whole without usage and cost when the server reports none: unknown is absent, never 0', async () => {
    llm.reply({ text: 'Hi', usage: null })
    expect((await clientOf().chat(HELLO)).usage).toEqual({})
  })

  test('a refusal is shown as the text of the answer', async () => {
    const frame = (delta: object, finish: string | null) =>
      `data: ${JSON.stringify({ choices: [{ delta, finish_reason: finish }] })}\n\n`
    llm.reply({ raw: `${frame({ refusal: 'I will not.' }, null)}${frame({}, 'stop')}data: [DONE]\n\n` })
    const { pieces, response } = await read(clientOf())
    expect([pieces, response.content, response.refusal]).toEqual([['I will not.'], 'I will not.', 'I will not.'])
  })

  test('that is empty is asked for once more; the second one counts, whatever it is', async () => {
    llm.reply({ text: '' }, { text: 'Here I am' })
    expect((await clientOf().chat(HELLO)).content).toBe('Here I am')
    llm.reply({ text: '' }, { text: '' })
    expect(await clientOf().chat(HELLO)).toMatchObject({ content: '', finish: 'stop', toolCalls: [] })
    expect(llm.requests).toHaveLength(4)
  })

  test('ends even when the server keeps the connection open after [DONE]', async () => {
    const frame = (delta: object, finish: string | null) =>
      `data: ${JSON.stringify({ choices: [{ delta, finish_reason: finish }] })}\n\n`
    llm.reply({ raw: `${frame({ content: 'Hi' }, 'stop')}data: [DONE]\n\n`, end: 'stall' })
    expect((await clientOf().chat(HELLO)).content).toBe('Hi')
  })
})

describe('the request', () => {
  test('is sound by the rules of OpenAI for a history that is not, with tools sorted by name', async () => {
    llm.reply({ text: 'ok' })
    const tool = (name: string) => ({
      type: 'function' as const,
      function: { name, description: name, parameters: { type: 'object', properties: {} } },
    })
    await clientOf().chat(
      [
        { role: 'system', content: 'You help.' },
        {
          role: 'assistant',
          content: '',
          tool_calls: [{ id: 'x', type: 'function', function: { name: 'b', arguments: '{"' } }],
        },
        { role: 'tool', tool_call_id: 'lost', content: 'orphan' },
        { role: 'assistant', content: '' },
        { role: 'user', content: 'Go on' },
      ],
      { tools: [tool('b'), tool('a')], temperature: 0.5, maxTokens: 100 },
    )
    const { body } = llm.requests[0]!
    expect(llm.problems()).toEqual([])
    expect(body.tools!.map((entry) => entry.function.name)).toEqual(['a', 'b'])
    expect(body).toMatchObject({
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0.5,
      max_tokens: 100,
    })
  })

  test('leaves out an optional field that the server refuses by name, and remembers it', async () => {
    await llm.close()
    llm = await startLlmDouble({ apiKeys: null, refuseFields: ['stream_options', 'max_tokens'] })
    llm.reply({ text: 'one' }, { text: 'two' })
    const client = clientOf()
    expect((await client.chat(HELLO, { maxTokens: 50 })).content).toBe('one')
    expect((await client.chat(HELLO, { maxTokens: 50 })).content).toBe('two')
    const sent = llm.requests.map(({ body }) =>
      ['stream_options', 'max_tokens', 'max_completion_tokens'].filter((field) => field in body),
    )
    expect(sent).toEqual([
      ['stream_options', 'max_tokens'],
      ['max_tokens'],
      ['max_completion_tokens'],
      ['max_completion_tokens'],
    ])
  })

  test('sends reasoning back only to the provider and model it came from', async () => {
    llm.reply({ reasoning: 'Hm.', toolCalls: [{ name: 'now', id: 'c1' }] }, { text: 'ok' }, { text: 'ok' })
    const client = clientOf({ compat: { provider: 'deepseek', replayReasoning: 'reasoning_content' } })
    const { reasoning } = await client.chat(HELLO)
    const history: Message[] = [
      ...HELLO,
      {
        role: 'assistant',
        content: null,
        reasoning: reasoning!,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'now', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: '12:00' },
    ]
    await client.chat(history)
    await client.chat(history, { model: 'another' })
    expect(llm.requests.slice(1).map(({ body }) => body.messages[1]!.reasoning_content)).toEqual(['Hm.', ''])
    expect(llm.requests.slice(1).every(({ body }) => !('reasoning' in body.messages[1]!))).toBe(true)
  })

  test('sends the parts of reasoning back as they came, put together, to the model they came from', async () => {
    const frame = (delta: object, finish: string | null = null) =>
      `data: ${JSON.stringify({ choices: [{ delta, finish_reason: finish }] })}\n\n`
    const text = (piece: string, signature: string | null) => ({
      reasoning: piece,
      reasoning_details: [{ type: 'reasoning.text', text: piece, signature, index: 0 }],
    })
    const sealed = { type: 'reasoning.encrypted', data: 'c2VhbGVk', id: 'c1', index: 1 }
    const calls = [{ index: 0, id: 'c1', function: { name: 'now', arguments: '{}' } }]
    llm.reply(
      {
        rawPieces: [
          frame(text('Let me ', null)),
          frame(text('think.', 'sig')),
          frame({ reasoning_details: [sealed], tool_calls: calls }, 'tool_calls'),
        ],
      },
      { text: 'ok' },
      { text: 'ok' },
    )
    const client = clientOf()
    const { reasoning, toolCalls } = await client.chat(HELLO)
    expect(reasoning).toMatchObject({ field: 'reasoning', text: 'Let me think.' })
    const history: Message[] = [
      ...HELLO,
      { role: 'assistant', content: null, reasoning: reasoning!, tool_calls: toToolCalls(toolCalls) },
      { role: 'tool', tool_call_id: 'c1', content: '12:00' },
    ]
    await client.chat(history)
    await client.chat(history, { model: 'another' })
    expect(llm.requests.slice(1).map(({ body }) => body.messages[1]!.reasoning_details)).toEqual([
      [{ type: 'reasoning.text', text: 'Let me think.', signature: 'sig', index: 0 }, sealed],
      undefined,
    ])
  })
})

describe('keys and retries', () => {
  test('each key is tried maxRetries + 1 times, then the next; the key that worked comes first the next time', async () => {
    llm.respond((request) => (request.apiKey === 'key-a' ? { status: 503 } : { text: 'ok' }))
    const client = clientOf({ apiKeys: ['key-a', 'key-b'], maxRetries: 1 })
    await client.chat(HELLO)
    await client.chat(HELLO)
    expect(keys()).toEqual(['key-a', 'key-a', 'key-b', 'key-b'])
  })

  test('a key that is not accepted is left at once', async () => {
    llm.reply({ text: 'ok' })
    await clientOf({ apiKeys: ['wrong', 'key-b'] }).chat(HELLO)
    expect(keys()).toEqual(['wrong', 'key-b'])
  })

  test('when all keys are used up there is one error, with the last cause', async () => {
    llm.respond(() => ({ status: 500, error: { error: { message: 'boom' } } }))
    const error = await failure(clientOf({ apiKeys: ['key-a', 'key-b'], maxRetries: 1 }).chat(HELLO))
    expect(error).toMatchObject({ kind: 'server', retryable: true })
    expect(error.message).toMatch(/boom.*4 attempts with 2 keys/)
    expect(error.cause).toBeInstanceOf(ModelError)
  })

  test.each([
    [{ status: 401 }, 'auth', 1],
    [{ status: 403 }, 'auth', 1],
    [{ status: 403, error: { error: { message: 'Your input was flagged by moderation' } } }, 'refused', 1],
    [{ status: 400, error: [{ error: { code: 400, message: 'API key not valid.', status: 'X' } }] }, 'auth', 1],
    [{ status: 404 }, 'refused', 1],
    [
      {
        status: 400,
        error: {
          error: { message: "This model's maximum context length is 8192 tokens", code: 'context_length_exceeded' },
        },
      },
      'contextOverflow',
      1,
    ],
    [{ status: 422, error: { detail: 'temperature must be a number' } }, 'refused', 1],
    [{ status: 429 }, 'rateLimited', 3],
    [
      { status: 429, error: { error: { message: 'You exceeded your current quota', code: 'insufficient_quota' } } },
      'rateLimited',
      1,
    ],
    [{ status: 503 }, 'server', 3],
    [{ text: ['half'], end: 'cut', endAfter: 0 } as const, 'incompleteStream', 3],
    [{ raw: '', end: 'done' } as const, 'emptyResponse', 3],
    [{ text: ['half'], end: 'reset', endAfter: 0 } as const, 'unreachable', 3],
  ])('%j is an error of the right kind after the right number of attempts', async (reply, kind, attempts) => {
    llm.respond(() => reply)
    expect((await failure(clientOf().chat(HELLO))).kind).toBe(kind)
    expect(llm.requests).toHaveLength(attempts)
  })

  test('a server that is not there is unreachable, and says why', async () => {
    const { baseUrl } = llm
    await llm.close()
    const error = await failure(clientOf({ baseUrl, maxRetries: 0 }).chat(HELLO))
    expect([error.kind, error.retryable]).toEqual(['unreachable', true])
    expect(error.message).toContain('ECONNREFUSED')
    llm = await startLlmDouble()
  })

  test('Retry-After is kept to; one that is too long is told to the caller instead', async () => {
    llm.reply({ status: 429, headers: { 'retry-after-ms': '60' } }, { text: 'ok' })
    await clientOf().chat(HELLO)
    const [first, second] = llm.requests
    expect(second!.at - first!.at).toBeGreaterThanOrEqual(55)
    llm.reply({ status: 429, headers: { 'retry-after': '120' } })
    expect(await failure(clientOf().chat(HELLO))).toMatchObject({ kind: 'rateLimited', retryAfterMs: 120_000 })
  })
})

describe('a stream that breaks', () => {
  test('after the first piece ends with an error that has what came until then', async () => {
    llm.reply({ text: ['one ', 'two ', 'three'], end: 'cut', endAfter: 2 })
    const error = await failure(read(clientOf()))
    expect(error).toMatchObject({ kind: 'incompleteStream', retryable: true, partial: { content: 'one two ' } })
    expect(llm.requests).toHaveLength(1)
  })

  test('is asked for again when the caller can take the text back, and is told first', async () => {
    llm.reply({ text: ['one ', 'two '], end: 'reset', endAfter: 1 }, { text: ['whole'] })
    const seen: string[] = []
    const stream = clientOf().streamChat(HELLO, {
      onRestart: (cause) => seen.push(`restart: ${(cause as ModelError).kind}`),
    })
    for await (const piece of stream) seen.push(piece)
    expect(seen).toEqual(['one ', 'restart: unreachable', 'whole'])
  })

  test('has cost something all the same: what it took is told, estimated where the server did not report it', async () => {
    const lost: unknown[] = []
    const onLostCall: NonNullable<ChatParams['onLostCall']> = (call) => void lost.push(call)
    const prices = { m: { input: 1e6, output: 1e6 } }
    const estimate = { model: 'm', usage: { inputTokens: 6, outputTokens: 2, estimated: true, costUsd: 8 } }
    const client = clientOf({ prices })

    llm.reply({ text: ['half'], end: 'cut' }, { text: '', usage: { prompt_tokens: 9 } }, { text: 'whole' })
    expect((await client.chat(HELLO, { onLostCall })).content).toBe('whole')
    expect(lost.splice(0)).toMatchObject([{ usage: { estimated: true } }, { usage: { inputTokens: 9 } }])

    const stop = new AbortController()
    llm.reply({ text: ['abcdefgh', 'never seen'], gate: createGate() }, { text: ['abcdefgh'], end: 'stall' })
    const silent = client.streamChat(HELLO, { onLostCall, signal: stop.signal })
    const waiting = silent.next()
    await llm.waitForRequests(4)
    stop.abort()
    await expect(waiting).rejects.toThrow('aborted')
    const left = client.streamChat(HELLO, { onLostCall })
    await left.next()
    await left.return(undefined as never)
    expect(lost.at(-1)).toEqual(estimate)
  })

  test('by silence is noticed by the byte: keep-alive comments hold it open, nothing else does', async () => {
    const frame = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`
    llm.reply({ text: ['a'], end: 'stall' })
    expect(await failure(read(clientOf({ idleTimeoutMs: 80, maxRetries: 0 })))).toMatchObject({
      kind: 'timeout',
      retryable: true,
    })
    // 100 comments, one every 10 ms or so: far longer than the time-out in sum.
    const gate = createGate()
    const timer = setInterval(() => gate.release(), 10)
    llm.reply({ rawPieces: [...Array<string>(100).fill(': keep-alive\n\n'), frame('done'), 'data: [DONE]\n\n'], gate })
    expect((await read(clientOf({ idleTimeoutMs: 500, maxRetries: 0 }))).response.content).toBe('done')
    clearInterval(timer)
  })

  test('is not taken for one where a proxy keeps a JSON body waiting with blank lines', async () => {
    const body = JSON.stringify({ choices: [{ message: { content: 'late' }, finish_reason: 'stop' }] })
    const rawPieces = [...Array<string>(12).fill('\n'), body]
    llm.reply({ rawPieces, delayMs: 20, contentType: 'application/json' })
    expect((await read(clientOf({ idleTimeoutMs: 150, maxRetries: 0 }))).response.content).toBe('late')
  })

  test('does so after its last word no later than the client is willing to wait, whatever keeps it open', async () => {
    const timers: NodeJS.Timeout[] = []
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        timers.push(setInterval(() => controller.enqueue(new TextEncoder().encode(': keep-alive\n\n')), 5))
      },
      cancel: () => timers.forEach(clearInterval),
    })
    const wire = openWire({
      idleTimeoutMs: 5_000,
      fetch: async (_, init) =>
        new Response(body.pipeThrough(new TransformStream(), init?.signal ? { signal: init.signal } : {})),
    })
    const response = await wire.fetch('http://model.example/')
    wire.expectEnd(60)
    const chunks: unknown[] = []
    const reading = (async () => {
      for await (const batch of wire.read(response)) chunks.push(...batch)
    })()
    await expect(reading).rejects.toThrow('sent nothing')
    expect(chunks).toEqual([])
    timers.forEach(clearInterval)
  })

  test('before the headers is timed too', async () => {
    llm.reply({ hang: true })
    expect((await failure(clientOf({ idleTimeoutMs: 80, maxRetries: 0 }).chat(HELLO))).kind).toBe('timeout')
  })
})

describe('abort', () => {
  const stopped = (promise: Promise<unknown>) =>
    promise.then(
      () => 'no error',
      (error: unknown) => (isAbort(error) ? 'stopped' : error),
    )

  test('works before the request, before the headers, in the middle of the text and during a back-off', async () => {
    expect(await stopped(clientOf().chat(HELLO, { signal: AbortSignal.abort() }))).toBe('stopped')

    llm.reply({ hang: true })
    const early = new AbortController()
    const waiting = stopped(clientOf().chat(HELLO, { signal: early.signal }))
    await llm.waitForRequests(1)
    early.abort()
    expect(await waiting).toBe('stopped')

    llm.reply({ text: ['one ', 'two'], end: 'stall' })
    const middle = new AbortController()
    const stream = clientOf().streamChat(HELLO, { signal: middle.signal })
    expect((await stream.next()).value).toBe('one ')
    middle.abort()
    expect(await stopped(drained(stream))).toBe('stopped')

    llm.reply({ status: 429, headers: { 'retry-after': '30' } })
    const late = new AbortController()
    const backingOff = stopped(clientOf().chat(HELLO, { signal: late.signal }))
    await llm.waitForRequests(3)
    setTimeout(() => late.abort(), 50)
    expect(await backingOff).toBe('stopped')
    expect(llm.requests).toHaveLength(3)
  })

  test('leaving the stream closes the connection', async () => {
    const gate = createGate()
    llm.reply({ text: ['one ', 'two'], gate })
    const stream = clientOf().streamChat(HELLO)
    const first = stream.next()
    await llm.waitForRequests(1)
    gate.release()
    await first
    const closed = new Promise((resolve) => llm.requests[0]!.closed.addEventListener('abort', resolve))
    await stream.return(undefined as never)
    await closed
  })
})

test('one client serves many streams at once without mixing them', async () => {
  llm.respond((request) => ({ text: Array.from({ length: 20 }, (_, at) => `${request.lastUser}${at} `), delayMs: 1 }))
  const client = clientOf()
  const answers = await Promise.all(['a', 'b', 'c', 'd'].map((content) => client.chat([{ role: 'user', content }])))
  answers.forEach((answer, at) => {
    const letter = 'abcd'[at]
    expect(answer.content).toBe(Array.from({ length: 20 }, (_, piece) => `${letter}${piece} `).join(''))
  })
})

async function drained(stream: AsyncGenerator<string, ChatResponse>): Promise<ChatResponse> {
  while (true) {
    const { done, value } = await stream.next()
    if (done) return value
  }
}
