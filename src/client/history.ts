import type { AssistantMessage, ContentPart, Message, ToolCall, ToolMessage, UserMessage } from '../shared/message.ts'
import { isJsonObject, parseToolArguments } from '../shared/toolArguments.ts'
import { createCallIds } from './callIds.ts'
import type { Compat } from './compat.ts'

export type HistoryPolicy = Pick<
  Compat,
  'toolCallIds' | 'nonNullAssistantContent' | 'mergeUserMessages' | 'assistantAfterToolResult'
>

/** What the rules of every provider have in common, with OpenAI's ids. */
export const STANDARD_HISTORY: HistoryPolicy = {
  toolCallIds: 'openai40',
  nonNullAssistantContent: false,
  mergeUserMessages: false,
  assistantAfterToolResult: false,
}

/** Stands for the result of a call that never got one: the process ended, or the history was cut there. */
export const INTERRUPTED =
  '[No result: the call was interrupted. It may or may not have taken effect; check before you call it again.]'
export const NO_OUTPUT = '(no output)'
const NO_TEXT = '(no text)'
const RESULTS_SEEN = 'I have seen the results.'
/** How much of unreadable arguments the model is shown of its own slip. */
const BROKEN_ARGUMENTS_SHOWN = 200

/**
 * Makes any history acceptable to the model server: a pure function, run right before each request. What is stored stays
 * as it was. A history that is valid already comes back with the very same messages.
 *
 * - Each call has exactly one result, in the block right behind its assistant message. A missing one is filled in, results
 *   that answer no call are dropped, and so are assistant messages with neither text nor calls.
 * - Ids of calls are unique in the request and fit the provider; a pair is renamed together, found by position, because
 *   providers repeat ids such as `call_0`.
 * - Arguments are the JSON of an object, names are valid, nothing is empty, no text holds half a surrogate pair.
 */
export function repairHistory(messages: readonly Message[], policy: HistoryPolicy = STANDARD_HISTORY): Message[] {
  const results = matchResults(messages)
  const mintId = createCallIds(policy.toolCallIds)
  const repaired: Message[] = []
  for (const [at, message] of messages.entries()) {
    if (message.role === 'tool') continue
    if (message.role !== 'assistant') {
      pushSpoken(repaired, repairSpoken(message), policy)
      continue
    }
    if (!message.tool_calls?.length) {
      const answer = repairAnswer(message)
      if (answer) repaired.push(answer)
      continue
    }
    const ids = message.tool_calls.map((call) => mintId(call.id, validName(call.function.name)))
    repaired.push(repairCalls(message as AssistantMessage & { tool_calls: ToolCall[] }, ids, policy))
    const answered = results.get(at) ?? []
    for (const { result, call } of answered) repaired.push(repairResult(result, ids[call]!))
    for (const [call, id] of ids.entries()) {
      if (answered.some((answer) => answer.call === call)) continue
      repaired.push({ role: 'tool', tool_call_id: id, content: INTERRUPTED })
    }
  }
  return repaired
}

interface Answered {
  result: ToolMessage
  /** Index of the call in its assistant message. */
  call: number
}

/**
 * Which result belongs to which call: the first one of that id behind the call that is not taken yet, up to the next message
 * that uses the id anew. In the order of the results, so that a sound block stays as it is.
 */
function matchResults(messages: readonly Message[]): Map<number, Answered[]> {
  const open = new Map<string, { owner: number; calls: number[] }>()
  const results = new Map<number, Answered[]>()
  for (const [at, message] of messages.entries()) {
    if (message.role === 'assistant' && message.tool_calls) {
      results.set(at, [])
      for (const [index, { id }] of message.tool_calls.entries()) {
        const slot = open.get(id)
        if (slot?.owner === at) slot.calls.push(index)
        else open.set(id, { owner: at, calls: [index] })
      }
    } else if (message.role === 'tool') {
      const slot = open.get(message.tool_call_id)
      const call = slot?.calls.shift()
      if (slot && call !== undefined) results.get(slot.owner)!.push({ result: message, call })
    }
  }
  return results
}

