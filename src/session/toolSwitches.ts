import type { PersonName } from './approvalTypes.ts'
import { listAll, readAll } from './entries.ts'
import { numberOf, switchKeys } from './keys.ts'
import type { Store } from './store.ts'
import type { Place } from './usage.ts'

/** Where a switch counts: in one thread, or in all threads of a channel. */
export type SwitchScope = { thread: string } | { channel: Place }

export interface ToolSwitch {
  at: number
  by: PersonName
  tool: string
  on: boolean
}

/** Tools that people switched on or off. Every switch is kept under the next number; the last one counts. */
export interface ToolSwitches {
  set(scope: SwitchScope, tool: string, on: boolean, by: PersonName): Promise<void>
  /** What counts in a thread: its own switches before those of its channel. Tools that nobody switched are not in it. */
  of(thread: string, channel: Place): Promise<Map<string, boolean>>
}

export function createToolSwitches(store: Store, now: () => number = Date.now): ToolSwitches {
  return {
    async set(scope, tool, on, by) {
      const name = scopeName(scope)
      const entry: ToolSwitch = { at: now(), by, tool, on }
      const last = (await listAll(store, switchKeys.tool(name, tool))).at(-1)
      let number = last === undefined ? 1 : numberOf(last) + 1
      while (!(await store.putIfAbsent(switchKeys.entry(name, tool, number), entry))) number++
    },

    async of(thread, channel) {
      const switched = new Map<string, boolean>()
      for (const scope of [{ channel }, { thread }]) {
        const entries = await readAll<ToolSwitch>(store, switchKeys.scope(scopeName(scope)))
        // In the order of their numbers within a tool, so that the last one stands.
        for (const [, { tool, on }] of entries) switched.set(tool, on)
      }
      return switched
    },
  }
}

/** The name of a scope in keys. */
export function scopeName(scope: SwitchScope): string {
  if ('thread' in scope) return `thread:${scope.thread}`
  const { platform, account, id } = scope.channel
  return `channel:${platform}:${account}:${id}`
}
