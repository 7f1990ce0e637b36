import type { BaseClient } from '../client/baseClient.ts'
import type { PromptManager } from '../prompt/promptManager.ts'
import { isAbort, messageOf } from '../shared/errors.ts'
import { ToolManager } from '../tool/toolManager.ts'
import { streamReact } from './react.ts'
import type { SubAgent, SubAgentRun } from './subAgent.ts'

/** What one of several sub-agents came to. */
export type Finding = { name: string } & ({ answer: string } | { error: Error })

/**
 * Several sub-agents at once on one input; resolves to their answers or errors by name, in the order given. Rejects only
 * when the run is stopped, and at once when two share a name.
 */
export async function runParallel(
  agents: readonly SubAgent[],
  input: string,
  context?: string,
  run: SubAgentRun = {},
): Promise<Finding[]> {
  const names = new Set(agents.map(({ name }) => name))
  if (names.size !== agents.length) throw new Error('sub-agents that run in parallel need names of their own')
  const { callKeyPrefix } = run
  return Promise.all(
    agents.map(async (agent): Promise<Finding> => {
      const prefix = callKeyPrefix === undefined ? {} : { callKeyPrefix: `${callKeyPrefix}/${agent.name}` }
      try {
        return { name: agent.name, answer: await agent.run(input, context, { ...run, ...prefix }) }
      } catch (error) {
        if (run.signal?.aborted && isAbort(error)) throw error
        return { name: agent.name, error: error instanceof Error ? error : new Error(messageOf(error)) }
      }
    }),
  )
}

export interface Aggregator {
  client: BaseClient
  promptManager: PromptManager
  /** Default `agents`. */
  promptName?: string
  /** Default `aggregator`. Its prompt gets `input` and `findings`. */
  promptKey?: string
}

/**
 * Merges findings into one answer: yields its pieces, returns it. Errors are told to the aggregator, so that its answer says
 * what is missing. Throws when nobody found anything.
 */
export async function* aggregate(
  aggregator: Aggregator,
  input: string,
  findings: readonly Finding[],
  run: SubAgentRun = {},
): AsyncGenerator<string, string> {
  if (!findings.some((finding) => 'answer' in finding)) {
    const causes = findings.map((finding) => ('error' in finding ? finding.error : undefined))
    throw new AggregateError(causes, `none of them could answer: ${findings.map(problemOf).join('; ')}`)
  }
  const { client, promptManager, promptName = 'agents', promptKey = 'aggregator' } = aggregator
  const { surroundings, callKeyPrefix: _, ...rest } = run
  const variables = { input, findings: findings.map(section).join('\n\n') }
  return yield* streamReact({
    ...rest,
    client,
    messages: promptManager.render(promptName, promptKey, variables),
    toolManager: new ToolManager(),
    maxSteps: 1,
    ...(surroundings ? { context: surroundings } : {}),
  })
}

function problemOf(finding: Finding): string {
  return 'error' in finding ? `${finding.name}: ${messageOf(finding.error)}` : finding.name
}

function section(finding: Finding): string {
  const text = 'answer' in finding ? finding.answer.trim() || '(no answer)' : `(failed: ${messageOf(finding.error)})`
  return `<finding from="${finding.name}">\n${text}\n</finding>`
}
