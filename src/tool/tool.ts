import type { ToolApproval } from './approval.ts'
import type { ToolParameters } from './arguments.ts'
import type { ToolContext } from './context.ts'
import type { PermissionLevel, PermissionPolicy } from './permission.ts'
import type { Question } from './question.ts'

export type { ToolContext }

/**
 * A capability offered to the model. `invoke` gets validated arguments; what it returns becomes the observation (a string as
 * it is, anything else as JSON) and what it throws becomes an error observation.
 */
export interface Tool<Args = unknown> {
  name: string
  /** For the model: what it does and when to use it. */
  description: string
  parameters: ToolParameters<Args>
  permission: PermissionLevel | PermissionPolicy<Args>
  invoke(args: Args, context: ToolContext): Promise<unknown>
  /** Which end of a long result is kept. Default `head`. */
  keep?: 'head' | 'tail'
  /** How people are asked about a call. Default: its arguments as they are, "always" for all calls of the tool, no check. */
  approval?: ToolApproval<Args>
  /** The call is a question to people: their answer is the observation, and `invoke` never runs. */
  question?: (args: Args) => Question
}

/** Tools that come and go while the program runs, such as those of MCP servers. */
export interface ToolSource {
  /** What is on offer now; the same objects as long as nothing changed, and names that a `ToolManager` takes. */
  tools(): readonly Tool[]
  /** Why a tool of this name is not on offer now, as a sentence for the model; `undefined` for a name that is not of here. */
  absence(name: string): string | undefined
}

/** What became of one dispatched call: a text for the model, or the wish to wait for people. */
export type Dispatched = { kind: 'observation'; text: string; failed: boolean } | { kind: 'pending' }
