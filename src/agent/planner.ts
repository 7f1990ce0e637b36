import type { BaseClient } from '../client/baseClient.ts'
import type { PromptManager } from '../prompt/promptManager.ts'
import { ToolManager } from '../tool/toolManager.ts'
import { SubAgent } from './subAgent.ts'
import { SubAgentTool, type SubAgentToolOptions } from './subAgentTool.ts'

const DESCRIPTION =
  'Makes a step-by-step plan for a larger task. It has no tools and sees nothing but what you send: put the task, the facts you found and the constraints into the query. Use it before work that takes more than a few steps.'

/** The planner: a sub-agent without tools that answers in one step. `client` may be another model than the main agent's. */
export function createPlanner(parts: { client: BaseClient; promptManager: PromptManager }): SubAgent {
  return new SubAgent({
    ...parts,
    name: 'planner',
    toolManager: new ToolManager(),
    promptName: 'agents',
    promptKey: 'planner',
    maxSteps: 1,
  })
}

export function plannerTool(planner: SubAgent, options: Pick<SubAgentToolOptions, 'onMessage'> = {}): SubAgentTool {
  return new SubAgentTool(planner, { ...options, name: 'planner', description: DESCRIPTION })
}
