import { BaseClient, type ChatParams, type ChatResponse, type ToolCallInfo } from '../../src/client/baseClient.ts'
import type { AssistantMessage, Message } from '../../src/shared/message.ts'

/** One model call of a script: what it answers, or a function that decides (or throws) when it is asked. */
export type Turn = Partial<ChatResponse> & { pieces?: string[] }
export type Script = (Turn | ((messages: readonly Message[], params: ChatParams) => Turn | Promise<Turn>))[]

/** A client that plays turns in order and remembers what it was asked. More calls than turns are an error. */
export class ScriptClient extends BaseClient {
  readonly model = 'script'
  readonly asked: { messages: Message[]; params: ChatParams }[] = []
  readonly #script: Script
  constructor(script: Script) {
    super()
    this.#script = [...script]
  }
  async chat(messages: readonly Message[], params: ChatParams = {}): Promise<ChatResponse> {
    const stream = this.streamChat(messages, params)
    while (true) {
      const { done, value } = await stream.next()
      if (done) return value
    }
  }
  async *streamChat(messages: readonly Message[], params: ChatParams = {}): AsyncGenerator<string, ChatResponse> {
    this.asked.push({ messages: structuredClone([...messages]), params })
    const next = this.#script.shift()
    if (!next) throw new Error('the script has no more turns')
    const { pieces, ...turn } = typeof next === 'function' ? await next(messages, params) : next
    const content = turn.content ?? pieces?.join('') ?? ''
    for (const piece of pieces ?? (content ? [content] : [])) {
      params.signal?.throwIfAborted()
      yield piece
    }
    params.signal?.throwIfAborted()
    const toolCalls = turn.toolCalls ?? []
    const finish = toolCalls.length > 0 ? 'toolCalls' : 'stop'
    return { toolCalls, usage: {}, model: this.model, finish, ...turn, content }
  }
}

let made = 0
export function call(name: string, args: unknown = {}, id = `c${made++}`): ToolCallInfo {
  return { id, name, arguments: typeof args === 'string' ? args : JSON.stringify(args) }
}

export function called(...calls: ToolCallInfo[]): AssistantMessage {
  return {
    role: 'assistant',
    content: null,
    tool_calls: calls.map(({ id, name, arguments: args }) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    })),
  }
}

export async function drain(stream: AsyncGenerator<string, string>): Promise<{ pieces: string[]; answer: string }> {
  const pieces: string[] = []
  while (true) {
    const { done, value } = await stream.next()
    if (done) return { pieces, answer: value }
    pieces.push(value)
  }
}

/** True when every call has exactly one result right behind its message, and no result is without a call. */
export function isWellFormed(messages: readonly Message[]): boolean {
  let open: string[] = []
  for (const message of messages) {
    if (message.role === 'tool') {
      const at = open.indexOf(message.tool_call_id)
      if (at < 0) return false
      open.splice(at, 1)
    } else {
      if (open.length > 0) return false
      if (message.role === 'assistant') open = (message.tool_calls ?? []).map(({ id }) => id)
    }
  }
  return open.length === 0
}
