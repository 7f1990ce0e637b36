import type { Tier } from './faults.ts'
import type { Fields, World } from './world.ts'

/** What a method is called with besides its arguments. */
export interface MethodContext {
  world: World
  /** Base address of the double, without a slash at the end. */
  url: string
  scopes: Set<string>
}

export interface Method {
  tier: Tier
  /** A scope the token must have; a function where it depends on the call. */
  scope?: string | ((args: Fields, world: World) => string | undefined)
  /** Arguments the method knows; others are refused, since they would be mistakes of ours. */
  args: string[]
  run(args: Fields, context: MethodContext): Fields | Promise<Fields>
}

export type Methods = Record<string, Method>
