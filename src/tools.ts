import type { SubAgent } from './agent/subAgent.ts'
import { plannerTool } from './agent/planner.ts'
import { createResultKeeper } from './session/resultStore.ts'
import type { Store } from './session/store.ts'
import type { Redactor } from './shared/redact.ts'
import { fileTools } from './tool/builtin/files.ts'
import { searchTools } from './tool/builtin/search.ts'
import { readResultTool } from './tool/resultKeeper.ts'
import { ToolManager } from './tool/toolManager.ts'

/** The tools of a thread as this installation offers them. */
export function toolsFor(parts: {
  planner: SubAgent
  store: Store
  redactor: Redactor
  enabled: readonly string[]
  disabled: readonly string[]
}): ToolManager {
  const keeper = createResultKeeper(parts.store)
  const manager = new ToolManager({ keeper, mask: parts.redactor.text })
  for (const tool of [...fileTools(), ...searchTools(), plannerTool(parts.planner), readResultTool(keeper)])
    manager.register(tool as never)
  for (const name of parts.enabled) if (manager.has(name)) manager.enable(name)
  for (const name of parts.disabled) if (manager.has(name)) manager.disable(name)
  return manager
}
