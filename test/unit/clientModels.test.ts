import { afterEach, describe, expect, test, vi } from 'vitest'
import type { BaseClient, ChatParams, ChatResponse } from '../../src/client/baseClient.ts'
import { detectCompat } from '../../src/client/compat.ts'
import { DemoClient } from '../../src/client/demoClient.ts'
import { findOllama, ollamaAddress } from '../../src/client/ollama.ts'
import { offersTools, ScriptedClient } from '../../src/client/scriptedClient.ts'
import { isAbort } from '../../src/shared/errors.ts'
import { type Message, unanswered } from '../../src/shared/message.ts'
import { listDirectoryTool } from '../../src/tool/builtin/listDirectory.ts'
import { historyProblems } from '../doubles/llm/requestRules.ts'
import { startLlmDouble } from '../doubles/llm/server.ts'

const tool = (name: string) => ({ type: 'function' as const, function: { name, description: name, parameters: {} } })
const OFFERED = ['read_file', 'list_directory', 'grep_search', 'planner'].map(tool)

/** Plays the loop: answers each call with `results` until the model is done. */
async function converse(client: BaseClient, wish: string, results: Record<string, string>, tools = OFFERED) {
  const messages: Message[] = [
    { role: 'system', content: 'You are ToyCoder.' },
    { role: 'user', content: wish },
  ]
  const calls: [string, unknown][] = []
  for (let step = 0; step < 5; step++) {
    const { content, toolCalls } = await client.chat(messages, { tools })
    messages.push({
      role: 'assistant',
      content,
      ...(toolCalls.length > 0
        ? {
            tool_calls: toolCalls.map(({ id, name, arguments: args }) => ({
              id,
              type: 'function' as const,
              function: { name, arguments: args },
            })),
          }
        : {}),
    })
    for (const { call } of unanswered(messages)) {
      calls.push([call.function.name, JSON.parse(call.function.arguments)])
      messages.push({
        role: 'tool',
        tool_call_id: call.id,
        content: results[call.function.name] ?? 'Error: no such tool',
      })
    }
    if (toolCalls.length === 0) return { answer: content, calls, messages }
  }
  throw new Error('the model never came to an end')
}

