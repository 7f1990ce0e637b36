import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ToolCallIdPolicy } from '../../src/client/compat.ts'
import {
  type HistoryPolicy,
  INTERRUPTED,
  NO_OUTPUT,
  repairHistory,
  STANDARD_HISTORY,
} from '../../src/client/history.ts'
import type { Message, ToolCall } from '../../src/shared/message.ts'
import { historyProblems } from '../doubles/llm/requestRules.ts'

const name = fc.constantFrom('read_file', 'grep_search', 'run_command')
/** Providers repeat ids in later turns, so few ids are better than many here. */
const repeatedId = fc.constantFrom('call_0', 'call_1', 'functions.read_file:0', 'a'.repeat(60), 'abc123XYZ')
const args = fc.json({ maxDepth: 1 }).map((json) => `{"value":${json}}`)
const text = fc.string({ minLength: 1, unit: 'grapheme' }).filter((value) => value.trim() !== '')

const user = text.map((content): Message[] => [{ role: 'user', content }])
const answer = text.map((content): Message[] => [{ role: 'assistant', content }])
const step = (id: fc.Arbitrary<string>) =>
  fc
    .tuple(
      fc.option(text, { nil: null }),
      fc.uniqueArray(fc.record({ id, name, args, result: text }), {
        minLength: 1,
        maxLength: 3,
        selector: (call) => call.id,
      }),
    )
    .map(([content, calls]): Message[] => [
      {
        role: 'assistant',
        content,
        tool_calls: calls.map(
          (call): ToolCall => ({ id: call.id, type: 'function', function: { name: call.name, arguments: call.args } }),
        ),
      },
      ...calls.map((call): Message => ({ role: 'tool', tool_call_id: call.id, content: call.result })),
    ])

const conversation = (id: fc.Arbitrary<string>) =>
  fc
    .array(fc.oneof(user, answer, step(id)), { minLength: 1, maxLength: 8 })
    .map((turns): Message[] => [{ role: 'system', content: 'You help.' }, ...turns.flat()])

/** Ids of a conversation that is valid as a whole: each is used once. */
const valid = conversation(fc.constant('')).map((messages) => {
  let minted = 0
  let waiting: string[] = []
  return messages.map((message): Message => {
    if (message.role === 'assistant' && message.tool_calls) {
      const calls = message.tool_calls.map((call) => ({ ...call, id: `call_${minted++}` }))
      waiting = calls.map((call) => call.id)
      return { ...message, tool_calls: calls }
    }
    return message.role === 'tool' ? { ...message, tool_call_id: waiting.shift()! } : message
  })
})

const policies = fc.record({
  toolCallIds: fc.constantFrom<ToolCallIdPolicy>('native', 'openai40', 'mistral9', 'kimi'),
  nonNullAssistantContent: fc.constant(false),
  mergeUserMessages: fc.boolean(),
  assistantAfterToolResult: fc.boolean(),
})

/** What comes out of storage in bad times: a part of a history, out of order, with things doubled. */
const damaged = conversation(repeatedId).chain((messages) =>
  fc.oneof(
    fc.nat(messages.length).map((end) => messages.slice(0, end)),
    fc.nat(messages.length).map((start) => messages.slice(start)),
    fc.subarray(messages),
    fc.shuffledSubarray(messages),
    fc.tuple(fc.shuffledSubarray(messages), fc.subarray(messages)).map(([some, more]) => [...some, ...more]),
  ),
)

/** Any message at all, with contents that nothing has checked. */
const wild: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ role: fc.constant('user' as const), content: fc.string({ unit: 'binary' }) }),
  fc.record({
    role: fc.constant('tool' as const),
    tool_call_id: fc.oneof(repeatedId, fc.string()),
    content: fc.string({ unit: 'binary' }),
  }),
  fc.record({ role: fc.constant('assistant' as const), content: fc.option(fc.string({ unit: 'binary' })) }),
  fc.record({
    role: fc.constant('assistant' as const),
    content: fc.option(fc.string({ unit: 'binary' })),
    tool_calls: fc.array(
      fc.record({
        id: fc.oneof(repeatedId, fc.string()),
        type: fc.constant('function' as const),
        function: fc.record({
          name: fc.string({ unit: 'binary' }),
          arguments: fc.oneof(fc.string({ unit: 'binary' }), args),
        }),
      }),
      { maxLength: 3 },
    ),
  }),
)

/** Judged by the double's rules, which know nothing of the repair. An empty history has nothing to be judged. */
function problemsOf(messages: readonly Message[], policy: HistoryPolicy): string[] {
  if (messages.length === 0) return []
  const found = historyProblems(messages).map(({ message, param }) => `${param}: ${message}`)
  // The rules are OpenAI's; a provider that mints longer ids takes them back.
  return policy.toolCallIds === 'openai40' ? found : found.filter((problem) => !problem.includes("Invalid 'id': "))
}

