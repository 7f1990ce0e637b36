/** A thread's records as one Markdown document: who said what, which calls were made and what came of them, at what cost. */
import type { AssistantMessage, ToolCall, Usage } from '../shared/message.ts'
import { textOf } from '../shared/message.ts'
import type { MarkRecord, MessageRecord, ThreadRecord } from '../shared/record.ts'
import { createRedactor, type Redactor } from '../shared/redact.ts'
import { type ThreadRef, threadKey } from '../shared/thread.ts'
import { type Wording, wordingFor } from '../shared/wording/wording.ts'
import { fenced, htmlText, plainInline, quoted } from './containedMarkdown.ts'

/** What the transcript needs to know of a thread; the store's `ThreadHead` is one. */
export interface TranscriptHead {
  ref: ThreadRef
  title: string
  /** Milliseconds since the epoch. */
  createdAt: number
}

export interface TranscriptOptions {
  /** Default: English. */
  wording?: Wording
  /** Masks secrets in everything that was said, called and found. Default: masks shapes of tokens alone. */
  redactor?: Redactor
  /** What the bot is called in the headings. Default `ToyCoder`. */
  botName?: string
}

/**
 * Yields the document piece by piece, one or more records at a time, so that memory stays flat for long threads. Joined,
 * the pieces are valid Markdown in which nothing that was said can pose as a heading, an answer or a result.
 */
export async function* transcriptMarkdown(
  head: TranscriptHead,
  records: AsyncIterable<{ seq: number; record: ThreadRecord }>,
  { wording = wordingFor('en'), redactor = createRedactor(), botName = 'ToyCoder' }: TranscriptOptions = {},
): AsyncGenerator<string, void> {
  const write = createWriter(wording, redactor, botName)
  yield write.opening(head)
  for await (const { record } of records) {
    const text = record.kind === 'mark' ? write.mark(record) : write.message(record)
    if (text !== '') yield text
  }
  yield write.closing()
}

/** A name for the document as a file, such as `transcript-fix-the-login-2026-03-01.md`. */
export function transcriptFileName(head: TranscriptHead, at: number): string {
  const title = head.title.normalize('NFKC').toLowerCase()
  const slug = title
    .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
    .slice(0, 40)
    .replaceAll(/^-+|-+$/g, '')
  return ['transcript', slug, timeOf(at).slice(0, 10)].filter(Boolean).join('-').concat('.md')
}