describe('the demo model', () => {
  const client = new DemoClient({ wait: async () => {} })
  const results = {
    list_directory:
      ".: 4 entries\nsrc/\nREADME.md (120 bytes)\npackage.json (80 bytes)\n.env (may hold secrets; can't be read)",
    read_file: 'README.md: lines 1-2 of 2\n1\t# Bookshop\n2\t```sh\n',
    grep_search: '2 lines in 1 files match\nsrc/a.ts:3: // TODO: price\nsrc/a.ts:9: // TODO: tax',
    planner: '**Goal**: a login page',
  }

  test('looks at the workspace with the real tools and sums up what they found', async () => {
    const { answer, calls, messages } = await converse(client, 'Alice: please list the workspace', results)
    expect(calls).toEqual([
      ['list_directory', { path: '.' }],
      ['read_file', { path: 'README.md', offset: 1, limit: 20 }],
      ['read_file', { path: 'package.json', offset: 1, limit: 20 }],
    ])
    expect(answer).toContain('| `src/` | folder |')
    expect(answer).toContain('| `README.md` | 120 bytes |')
    // A fence longer than the one in the file.
    expect(answer).toContain('````\n# Bookshop\n```sh')
    expect(historyProblems(messages)).toEqual([])
  })

  test('understands what list_directory really says', async () => {
    const context = {
      signal: new AbortController().signal,
      callKey: 'k',
      threadKey: null,
      requester: null,
      workspace: import.meta.dirname,
    }
    const listing = await listDirectoryTool.invoke({ path: '.' }, context as never)
    const { answer } = await converse(client, 'list the workspace', { ...results, list_directory: String(listing) })
    expect(answer).toMatch(/\| `clientModels\.test\.ts` \| \d+ bytes \||… and \d+ more/)
  })

  test.each([
    ['search for TODO', 'grep_search', { pattern: 'TODO', path: '.' }, 'src/a.ts:3: // TODO: price'],
    ['Bob: grep "a.b"', 'grep_search', { pattern: 'a\\.b', path: '.' }, '2 lines in 1 files'],
    ['read src/a.ts', 'read_file', { path: 'src/a.ts', offset: 1, limit: 20 }, '# Bookshop'],
    ['plan a login page', 'planner', { query: 'a login page' }, '**Goal**: a login page'],
    ['搜索 TODO', 'grep_search', { pattern: 'TODO', path: '.' }, '演示模型'],
  ])('%s: calls %s and answers from the result', async (wish, name, args, shown) => {
    const { answer, calls } = await converse(client, wish, results)
    expect(calls).toEqual([[name, args]])
    expect(answer).toContain(shown)
  })

  test('writes a plan in Markdown when it is asked as the planner', async () => {
    const { content, toolCalls } = await client.chat([
      { role: 'system', content: 'You are the planner of ToyCoder. You turn a task into a plan.' },
      { role: 'user', content: 'a login page' },
    ])
    expect(content).toMatch(/^\*\*Goal\*\*: a login page[\s\S]*\n1\. /)
    expect(toolCalls).toEqual([])
  })

  test('says in every answer that it is no language model and how to get one, and once only', async () => {
    for (const wish of ['hello', 'list the workspace', 'plan a login page', 'search x']) {
      for (const tools of [OFFERED, []]) {
        const { answer } = await converse(client, wish, results, tools)
        expect(answer.match(/no language model/g), wish).toHaveLength(1)
        for (const word of ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OPENAI_MODEL', 'Ollama'])
          expect(answer).toContain(word)
      }
    }
  })

  test('shows a table and code when it does not know what to do, and calls nothing that is not offered', async () => {
    const { answer, calls } = await converse(client, 'What is love?', results, [])
    expect(answer).toMatch(/\| --- \| --- \|[\s\S]*```ts\n/)
    expect(calls).toEqual([])
    expect((await converse(client, 'list the workspace', results, [])).calls).toEqual([])
  })

  test('tells of a tool that failed instead of making something up', async () => {
    const { answer } = await converse(client, 'list the workspace', { list_directory: 'Error: no such folder' })
    expect(answer).toContain('Error: no such folder')
  })

  test('streams in small pieces at its pace and heeds the signal', async () => {
    const waits: number[] = []
    const stop = new AbortController()
    const slow = new DemoClient({ wait: async (ms) => void waits.push(ms) })
    const pieces: string[] = []
    const reading = (async () => {
      for await (const piece of slow.streamChat([{ role: 'user', content: 'hi' }], { signal: stop.signal })) {
        pieces.push(piece)
        if (pieces.length === 5) stop.abort()
      }
    })()
    const error = await reading.then(
      () => null,
      (reason: unknown) => reason,
    )
    expect(isAbort(error)).toBe(true)
    expect(pieces).toHaveLength(5)
    expect(waits.slice(0, 5)).toEqual([15, 15, 15, 15, 15])
    const { pieces: all, response } = await readAll(client, { role: 'user', content: 'hi' })
    expect(all.join('')).toBe(response.content)
  })
})

describe('the scripted model', () => {
  test('plays its steps, remembers the requests, and complains about calls and steps too many', async () => {
    const client = new ScriptedClient([
      { text: ['a', 'b'], usage: { outputTokens: 2 } },
      { toolCalls: [{ name: 'x', arguments: { n: 1 } }] },
    ])
    const { pieces, response } = await readAll(client, { role: 'user', content: 'hi' }, { tools: [tool('x')] })
    expect([pieces, response.content, response.finish, response.usage]).toEqual([
      ['a', 'b'],
      'ab',
      'stop',
      { outputTokens: 2 },
    ])
    expect(offersTools(client.requests[0]!, ['x'])).toBe(true)
    expect(() => client.finish()).toThrow(/1 steps.*"x"/)
    expect((await client.chat([])).toolCalls).toEqual([{ id: 'call_1', name: 'x', arguments: '{"n":1}' }])
    client.finish()
    await expect(client.chat([{ role: 'user', content: 'more' }])).rejects.toThrow(/no step for model call 3.*more/)
  })

  test('fails as told, restarts only where that is allowed, and stops while it waits', async () => {
    const broken = new Error('cut')
    const client = new ScriptedClient([
      { text: 'half', broken },
      { text: 'whole' },
      { text: 'half', broken },
      { text: 'late', before: () => new Promise(() => {}) },
    ])
    const seen: string[] = []
    for await (const piece of client.streamChat([], { onRestart: () => seen.push('again') })) seen.push(piece)
    expect(seen).toEqual(['half', 'again', 'whole'])
    await expect(readAll(client, { role: 'user', content: 'x' })).rejects.toBe(broken)
    const stop = new AbortController()
    const waiting = client.chat([], { signal: stop.signal })
    stop.abort()
    await expect(waiting).rejects.toSatisfy(isAbort)
  })
})

describe('finding Ollama', () => {
  afterEach(() => vi.unstubAllEnvs())

  test('gives its OpenAI-compatible address and its models', async () => {
    const ollama = await startLlmDouble({ models: ['qwen3:8b', 'llama3'] })
    const baseUrl = ollama.baseUrl.replace(/\/v1$/, '')
    expect(await findOllama({ baseUrl })).toEqual({ baseUrl: ollama.baseUrl, models: ['qwen3:8b', 'llama3'] })
    vi.stubEnv('OLLAMA_HOST', baseUrl.replace('http://', ''))
    expect(await findOllama()).toEqual({ baseUrl: ollama.baseUrl, models: ['qwen3:8b', 'llama3'] })
    await ollama.close()
    expect(await findOllama({ baseUrl })).toBeNull()
  })

  test('is null when something else answers, or nobody in time', async () => {
    expect(await findOllama({ fetch: async () => new Response('<html>') })).toBeNull()
    expect(await findOllama({ fetch: async () => Response.json({ hello: 1 }) })).toBeNull()
    const hanging: typeof fetch = (_, init) =>
      new Promise((_resolve, reject) => init!.signal!.addEventListener('abort', () => reject(init!.signal!.reason)))
    expect(await findOllama({ fetch: hanging, timeoutMs: 10 })).toBeNull()
  })

  test.each([
    [undefined, 'http://127.0.0.1:11434'],
    ['0.0.0.0', 'http://127.0.0.1:11434'],
    ['0.0.0.0:8080', 'http://127.0.0.1:8080'],
    [':5000', 'http://127.0.0.1:5000'],
    ['gpu-box', 'http://gpu-box:11434'],
    ['https://ollama.example', 'https://ollama.example'],
    ['http://10.0.0.2:11434/', 'http://10.0.0.2:11434'],
  ])('OLLAMA_HOST=%s means %s', (setting, address) => {
    expect(ollamaAddress(setting)).toBe(address)
  })
})

describe('what is known of servers', () => {
  test.each([
    [
      'https://api.openai.com/v1',
      'gpt-5',
      { provider: 'openai', toolCallIds: 'openai40', maxTokensField: 'max_completion_tokens' },
    ],
    ['https://api.mistral.ai/v1', 'm', { provider: 'mistral', toolCallIds: 'mistral9' }],
    ['https://api.moonshot.ai/v1', 'kimi-k2', { provider: 'moonshot', toolCallIds: 'kimi' }],
    ['https://openrouter.ai/api/v1', 'moonshotai/kimi-k2', { provider: 'openrouter', toolCallIds: 'kimi' }],
    ['https://api.deepseek.com', 'deepseek-chat', { replayReasoning: 'reasoning_content' }],
    ['https://generativelanguage.googleapis.com/v1beta/openai', 'gemini-3', { extraContent: 'signature' }],
    ['http://127.0.0.1:11434/v1', 'llama3', { provider: 'ollama', maxTokensField: 'max_tokens' }],
    ['https://notmistral.ai.example/v1', 'm', { provider: 'notmistral.ai.example', toolCallIds: 'native' }],
  ])('%s with %s', (baseUrl, model, expected) => {
    expect(detectCompat(baseUrl, model)).toMatchObject(expected)
  })

  test('the configuration has the last word', () => {
    expect(detectCompat('https://api.openai.com/v1', 'm', { toolCallIds: 'native' }).toolCallIds).toBe('native')
  })
})

async function readAll(
  client: BaseClient,
  message: Message,
  params: ChatParams = {},
): Promise<{ pieces: string[]; response: ChatResponse }> {
  const stream = client.streamChat([message], params)
  const pieces: string[] = []
  while (true) {
    const { done, value } = await stream.next()
    if (done) return { pieces, response: value }
    pieces.push(value)
  }
}
