import type { ToolContext } from './context.ts'

/**
 * `safe`: runs at once. `sensitive`: offered, but each call needs a person's yes (or an earlier "always").
 * `dangerous`: off until a person turns it on, then like `sensitive`.
 */
export type PermissionLevel = 'safe' | 'sensitive' | 'dangerous'

/** A permission that depends on who asks, where, and on the (validated) arguments. */
export type PermissionPolicy<Args> = (args: Args, context: ToolContext) => PermissionLevel | Promise<PermissionLevel>
