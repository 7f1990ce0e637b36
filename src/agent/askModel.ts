import { type ChatParams, type ChatResponse, type ToolCallInfo, toToolCalls } from '../client/baseClient.ts'
import type { AssistantMessage, Message } from '../shared/message.ts'
import { type MessageMeta, type Run, stopError } from './reactOptions.ts'

/** Streams one model call; `opening` comes before its first piece. */
export async function* ask(
  run: Run,
  messages: readonly Message[],
  params: ChatParams,
  opening = '',
): AsyncGenerator<string, { response: ChatResponse; meta: MessageMeta }> {
  if (run.signal.aborted) throw stopError(run.signal)
  const startedAt = performance.now()
  let before = opening
  const restart = (cause: Error) => {
    before = opening
    run.onRestart?.(cause)
  }
  const restarts = run.onRestart ? { onRestart: restart } : {}
  const stream = run.client.streamChat(messages, { ...run.params, ...params, ...restarts, signal: run.signal })
  try {
    while (true) {
      const next = await stream.next()
      if (run.signal.aborted) throw stopError(run.signal)
      if (next.done) return { response: next.value, meta: metaOf(next.value, performance.now() - startedAt) }
      yield before + next.value
      before = ''
    }
  } finally {
    // Whoever reads may leave in the middle: the request ends with it.
    await stream.return(undefined as never)
  }
}

/** A response as it stands in the messages; `calls` are those of its calls that count. */
export function assistantMessage(response: ChatResponse, calls: readonly ToolCallInfo[]): AssistantMessage {
  const { content, finish, reasoning } = response
  return {
    role: 'assistant',
    content: calls.length > 0 && content === '' ? null : content,
    ...(calls.length > 0 ? { tool_calls: toToolCalls(apart(calls)) } : {}),
    ...(finish === 'length' ? { cut: true as const } : {}),
    ...(reasoning ? { reasoning } : {}),
  }
}

/**
 * The calls with ids that tell them apart within their message: results are found by them, and come in any order where some
 * calls wait for people. Some servers give every call the same id, or none.
 */
function apart(calls: readonly ToolCallInfo[]): ToolCallInfo[] {
  const used = new Set<string>()
  return calls.map((call) => {
    const base = call.id || 'call'
    let id = base
    for (let again = 2; used.has(id); again++) id = `${base}_${again}`
    used.add(id)
    return { ...call, id }
  })
}

function metaOf({ usage, model }: ChatResponse, durationMs: number): MessageMeta {
  return { usage, model, durationMs: Math.round(durationMs) }
}