describe('repairHistory', () => {
  test('any prefix, suffix, subset or shuffle of a history becomes valid, under every policy', () => {
    fc.assert(
      fc.property(damaged, policies, (messages, policy) => {
        expect(problemsOf(repairHistory(messages, policy), policy)).toEqual([])
      }),
      { numRuns: 1000 },
    )
  })

  test('whatever is stored becomes valid: broken arguments, empty texts, half characters, foreign names and ids', () => {
    fc.assert(
      fc.property(fc.array(wild, { maxLength: 8 }), (messages) => {
        expect(problemsOf(repairHistory(messages), STANDARD_HISTORY)).toEqual([])
      }),
      { numRuns: 1000 },
    )
  })

  test('a valid history is not changed: the very same messages come back', () => {
    fc.assert(
      fc.property(valid, (messages) => {
        expect(problemsOf(messages, STANDARD_HISTORY)).toEqual([])
        const repaired = repairHistory(messages)
        expect(repaired).toHaveLength(messages.length)
        expect(repaired.every((message, at) => message === messages[at])).toBe(true)
      }),
    )
  })

  test('what was repaired needs no second repair, and nothing that went in was touched', () => {
    fc.assert(
      fc.property(damaged, policies, (messages, policy) => {
        const before = structuredClone(messages)
        const once = repairHistory(messages, policy)
        expect(repairHistory(once, policy)).toEqual(once)
        expect(messages).toEqual(before)
      }),
    )
  })

  test('a history that grows keeps its repaired beginning, so that prompt caches go on working', () => {
    fc.assert(
      fc.property(conversation(repeatedId), user, (messages, [question]) => {
        const before = repairHistory(messages)
        expect(repairHistory([...messages, question!]).slice(0, before.length)).toEqual(before)
      }),
    )
  })

  test('ids fit the provider: nine letters and digits for Mistral, its own pattern for Kimi', () => {
    fc.assert(
      fc.property(damaged, (messages) => {
        for (const [toolCallIds, pattern] of [
          ['mistral9', /^[A-Za-z0-9]{9}$/],
          ['kimi', /^functions\.[\w-]+:\d+$/],
          ['openai40', /^[A-Za-z0-9_-]{1,40}$/],
        ] as const) {
          expect(
            idsOf(repairHistory(messages, { ...STANDARD_HISTORY, toolCallIds })).every((id) => pattern.test(id)),
          ).toBe(true)
        }
      }),
    )
  })
})

function idsOf(messages: readonly Message[]): string[] {
  return messages
    .flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))
    .map(({ id }) => id)
}

const cases = fileURLToPath(new URL('../../../shared/cases/history/', import.meta.url))
const note = existsSync(cases) ? '' : ' (skipped: the shared cases are not beside this checkout)'
const load = (file: string) => JSON.parse(readFileSync(cases + file, 'utf8')) as Message[]

describe.skipIf(note)(`reported histories${note}`, () => {
  test('HR-01: a call without a result gets one that says it was interrupted, right behind its message', () => {
    const repaired = repairHistory(load('orphan_call.json'))
    expect(repaired.map((message) => message.role)).toEqual(['system', 'user', 'assistant', 'tool', 'tool', 'user'])
    expect(repaired[4]).toEqual({ role: 'tool', tool_call_id: 'c2', content: INTERRUPTED })
  })

  test('HR-07: assistant messages with neither text nor calls are left out', () => {
    const repaired = repairHistory(load('empty_assistant.json'))
    expect(repaired.map((message) => message.content)).toEqual(['You are a helper.', 'hi', 'hello?', 'anyone?'])
  })
})

describe('repairs, one by one', () => {
  const call = (id: string, args: string, name = 'read_file'): ToolCall => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  })

  test('results go to their calls by position when turns repeat an id', () => {
    const turn = (result: string): Message[] => [
      { role: 'assistant', content: null, tool_calls: [call('call_0', '{}')] },
      { role: 'tool', tool_call_id: 'call_0', content: result },
    ]
    const repaired = repairHistory([...turn('first'), ...turn('second')])
    expect(
      repaired.map((message) => (message.role === 'tool' ? [message.tool_call_id, message.content] : null)),
    ).toEqual([null, ['call_0', 'first'], null, ['call_0_2', 'second']])
    expect(idsOf(repaired)).toEqual(['call_0', 'call_0_2'])
  })

  test('a user message between a call and its result is moved behind the result', () => {
    const repaired = repairHistory([
      { role: 'assistant', content: null, tool_calls: [call('a', '{}')] },
      { role: 'user', content: 'also check staging' },
      { role: 'tool', tool_call_id: 'a', content: '' },
    ])
    expect(repaired.slice(1)).toEqual([
      { role: 'tool', tool_call_id: 'a', content: NO_OUTPUT },
      { role: 'user', content: 'also check staging' },
    ])
  })

  test('texts of white space alone are filled in or left out, parts of a message too: some servers refuse them', () => {
    const picture = { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,AA==' } }
    const repaired = repairHistory([
      { role: 'user', content: ' \n' },
      { role: 'assistant', content: ' ', tool_calls: [call('a', '{}')] },
      { role: 'tool', tool_call_id: 'a', content: '\n' },
      { role: 'user', content: [{ type: 'text', text: ' ' }, picture] },
      { role: 'user', content: [{ type: 'text', text: '' }] },
    ])
    expect(repaired.map(({ content }) => content)).toEqual(['(no text)', null, NO_OUTPUT, [picture], '(no text)'])
  })

  test('broken arguments become the JSON of an object that still shows them; a raw line break is mended', () => {
    const [message] = repairHistory([
      {
        role: 'assistant',
        content: '',
        tool_calls: [call('a', '{"path": "a.txt'), call('b', '{"command":"a\nb"}'), call('c', '')],
      },
    ])
    expect(message).toMatchObject({
      content: null,
      tool_calls: [
        { function: { arguments: '{"_invalid_arguments":"{\\"path\\": \\"a.txt"}' } },
        { function: { arguments: '{"command":"a\\nb"}' } },
        { function: { arguments: '{}' } },
      ],
    })
  })
})
