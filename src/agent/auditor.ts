import { z } from 'zod'
import type { BaseClient, ChatResponse } from '../client/baseClient.ts'
import type { PromptManager } from '../prompt/promptManager.ts'
import { isAbort, messageOf } from '../shared/errors.ts'
import { TOKEN_SHAPES } from '../shared/tokenShapes.ts'

/** A pattern that a text must not match. It must be linear in the length of the text: people and models write what it sees. */
export interface AuditRule {
  /** What a match means, as a reason for people: `it holds a github-token`. */
  reason: string
  pattern: RegExp
  /** Where given, one of these words is in every match; texts without them are not searched. */
  hint?: readonly string[]
}

export interface AuditorOptions {
  /** The auditor's own: never the client of the run that it judges, so that nothing said there reaches it. */
  client: BaseClient
  promptManager: PromptManager
  /** A role of `prompts/auditors.yml`, whose `user` text takes `{content}`. */
  role: 'input_auditor' | 'output_auditor'
  /** Asked before the model; a match refuses without a model call. Default for answers: the shapes of known tokens. */
  rules?: readonly AuditRule[]
  /** How long the model may take, in milliseconds. Default 60,000. */
  timeoutMs?: number
  /** Told of each response, and of attempts that came to nothing, for the record of usage. */
  onModelCall?: (call: Pick<ChatResponse, 'model' | 'usage'>) => Promise<void> | void
}

export interface Verdict {
  passed: boolean
  /** One sentence for the log and for whoever runs the bot; may repeat what was judged, so it is not shown in the thread. */
  reason: string
  /** Who decided; `failure` means that nobody could, which counts as not passed. */
  by: 'rules' | 'model' | 'failure'
}

export interface Auditor {
  /**
   * Judges one text. Never rejects because of the model: an error, a time-out and a verdict that can't be read are refusals,
   * because a door that opens when its guard fails is none. Rejects with an `AbortError` only when `signal` aborts.
   */
  audit(text: string, options?: { signal?: AbortSignal }): Promise<Verdict>
}

const DEFAULT_TIMEOUT_MS = 60_000
const REASON_CHARACTERS = 300
/** A verdict is two fields, but thinking counts as output, too, and a verdict that is cut off is a refusal. */
const MOST_VERDICT_TOKENS = 10_000

/** Secrets have no place in an answer. In a message they are the person's own, and masked before the model sees them. */
export const OUTPUT_RULES: readonly AuditRule[] = TOKEN_SHAPES.map(({ label, hint, pattern }) => ({
  reason: `it holds a ${label}`,
  hint,
  pattern,
}))

const verdictShape = z.object({ passed: z.boolean(), reason: z.string().default('') })

/** The rules and an independent model call together: a text passes only where no rule matches and the model says so. */
export function createAuditor(options: AuditorOptions): Auditor {
  const { client, promptManager, role, timeoutMs = DEFAULT_TIMEOUT_MS, onModelCall } = options
  const rules = options.rules ?? (role === 'output_auditor' ? OUTPUT_RULES : [])

  return {
    async audit(text, { signal } = {}) {
      signal?.throwIfAborted()
      const broken = rules.find((rule) => matches(rule, text))
      if (broken) return { passed: false, reason: broken.reason, by: 'rules' }
      if (text.trim() === '') return { passed: true, reason: 'there is nothing to judge', by: 'rules' }
      const timeout = AbortSignal.timeout(timeoutMs)
      let response: ChatResponse
      try {
        const request = promptManager.render('auditors', role, { content: inTags(text) })
        response = await client.chat(request, {
          maxTokens: MOST_VERDICT_TOKENS,
          ...(onModelCall && { onLostCall: onModelCall }),
          signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
        })
      } catch (error) {
        if (signal?.aborted) throw error
        const late = isAbort(error) && timeout.aborted
        return failure(
          late ? `the auditor took longer than ${timeoutMs} ms` : `the auditor failed: ${messageOf(error)}`,
        )
      }
      await onModelCall?.(response)
      return readVerdict(response)
    },
  }
}

/**
 * The verdict in a response: one JSON object and nothing else, a Markdown fence around it apart. Looking for an object inside
 * of other text would let whoever wrote the judged text have the model quote a verdict of their own.
 */
function readVerdict({ content, finish, toolCalls }: ChatResponse): Verdict {
  if (finish !== 'stop' || toolCalls.length > 0) return failure('the auditor gave no complete verdict')
  const text = content.trim()
  const fenced = /^(`{3,}|~{3,})[a-z0-9]*[ \t]*\r?\n([\s\S]*?)\r?\n?\1$/i.exec(text)
  let json: unknown
  try {
    json = JSON.parse(fenced?.[2] ?? text)
  } catch {
    return failure('the auditor answered with something that is no verdict')
  }
  const read = verdictShape.safeParse(json)
  if (!read.success) return failure('the auditor answered with something that is no verdict')
  return { passed: read.data.passed, reason: read.data.reason.slice(0, REASON_CHARACTERS), by: 'model' }
}

function failure(reason: string): Verdict {
  return { passed: false, reason: reason.slice(0, REASON_CHARACTERS), by: 'failure' }
}

/** Patterns may carry the flag `g`, with which `test` would go on from its last match. */
function matches({ pattern, hint }: AuditRule, text: string): boolean {
  if (hint && !hint.some((word) => text.includes(word))) return false
  pattern.lastIndex = 0
  const found = pattern.test(text)
  pattern.lastIndex = 0
  return found
}

/** The judged text can't end the part of the prompt in which it stands. */
function inTags(text: string): string {
  return text.replaceAll(/<(?=\/?(?:message|answer)\b)/gi, '‹')
}
