import { z } from 'zod'
import type { AssistantMessage, ToolMessage } from '../shared/message.ts'
import type { PermissionLevel, PermissionPolicy } from '../tool/permission.ts'
import type { Tool, ToolContext } from '../tool/tool.ts'
import type { MessageMeta } from './reactOptions.ts'
import type { SubAgent } from './subAgent.ts'

const parameters = z.object({
  query: z.string().min(1).describe('The task, with everything needed to understand it: the conversation is not seen'),
  context: z.string().optional().describe('Background that helps with the task'),
})

export type SubAgentQuery = z.infer<typeof parameters>

export interface SubAgentToolOptions {
  /** Default: the sub-agent's name. */
  name?: string
  /** Default: the description in the sub-agent's prompt file. */
  description?: string
  /** Default `safe`: a sub-agent can do nothing by itself that would need a person's yes. */
  permission?: PermissionLevel | PermissionPolicy<SubAgentQuery>
  /** Hears each message of the sub-agent's runs, for counting what they cost. Awaited. */
  onMessage?: (message: AssistantMessage | ToolMessage, meta: MessageMeta, context: ToolContext) => Promise<void> | void
}

/** A sub-agent as a tool: the main agent calls it like any other, and loops nest. */
export class SubAgentTool implements Tool<SubAgentQuery> {
  readonly name: string
  readonly description: string
  readonly permission: PermissionLevel | PermissionPolicy<SubAgentQuery>
  readonly parameters = parameters
  readonly #agent: SubAgent
  readonly #onMessage: SubAgentToolOptions['onMessage']

  constructor(agent: SubAgent, options: SubAgentToolOptions = {}) {
    this.#agent = agent
    this.name = options.name ?? agent.name
    this.description = options.description ?? agent.description
    this.permission = options.permission ?? 'safe'
    this.#onMessage = options.onMessage
  }

  async invoke({ query, context: background }: SubAgentQuery, context: ToolContext): Promise<string> {
    return this.#agent.run(query, background, {
      signal: context.signal,
      surroundings: context,
      callKeyPrefix: context.callKey,
      onMessage: (message, meta) => this.#onMessage?.(message, meta, context),
    })
  }
}
