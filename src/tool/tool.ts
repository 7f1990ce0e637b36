import type { z } from 'zod'
import type { PermissionLevel, PermissionPolicy } from './permission.ts'

/** What a call knows of its surroundings. */
export interface ToolContext {
  /** Aborts when the run is stopped. A tool that can take long must heed it. */
  signal: AbortSignal
  /** Tells two calls of one name apart; stable over restarts. */
  callKey: string
  /** Store key of the thread; `null` outside of a thread. */
  threadKey: string | null
  /** The person on whose behalf the run works; `null` where nobody asked. */
  requester: { id: string; name: string } | null
  /** Absolute path of the folder the tools work on. */
  workspace: string
}

/**
 * A capability offered to the model. `invoke` gets validated arguments; what it returns becomes the observation (a string as
 * it is, anything else as JSON) and what it throws becomes an error observation.
 */
export interface Tool<Args = unknown> {
  name: string
  /** For the model: what it does and when to use it. */
  description: string
  parameters: z.ZodType<Args>
  permission: PermissionLevel | PermissionPolicy<Args>
  invoke(args: Args, context: ToolContext): Promise<unknown>
  /** Which end of a long result is kept. Default `head`. */
  keep?: 'head' | 'tail'
}

/** What became of one dispatched call: a text for the model, or the wish to wait for people. */
export type Dispatched = { kind: 'observation'; text: string; failed: boolean } | { kind: 'pending' }
