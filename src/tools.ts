import { plannerTool } from './agent/planner.ts'
import { type Review, reviewTool } from './agent/review.ts'
import type { SubAgent, SubAgentRun } from './agent/subAgent.ts'
import { createResultKeeper } from './session/resultStore.ts'
import type { Store } from './session/store.ts'
import type { Redactor } from './shared/redact.ts'
import { listDirectoryTool } from './tool/builtin/listDirectory.ts'
import { readFileTool } from './tool/builtin/readFile.ts'
import { globSearchTool, grepSearchTool } from './tool/builtin/search.ts'
import { readResultTool } from './tool/resultKeeper.ts'
import type { ToolSource } from './tool/tool.ts'
import { ToolManager } from './tool/toolManager.ts'

interface ToolParts {
  store: Store
  redactor: Redactor
}

/** What reads and nothing else: the tools of reviewers, and the ground of everybody's. */
export function readingTools({ store, redactor }: ToolParts): ToolManager {
  const keeper = createResultKeeper(store)
  const manager = new ToolManager({ keeper, mask: redactor.text })
  manager.register(readFileTool)
  manager.register(listDirectoryTool)
  manager.register(globSearchTool)
  manager.register(grepSearchTool)
  manager.register(readResultTool(keeper))
  return manager
}

/** The tools of a thread as this installation offers them. */
export function toolsFor(
  parts: ToolParts & {
    planner: SubAgent
    review: Review
    /** The tools of MCP servers. */
    mcp: ToolSource
    /** Hears the messages of sub-agents, for counting what they cost. */
    onMessage: NonNullable<SubAgentRun['onMessage']>
    /** Names from `tools` in the configuration. */
    enabled: readonly string[]
    disabled: readonly string[]
  },
): ToolManager {
  const manager = readingTools(parts)
  const { onMessage } = parts
  manager.register(plannerTool(parts.planner, { onMessage }))
  manager.register(reviewTool(parts.review, { onMessage }))
  manager.addSource(parts.mcp)
  for (const name of parts.enabled) if (manager.has(name)) manager.enable(name)
  for (const name of parts.disabled) if (manager.has(name)) manager.disable(name)
  return manager
}
