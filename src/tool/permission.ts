import type { ToolContext } from './context.ts'

/**
 * `safe`: runs at once. `sensitive`: offered, but each call needs a person's yes (or an earlier "always").
 * `dangerous`: off until a person turns it on, then like `sensitive`.
 */
export type PermissionLevel = 'safe' | 'sensitive' | 'dangerous'

/** A permission that depends on who asks, where, and on the (validated) arguments. */
export type PermissionPolicy<Args> = (args: Args, context: ToolContext) => PermissionLevel | Promise<PermissionLevel>

/**
 * What the people have said of one call so far.
 * `approved` carries the arguments that may run: exactly what was approved, which an edit may have changed.
 */
export type Verdict =
  | { kind: 'pending' }
  | { kind: 'approved'; args: unknown; attempt: number; note?: string }
  | { kind: 'denied'; by: string; reason?: string }
  | { kind: 'expired' }
  /** An attempt was begun and no result is known. */
  | { kind: 'begun' }

/** Asks people. Where there is none (a sub-agent, a script), every call that needs a yes is denied with a text that says so. */
export interface Approver {
  verdict(call: { callKey: string; name: string; args: unknown }, context: ToolContext): Promise<Verdict>
  /** Claims the right to run; exactly one caller wins per attempt, over all instances and restarts. */
  begin(callKey: string, attempt: number): Promise<'won' | 'lost'>
}
