import type { PlatformName } from '../shared/thread.ts'
import type { AlwaysScope, Preview } from '../tool/approval.ts'
import type { Question } from '../tool/question.ts'

/** What the store keeps of calls and questions that people decide about. Each part is written once and never changed. */

export interface PersonName {
  id: string
  name: string
  /** Where it is another one than the thread's: somebody at the console who decided there. */
  platform?: PlatformName
}

/** Who decides, and how; the rule that stood when people were asked is the one that counts. */
export interface ApprovalRule {
  /** A list holds ids of people, roles or groups. */
  who: 'anyone' | 'requester' | 'not_requester' | string[]
  /** How many different people have to say yes. */
  quorum: number
  expiresMs: number
  /** Whether "always in this thread" is offered. */
  always: boolean
}

/** A call or question as people were asked about it. An edit of a call makes the next version, with votes of its own. */
export type Ask = {
  v: 1
  callKey: string
  /** From 1. */
  version: number
  at: number
  /** Milliseconds since the epoch. */
  expiresAt: number
  /** Everybody whose message entered since the last answer; the last one is the requester. */
  requesters: PersonName[]
  rule: ApprovalRule
  /** BCP 47: the language of its card. */
  locale?: string
  tool: string
} & (
  | {
      kind: 'call'
      /** Exactly what runs if it is approved. */
      args: unknown
      preview: Preview
      always: AlwaysScope | null
      /** Counts the fresh starts of the thread; an "always" is of one of them. */
      generation: number
      editedBy?: PersonName
    }
  | { kind: 'question'; question: Question }
)

export interface Vote {
  by: PersonName
  at: number
  /** Said "always" with it. */
  always: boolean
}

/**
 * How a version ended; one for each, and the first one stands. `approved` is by as many votes as the rule wants: `by` is the
 * one who completed them, and `always` is true where all of them said so.
 */
export type Decision = { v: 1; at: number; by: PersonName | null } & (
  | { kind: 'approved'; voters: PersonName[]; always: boolean }
  /** Nobody was asked: an earlier "always" covers it. */
  | { kind: 'always'; grantedBy: PersonName }
  | { kind: 'denied'; reason?: string }
  /** The next version has these arguments. */
  | { kind: 'edited'; args: unknown }
  | { kind: 'answered'; text: string }
  | { kind: 'expired' }
  | { kind: 'stopped' }
)

/** How an attempt to run ended, one for each: by its result, or by people who did not see one. */
export type AttemptEnd =
  | { kind: 'finished'; at: number; text: string; failed: boolean }
  | { kind: 'again'; at: number; by: PersonName }
  /** `neverRan`: nobody had begun it, and from now on nobody can. */
  | { kind: 'skip'; at: number; by: PersonName; neverRan?: true }

/** Who begins an attempt writes this first; people who give a call up write it, too, so that nobody else can begin it. */
export interface Begin {
  at: number
  givenUpBy?: PersonName
}

export interface Attempt {
  /** From 1. */
  number: number
  begunAt: number
  end?: AttemptEnd
}

export interface Version {
  ask: Ask
  votes: Vote[]
  decision?: Decision
}

/**
 * Everything known of a call. `ask`, `votes` and `decision` are of the latest version: a decision `edited` says that the next
 * version has not been asked about yet.
 */
export interface CallState {
  ask?: Ask
  votes: Vote[]
  decision?: Decision
  /** Versions before the latest, ascending. */
  earlier: Version[]
  attempts: Attempt[]
}
