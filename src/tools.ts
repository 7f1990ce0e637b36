import { plannerTool } from './agent/planner.ts'
import { type Review, reviewTool } from './agent/review.ts'
import type { SubAgent, SubAgentRun } from './agent/subAgent.ts'
import { createResultKeeper } from './session/resultStore.ts'
import type { Store } from './session/store.ts'
import type { Redactor } from './shared/redact.ts'
import type { Approver } from './tool/approver.ts'
import { askUserTool } from './tool/builtin/askUser.ts'
import { editFileTool } from './tool/builtin/editFile.ts'
import { listDirectoryTool } from './tool/builtin/listDirectory.ts'
import { readFileTool } from './tool/builtin/readFile.ts'
import { runCommandTool } from './tool/builtin/runCommand.ts'
import { globSearchTool, grepSearchTool } from './tool/builtin/search.ts'
import { writeFileTool } from './tool/builtin/writeFile.ts'
import { readResultTool } from './tool/resultKeeper.ts'
import type { ToolSource } from './tool/tool.ts'
import { ToolManager } from './tool/toolManager.ts'

interface ToolParts {
  store: Store
  redactor: Redactor
}

/** What reads and nothing else: the tools of reviewers, and the ground of everybody's. */
export function readingTools({ store, redactor }: ToolParts, approver?: Approver): ToolManager {
  const keeper = createResultKeeper(store)
  const manager = new ToolManager({ keeper, mask: redactor.text, ...(approver && { approver }) })
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
    /** Whether commands may run: there is no sandbox yet, so only where the configuration says that they need none. */
    commands: boolean
    /** What people switched in the thread and its channel. */
    switched: ReadonlyMap<string, boolean>
    /** Asks the people of the thread; without one, what needs a yes is denied. */
    approver?: Approver
  },
): ToolManager {
  const manager = readingTools(parts, parts.approver)
  const { onMessage } = parts
  manager.register(plannerTool(parts.planner, { onMessage }))
  manager.register(reviewTool(parts.review, { onMessage }))
  manager.addSource(parts.mcp)
  manager.register(writeFileTool)
  manager.register(editFileTool)
  manager.register(askUserTool)
  if (parts.commands) manager.register(runCommandTool)
  for (const name of parts.enabled) if (manager.has(name)) manager.enable(name)
  for (const name of parts.disabled) if (manager.has(name)) manager.disable(name)
  // What the configuration switches off stays off: a thread can't reach beyond the installation.
  for (const [name, on] of parts.switched) {
    if (manager.has(name) && !parts.disabled.includes(name)) on ? manager.enable(name) : manager.disable(name)
  }
  return manager
}
