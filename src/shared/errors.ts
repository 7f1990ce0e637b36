/**
 * Errors inside the program. Towards the model errors are observations and towards people outcomes (design, idea 6);
 * these classes are what travels in between.
 */

export interface Problem {
  /** What is wrong, naming the setting. One sentence. */
  problem: string
  /** What to do about it. One sentence. */
  mend: string
}

/** Something at the start is missing or wrong. `main` prints every problem with its mend and exits with code 2. */
export class SetupError extends Error {
  readonly problems: readonly Problem[]
  constructor(problems: readonly Problem[], options?: ErrorOptions) {
    super(problems.map(({ problem, mend }) => `${problem} ${mend}`).join('\n'), options)
    this.name = 'SetupError'
    this.problems = problems
  }
}

/**
 * What a platform's refusal means for the caller, whatever its own code was:
 * - `rateLimited`: wait `retryAfterMs`, then the newest text may be sent
 * - `notFound`: the message or thread is gone
 * - `notEditable`: it is there and can't be edited any more (too old, archived, a stream, somebody else's)
 * - `tooLong`: split smaller
 * - `forbidden`: a right, scope or membership is missing; `mend` says which
 * - `invalid`: the platform does not take this payload; sending it again will not help
 * - `unavailable`: the platform or the network failed; `uncertain` says if the call may have taken effect all the same
 */
export type PlatformErrorKind =
  | 'rateLimited'
  | 'notFound'
  | 'notEditable'
  | 'tooLong'
  | 'forbidden'
  | 'invalid'
  | 'unavailable'

export class PlatformError extends Error {
  readonly kind: PlatformErrorKind
  /** The platform's own code, such as `msg_too_long` or `10008`; for the log. */
  readonly code: string
  readonly retryAfterMs: number | undefined
  /** True when the call may have taken effect although it failed (time-out, 5xx after sending). */
  readonly uncertain: boolean
  /** For `forbidden`: what an admin has to do, in one sentence. */
  readonly mend: string | undefined
  constructor(
    kind: PlatformErrorKind,
    code: string,
    message: string,
    options: { retryAfterMs?: number; uncertain?: boolean; mend?: string; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'PlatformError'
    this.kind = kind
    this.code = code
    this.retryAfterMs = options.retryAfterMs
    this.uncertain = options.uncertain ?? false
    this.mend = options.mend
  }
}

/** What went wrong with a model server. `retryable` says whether asking again may help. */
export type ModelErrorKind =
  | 'auth'
  | 'rateLimited'
  | 'unreachable'
  | 'timeout'
  | 'contextOverflow'
  | 'incompleteStream'
  | 'emptyResponse'
  | 'malformed'
  | 'refused'
  | 'server'

export class ModelError extends Error {
  readonly kind: ModelErrorKind
  readonly retryable: boolean
  readonly retryAfterMs: number | undefined
  readonly code: string | undefined
  constructor(
    kind: ModelErrorKind,
    message: string,
    options: { retryable?: boolean; retryAfterMs?: number; code?: string; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ModelError'
    this.kind = kind
    this.retryable = options.retryable ?? false
    this.retryAfterMs = options.retryAfterMs
    this.code = options.code
  }
}

/** A writer that lost its thread: somebody else appended at the number it wanted. It stops; the log is whole. */
export class StaleThread extends Error {
  constructor(threadKey: string, seq: number) {
    super(`thread ${threadKey} already has a record ${seq}; another run carries on`)
    this.name = 'StaleThread'
  }
}

/** The store did not answer, or not as it must. Never "nothing there" and never "written". */
export class StoreError extends Error {
  constructor(operation: string, cause: unknown) {
    super(`the store failed at ${operation}: ${messageOf(cause)}`, { cause })
    this.name = 'StoreError'
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/**
 * The reason to abort a run with when it is to go on later, such as at a restart: what finished in time is saved, every other
 * call stays open, approvals and cards stay as they are. The run ends by throwing this.
 */
export class Paused extends Error {
  constructor(message = 'the run was paused') {
    super(message)
    this.name = 'AbortError'
  }
}

/** True for the error that an aborted `AbortSignal` brings, whoever threw it. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || error.name === 'APIUserAbortError')
}
