import type { BaseClient, ChatResponse } from '../client/baseClient.ts'
import type { PromptManager } from '../prompt/promptManager.ts'
import { isAbort, ModelError, messageOf } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import { type Message, textOf } from '../shared/message.ts'
import { estimateTokens } from '../shared/tokenEstimate.ts'
import { prunedResult } from './prunedResult.ts'

export interface SummaryParts {
  client: BaseClient
  promptManager: PromptManager
  log: Log
  signal: AbortSignal
  /** How long one attempt may take. Default 120,000 ms. */
  timeoutMs?: number
  /** Told of each response, and of attempts that came to nothing, for the record of usage. */
  onModelCall?: ((call: Pick<ChatResponse, 'model' | 'usage'>) => Promise<void> | void) | undefined
}

const DEFAULT_TIMEOUT_MS = 120_000
/** After as many failures the early part is cut instead. */
const ATTEMPTS = 2
/** What the summariser gets to read of one message, in characters. */
const SHOWN_RESULT = 2_000
const SHOWN_TEXT = 12_000
const SHOWN_ARGUMENTS = 1_000
/** A summary is a small part of what it stands for, but thinking counts as output, too. */
const MOST_SUMMARY_TOKENS = 16_000

/**
 * A summary of the early part of a conversation, made from the earlier summary (updated, not summarised again) and the
 * messages since. At most `requestTokens` of conversation are sent, the newest; a second attempt sends half of that.
 * `null` where it failed twice. Throws when `signal` aborts, and what `onModelCall` throws.
 */
export async function summarise(
  earlier: string | undefined,
  messages: readonly Message[],
  requestTokens: number,
  parts: SummaryParts,
): Promise<string | null> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const conversation = withinTokens(messages.map(asText), requestTokens / attempt)
    let response: ChatResponse
    try {
      response = await ask(earlier, conversation, requestTokens, parts)
    } catch (error) {
      if (parts.signal.aborted) throw error
      parts.log.warn({ error, attempt }, `no summary: ${messageOf(error)}`)
      if (!mayHelp(error)) return null
      continue
    }
    await parts.onModelCall?.(response)
    const flaw = flawOf(response)
    if (flaw === null) return response.content.trim()
    parts.log.warn({ attempt, finish: response.rawFinish ?? response.finish }, `no summary: ${flaw}`)
  }
  return null
}

/** A time-out, an overflow and whatever the server calls passing may go better the second time. */
function mayHelp(error: unknown): boolean {
  return !(error instanceof ModelError) || error.retryable || error.kind === 'contextOverflow'
}

async function ask(
  earlier: string | undefined,
  conversation: string,
  requestTokens: number,
  { client, promptManager, signal, timeoutMs = DEFAULT_TIMEOUT_MS, onModelCall }: SummaryParts,
): Promise<ChatResponse> {
  const request = promptManager.render('agents', 'summarizer', {
    summary: inTags(earlier ?? '(none)'),
    conversation: inTags(conversation),
  })
  try {
    return await client.chat(request, {
      ...(onModelCall && { onLostCall: onModelCall }),
      maxTokens: Math.max(1_000, Math.min(MOST_SUMMARY_TOKENS, Math.floor(requestTokens / 2))),
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    })
  } catch (error) {
    if (isAbort(error) && !signal.aborted) throw new Error(`the summariser took longer than ${timeoutMs} ms`)
    throw error
  }
}

/** Why a response can't stand for a conversation; `null` where it can. */
function flawOf({ content, finish, toolCalls }: ChatResponse): string | null {
  if (toolCalls.length > 0) return 'a tool was called instead'
  if (finish !== 'stop') return 'it was not finished'
  return content.trim() === '' ? 'it was empty' : null
}

function asText(message: Message): string {
  const text = textOf(message)
  if (message.role === 'tool') return `[Result of a tool]\n${prunedResult(text, SHOWN_RESULT)}`
  if (message.role !== 'assistant') return prunedResult(text, SHOWN_TEXT)
  const calls = (message.tool_calls ?? []).map(
    ({ function: call }) => `[Agent calls ${call.name} with ${prunedResult(call.arguments, SHOWN_ARGUMENTS)}]`,
  )
  return [text.trim() && `[Agent] ${prunedResult(text, SHOWN_TEXT)}`, ...calls].filter(Boolean).join('\n')
}

/** The newest texts that fit, in order, with a note of how many were left out. */
function withinTokens(texts: readonly string[], most: number): string {
  let used = 0
  let from = texts.length
  while (from > 0) {
    used += estimateTokens(texts[from - 1]!)
    if (used > most && from < texts.length) break
    from--
  }
  const note = from > 0 ? [`[${from} earlier messages are left out here]`] : []
  return [...note, ...texts.slice(from)].join('\n\n')
}

/** What people and tools said can't end the part of the prompt in which it stands. */
function inTags(text: string): string {
  return text.replaceAll(/<(?=\/?(?:conversation|earlier_summary)\b)/gi, '‹')
}
