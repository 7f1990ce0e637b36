import type { Message, Usage } from './message.ts'
import type { MessageRef } from './thread.ts'

/**
 * The records of a thread: append-only, one store key each, numbered from 0 without gaps. The model sees a view of them,
 * the transcript sees them all. `v` is the version of the shape; old versions stay readable.
 */
export type ThreadRecord = MessageRecord | MarkRecord

export interface MessageRecord {
  v: 1
  kind: 'message'
  /** Milliseconds since the epoch. */
  at: number
  message: Message
  /** Who said it, for messages of people. */
  author?: { id: string; name: string }
  /** The inbox event it came from; the thread's inbox cursor is derived from these. */
  source?: EventSource
  /** True for earlier talk of the thread that nobody addressed to the bot. */
  background?: true
  /** For answers of a model. */
  model?: string
  usage?: Usage
  /** How long the model call took. */
  durationMs?: number
  /** True when the person's message entered a run under way. */
  steered?: true
  /** The person asked a command's way (`plan TASK`): that specialist answers it, not the main agent. */
  command?: 'plan' | 'review'
  /** For results of tools: the observation tells of an error. */
  failed?: true
}

export interface EventSource {
  eventId: string
  slot: number
  ref?: MessageRef
}

export type MarkRecord = { v: 1; kind: 'mark'; at: number; source?: EventSource } & (
  | { mark: 'handled'; what: string }
  /** The records before this number are represented by the summary. */
  | { mark: 'compacted'; upTo: number; summary: string }
  /** Results of tools in records before this number are shown to the model with at most `keep` characters each. */
  | { mark: 'pruned'; upTo: number; keep: number }
  /** `@bot new`: the model no longer sees what stands above. */
  | { mark: 'boundary'; by: { id: string; name: string } }
  /** How a run ended when it did not end with an answer; `partial` is the text that people had seen of it by then. */
  | { mark: 'stopped'; by: string | null; partial: string }
  | { mark: 'failed'; reason: string; partial: string }
)
