import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type LlmDouble, startLlmDouble } from '../doubles/llm/server.ts'
import { loadVectors, readStream, runVector } from '../doubles/llm/vectors.ts'

const shared = fileURLToPath(new URL('../../../shared/', import.meta.url))
const vectorFile = `${shared}vectors/llm-streams.jsonl`
const recorded = `${shared}vectors/recorded/`
const cases = `${shared}cases/`
const absent = !existsSync(vectorFile)
const note = absent ? ' (skipped: the shared vectors are not beside this checkout)' : ''

const WRITES: [string, number | undefined][] = [
  ['whole', undefined],
  ['in 1-byte writes', 1],
  ['in 7-byte writes', 7],
]

let llm: LlmDouble
beforeAll(async () => {
  llm = await startLlmDouble({ strict: false })
})
afterAll(() => llm.close())

describe.skipIf(absent)(`stream vectors${note}`, () => {
  test.each(WRITES)('every vector, sent %s, becomes what is expected of it', async (_, split) => {
    const vectors = loadVectors(vectorFile)
    expect(vectors.length).toBeGreaterThanOrEqual(73)
    const runs = await Promise.all(
      vectors.map(async (vector) => (await runVector(llm, vector, split)).map((found) => `${vector.name}: ${found}`)),
    )
    expect(runs.flat()).toEqual([])
  })
})

/** What the bytes of a recorded answer hold, found by a plain reading of its JSON lines. */
interface Recording {
  finish?: string
  /** The text, or its length and its end where it is long. */
  content?: string | [length: number, ending: string]
  calls?: [id: string, name: string, args: string][]
  /** Input, cached, output, reasoning; `null` for what was not reported. */
  usage?: [input: number, cached: number | null, output: number, reasoning: number | null]
  costUsd?: number
  /** Field and length. */
  reasoning?: [field: string, length: number]
  error?: [kind: string, code: string]
}

const PLACE = '{"location": "San Francisco"}'
const RECORDINGS: Record<string, Recording> = {
  'alibaba-qwen-reasoning.txt': {
    content: [816, '**Answer: 3**'],
    reasoning: ['reasoning_content', 3301],
    usage: [24, 0, 1355, 1084],
  },
  'azure-model-router.txt': { content: 'Capital of Denmark.', usage: [15, 0, 78, 64] },
  'crusoe-vllm-text-raw.txt': { content: '1, 2, 3, 4, 5', usage: [46, 0, 14, null] },
  'deepseek-tool-call.txt': {
    calls: [['call_00_ioIn7yN9p1ZOMNpDLwd4MgAF', 'weather', PLACE]],
    reasoning: ['reasoning_content', 191],
    usage: [339, 320, 83, 39],
  },
  'gemini-openai-compat-tool-noindex.txt': {
    calls: [['function-call-18439433602034082669', 'glob', '{"pattern":"*"}']],
    usage: [3379, null, 12, null],
  },
  'groq-tool-use-failed-error-raw.txt': {
    finish: 'error',
    reasoning: ['reasoning', 412],
    error: ['server', 'tool_use_failed'],
  },
  'huggingface-router-short-raw.txt': { content: 'Paris', usage: [40, null, 2, null] },
  'llamacpp-tail-timings.txt': { content: '!' },
  'mistral-incremental-tool-call.txt': {
    calls: [['chatcmpl-tool-9f149c74c42f265b', 'webSearchTool', '{"query": "current Berlin weather"}']],
    usage: [171, 128, 14, null],
  },
  'mistral-reasoning-contentlist.txt': {
    content: '2 + 2 = 4',
    reasoning: ['thinking', 60],
    usage: [10, null, 46, null],
  },
  'ollama-parallel-tool-calls.txt': {
    calls: [
      ['call_wteop8bt', 'run_command', '{"command":"ls"}'],
      ['call_rk2xye1l', 'run_command', '{"command":"ls -l"}'],
    ],
  },
  'openai-parallel-tool-calls-raw.txt': {
    calls: [
      ['call_q2UyBRP7eXNTzAoR8lEhjc9Z', 'get_country', '{}'],
      ['call_b51ijcpFkDiTQG1bQzsrmtW5', 'get_product_name', '{}'],
    ],
    usage: [364, 0, 40, 0],
  },
  'openai-tool-call-raw.txt': {
    calls: [['call_ZR5UUuTt3pf61kjwAJIYdVMj', 'get_capital', '{"country":"UK"}']],
    usage: [53, 0, 15, 0],
  },
  // The server said `length` before it told of the error, which only repeats it.
  'openrouter-stream-error-raw.txt': {
    finish: 'length',
    reasoning: ['reasoning', 42],
    usage: [43, 0, 10, 11],
    costUsd: 0,
  },
  'xai-tool-call.txt': {
    calls: [['call_79382389', 'weather', '{"location":"San Francisco"}']],
    reasoning: ['reasoning_content', 1069],
    usage: [307, 306, 26, 227],
    costUsd: 0.00014975,
  },
  'zai-glm-thinking-raw.txt': {
    content: '4',
    reasoning: ['reasoning_content', 2173],
    usage: [13, 0, 564, 561],
  },
}