function pushSpoken(repaired: Message[], message: Message, policy: HistoryPolicy): void {
  const last = repaired.at(-1)
  if (policy.assistantAfterToolResult && message.role === 'user' && last?.role === 'tool') {
    repaired.push({ role: 'assistant', content: RESULTS_SEEN })
  }
  if (policy.mergeUserMessages && message.role === 'user' && last?.role === 'user') {
    repaired[repaired.length - 1] = { role: 'user', content: joined(last.content, message.content) }
    return
  }
  repaired.push(message)
}

function joined(first: UserMessage['content'], second: UserMessage['content']): UserMessage['content'] {
  if (typeof first === 'string' && typeof second === 'string') return `${first}\n\n${second}`
  const parts = (content: UserMessage['content']) =>
    typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
  return [...parts(first), ...parts(second)]
}

/** System and user messages: never empty, well-formed Unicode. */
function repairSpoken<M extends Exclude<Message, AssistantMessage | ToolMessage>>(message: M): M {
  const { content } = message
  if (typeof content === 'string') {
    const text = isBlank(content) ? NO_TEXT : wellFormed(content)
    return text === content ? message : { ...message, content: text }
  }
  const isSound = (part: ContentPart) => part.type !== 'text' || (!isBlank(part.text) && part.text.isWellFormed())
  if (content.length > 0 && content.every(isSound)) return message
  const parts = content
    .filter((part) => part.type !== 'text' || !isBlank(part.text))
    .map((part) => (part.type === 'text' ? { ...part, text: wellFormed(part.text) } : part))
  return { ...message, content: parts.length > 0 ? parts : NO_TEXT }
}

function repairAnswer(message: AssistantMessage): AssistantMessage | null {
  const text = wellFormed(message.content ?? '')
  if (isBlank(text)) return null
  if (text === message.content && message.tool_calls === undefined) return message
  const { tool_calls: _, ...rest } = message
  return { ...rest, content: text }
}

function repairCalls(
  message: AssistantMessage & { tool_calls: ToolCall[] },
  ids: readonly string[],
  policy: HistoryPolicy,
): AssistantMessage {
  const calls = message.tool_calls.map((call, index) => repairCall(call, ids[index]!))
  const text = wellFormed(message.content ?? '')
  const content = isBlank(text) ? (policy.nonNullAssistantContent ? '' : null) : text
  if (content === message.content && calls.every((call, index) => call === message.tool_calls[index])) return message
  return { ...message, content, tool_calls: calls }
}

function repairCall(call: ToolCall, id: string): ToolCall {
  const name = validName(call.function.name)
  const args = validArguments(call.function.arguments)
  if (id === call.id && name === call.function.name && args === call.function.arguments) return call
  return { ...call, id, function: { ...call.function, name, arguments: args } }
}

function repairResult(result: ToolMessage, id: string): ToolMessage {
  const content = isBlank(result.content) ? NO_OUTPUT : wellFormed(result.content)
  return id === result.tool_call_id && content === result.content ? result : { ...result, tool_call_id: id, content }
}

/** Servers parse the arguments again and refuse the whole history for one bad text; the model still sees what it wrote. */
function validArguments(text: string): string {
  if (text.isWellFormed() && isJsonObject(text)) return text
  const read = parseToolArguments(wellFormed(text))
  if (read.ok) return JSON.stringify(read.value)
  return JSON.stringify({ _invalid_arguments: wellFormed(text.slice(0, BROKEN_ARGUMENTS_SHOWN)) })
}

function validName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown_tool'
}

/** White space alone is as bad as nothing: servers in front of Anthropic's models refuse the whole request for it. */
function isBlank(text: string): boolean {
  return text.trim() === ''
}

function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed()
}