function createWriter(wording: Wording, redactor: Redactor, botName: string) {
  const mask = redactor.text
  /** Calls of the last answer that no result has come for yet, in the order in which they were made. */
  let open: ToolCall[] = []
  const totals = { calls: 0, input: 0, output: 0, cost: 0 }

  return {
    opening: ({ ref, title, createdAt }: TranscriptHead) =>
      blocks(
        `# ${plainInline(mask(title)) || wording.transcriptUntitled}`,
        wording.transcriptOf(`\`${threadKey(ref).replaceAll('`', '')}\``, timeOf(createdAt)),
      ),

    message(record: MessageRecord): string {
      const { message, at } = record
      switch (message.role) {
        case 'tool':
          return callBlock(takeCall(message.tool_call_id), {
            text: message.content,
            at,
            failed: record.failed === true,
          })
        case 'assistant': {
          const left = callsLeft()
          open = [...(message.tool_calls ?? [])]
          count(record)
          return left + blocks(heading(botName, at, ...costOf(record)), said(message))
        }
        case 'user': {
          const author = record.author?.name.trim() || record.author?.id || wording.transcriptSomebody
          return blocks(heading(mask(author), at, ...circumstances(record)), quoted(mask(userText(record))))
        }
        case 'system':
          return folded(htmlText(wording.transcriptSystem), quoted(mask(message.content)))
      }
    },

    mark(record: MarkRecord): string {
      const time = timeOf(record.at)
      switch (record.mark) {
        case 'handled':
          return blocks(`*${time} · ${wording.transcriptHandled(plainInline(mask(record.what)))}*`)
        case 'compacted':
          return folded(`${time} · ${htmlText(wording.transcriptCompacted)}`, quoted(mask(record.summary)))
        // What the model is shown less of is still here in full.
        case 'pruned':
          return ''
        case 'boundary':
          return blocks('---', `*${time} · ${wording.transcriptBoundary(plainInline(mask(record.by.name)))}*`)
        case 'stopped': {
          const sentence = record.by === null ? wording.stopped : wording.stoppedBy(plainInline(mask(record.by)))
          return blocks(`**${time} · ${sentence}**`, partial(record.partial))
        }
        case 'failed':
          return blocks(
            `**${time} · ${wording.transcriptFailed(plainInline(mask(record.reason)))}**`,
            partial(record.partial),
          )
      }
    },

    closing(): string {
      const { calls, input, output, cost } = totals
      const sum = [
        wording.transcriptCalls(calls),
        ...tokensOf({ inputTokens: input, outputTokens: output }),
        ...moneyOf(cost),
      ]
      return callsLeft() + (calls === 0 ? '' : blocks('---', sum.join(' · ')))
    },
  }

  function heading(name: string, at: number, ...notes: string[]): string {
    return `### ${[plainInline(name) || wording.transcriptSomebody, timeOf(at), ...notes].join(' · ')}`
  }

  function said(message: AssistantMessage): string {
    const text = mask(textOf(message))
    if (text.trim() !== '') return quoted(text)
    return message.tool_calls?.length ? '' : quoted(wording.emptyAnswer)
  }

  function partial(text: string): string {
    return text.trim() === '' ? '' : quoted(mask(text))
  }

  function userText({ message }: MessageRecord): string {
    if (message.role !== 'user' || typeof message.content === 'string') return textOf(message)
    return message.content.map((part) => (part.type === 'text' ? part.text : wording.transcriptImage)).join('\n\n')
  }

  function circumstances(record: MessageRecord): string[] {
    return [
      ...(record.background ? [wording.transcriptBackground] : []),
      ...(record.steered ? [wording.transcriptSteered] : []),
      ...(record.command === 'plan' ? [wording.transcriptPlan] : []),
    ]
  }

  function costOf({ model, usage, durationMs }: MessageRecord): string[] {
    const seconds = durationMs === undefined ? [] : [`${(durationMs / 1_000).toFixed(1)} s`]
    return [
      ...(model ? [plainInline(model)] : []),
      ...tokensOf(usage ?? {}),
      ...moneyOf(usage?.costUsd ?? 0),
      ...seconds,
    ]
  }

  function tokensOf({ inputTokens, outputTokens }: Usage): string[] {
    if (!inputTokens && !outputTokens) return []
    return [wording.transcriptTokens((inputTokens ?? 0).toLocaleString('en'), (outputTokens ?? 0).toLocaleString('en'))]
  }

  function count({ usage }: MessageRecord): void {
    totals.calls += 1
    totals.input += usage?.inputTokens ?? 0
    totals.output += usage?.outputTokens ?? 0
    totals.cost += usage?.costUsd ?? 0
  }

  /** Ids may repeat within a thread, even within one answer: the first open call of the name is meant. */
  function takeCall(id: string): ToolCall | undefined {
    const at = open.findIndex((call) => call.id === id)
    return at < 0 ? undefined : open.splice(at, 1)[0]
  }

  function callsLeft(): string {
    const left = open.map((call) => callBlock(call, null)).join('')
    open = []
    return left
  }

  function callBlock(call: ToolCall | undefined, result: { text: string; at: number; failed: boolean } | null): string {
    const name = `<code>${htmlText(mask(call?.function.name ?? '?'))}</code>`
    const state =
      result === null ? [] : [timeOf(result.at), ...(result.failed ? [htmlText(wording.transcriptCallFailed)] : [])]
    const args = call === undefined ? '' : fenced(mask(indentedJson(call.function.arguments)), 'json')
    return folded(
      ['🔧', name, ...state].join(' · '),
      args,
      result === null ? wording.transcriptNoResult : fenced(mask(result.text)),
    )
  }
}

/** The same JSON on several lines, or the text as it is where it is none. */
function indentedJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/** `summary` is HTML, the rest Markdown. */
function folded(summary: string, ...content: string[]): string {
  return blocks(`<details><summary>${summary}</summary>`, ...content, '</details>')
}

const blocks = (...parts: string[]) => `${parts.filter((part) => part !== '').join('\n\n')}\n\n`

const moneyOf = (usd: number) => (usd > 0 ? [`$${usd < 0.01 ? usd.toPrecision(2) : usd.toFixed(2)}`] : [])

/** `2026-03-01 12:00:05Z`: UTC, to the second. */
function timeOf(at: number): string {
  const date = new Date(at)
  return Number.isNaN(date.getTime())
    ? '?'
    : date
        .toISOString()
        .replace('T', ' ')
        .replace(/\.\d+Z$/, 'Z')
}
