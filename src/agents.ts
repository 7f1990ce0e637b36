import { SubAgent } from './agent/subAgent.ts'
import type { BaseClient } from './client/baseClient.ts'
import type { PromptManager } from './prompt/promptManager.ts'
import { ToolManager } from './tool/toolManager.ts'

/** The first sub-agent: no tools, one step. `/plan` asks it directly, the main agent by its tool. */
export function plannerFor(client: BaseClient, promptManager: PromptManager): SubAgent {
  return new SubAgent({
    name: 'planner',
    client,
    toolManager: new ToolManager(),
    promptManager,
    promptName: 'agents',
    promptKey: 'planner',
    maxSteps: 1,
  })
}
