import type { z } from 'zod'
import type { ToolContext } from './context.ts'
import type { PermissionLevel, PermissionPolicy } from './permission.ts'

export type { ToolContext }

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