describe.skipIf(absent)(`recorded answers of real servers${note}`, () => {
  test('there is an expectation for every recording', () => {
    const files = readdirSync(recorded).filter((file) => file.endsWith('.txt'))
    expect(files.sort()).toEqual(Object.keys(RECORDINGS).sort())
  })

  const runs = Object.keys(RECORDINGS).flatMap((file) => WRITES.map(([how, split]) => ({ file, how, split })))
  test.each(runs)('$file, sent $how, gives its text, calls and usage', async ({ file, split }) => {
    const expected = RECORDINGS[file]!
    const raw = readFileSync(recorded + file)
    const { response, finish, error, streamed } = await readStream(llm, split ? { raw, splitBytes: split } : { raw })
    const { content = '', calls = [], reasoning, usage } = expected
    expect(finish).toBe(expected.finish ?? (calls.length > 0 ? 'tool_calls' : 'stop'))
    if (typeof content === 'string') expect(response.content).toBe(content)
    else expect([response.content.length, response.content.slice(-content[1].length)]).toEqual(content)
    expect(streamed).toBe(response.content)
    expect(response.toolCalls.map((call) => [call.id, call.name, call.arguments])).toEqual(calls)
    expect(response.reasoning && [response.reasoning.field, response.reasoning.text.length]).toEqual(reasoning)
    const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens, costUsd } = response.usage
    const reported = [inputTokens, cachedInputTokens, outputTokens, reasoningTokens]
    expect(reported.every((count) => count === undefined) ? undefined : reported.map((count) => count ?? null)).toEqual(
      usage,
    )
    expect(costUsd).toEqual(expected.costUsd)
    expect(error && [error.kind, error.code]).toEqual(expected.error ?? null)
  })
})

describe.skipIf(absent)(`reported cases${note}`, () => {
  const read = (file: string) => readStream(llm, { raw: readFileSync(`${cases}sse/${file}.sse`), splitBytes: 7 })
  const args = async (file: string) => (await read(file)).response.toolCalls.map((call) => [call.id, call.arguments])

  test('TL-01: calls without an index stay apart', async () => {
    expect(await args('no_index')).toEqual([
      ['p1', '{"path":"a.md"}'],
      ['p2', '{"path":"b.md"}'],
    ])
  })

  test('TL-06: empty arguments of a complete call are {}', async () => {
    expect(await args('empty_args')).toEqual([['e1', '{}']])
  })

  test('TL-07: malformed arguments are handed on as they are, for the loop to answer', async () => {
    expect(await args('bad_json_args')).toEqual([
      ['b1', '{"path": "a.txt"'],
      ['b2', '{"{"path":"b.txt"}'],
      ['b3', '{"path":"c.txt",}'],
    ])
  })

  test('TL-09: a stream that ends without a finish is an error that may be retried, with no call to run', async () => {
    for (const file of ['eof_mid_text', 'eof_mid_args']) {
      const { error } = await read(file)
      expect([file, error?.kind, error?.retryable]).toEqual([file, 'incompleteStream', true])
    }
    const overloaded = await read('error_chunk')
    expect([overloaded.streamed, overloaded.error?.kind, overloaded.error?.code]).toEqual(['Let me', 'server', '529'])
    expect((await read('length_with_call')).finish).toBe('length')
  })

  test('comments, named events and cut characters do not change the text', async () => {
    expect((await read('comments_crlf_split')).streamed).toBe('Grüße 👋 ok')
  })

  test('SE-14: hidden thinking stays hidden however its tags are cut, in every frame', async () => {
    const { deltas, expected, orphan, orphan_expected } = JSON.parse(
      readFileSync(`${cases}deltas/think_split.json`, 'utf8'),
    )
    for (const [pieces, text] of [
      [deltas, expected],
      [orphan, orphan_expected],
    ]) {
      const frames = (pieces as string[]).map(
        (content) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`,
      )
      const end = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
      const { streamed, response } = await readStream(llm, { raw: frames.join('') + end })
      expect([streamed, response.content]).toEqual([text, text])
    }
  })
})
