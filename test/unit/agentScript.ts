import type { ToolCallInfo } from '../../src/client/baseClient.ts'
import type { AssistantMessage, Message } from '../../src/shared/message.ts'

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
