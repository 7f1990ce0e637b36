import { z } from 'zod'
import type { BaseClient } from '../client/baseClient.ts'
import type { PromptManager } from '../prompt/promptManager.ts'
import type { Tool } from '../tool/tool.ts'
import type { ToolManager } from '../tool/toolManager.ts'
import { aggregate, runParallel } from './parallel.ts'
import { SubAgent, type SubAgentRun } from './subAgent.ts'

/** The reviewers, each a role of `prompts/reviewers.yml`. */
const REVIEWERS = ['security', 'performance', 'style'] as const

const parameters = z.object({
  query: z.string().min(1).describe('What to review and why: paths of files, or what the diff is meant to do'),
  diff: z.string().optional().describe('The diff to review, if there is one'),
})

export interface ReviewParts {
  client: BaseClient
  promptManager: PromptManager
  /** The tools that reviewers may read with; calls that need a person's yes are denied to them. */
  toolManager: ToolManager
}

/** A code review by several reviewers at once, merged into one answer. */
export interface Review {
  /** Yields the pieces of the merged answer and returns it. Throws when no reviewer could answer. */
  stream(query: string, diff?: string, run?: SubAgentRun): AsyncGenerator<string, string>
}

export function createReview(parts: ReviewParts): Review {
  const reviewers = REVIEWERS.map(
    (key) => new SubAgent({ ...parts, name: key, promptName: 'reviewers', promptKey: key }),
  )
  return {
    async *stream(query, diff, run = {}) {
      const input = diff?.trim() ? `${query}\n\n<diff>\n${diff}\n</diff>` : query
      // Nobody sees the reviewers' own text, so a broken stream of theirs may start again.
      const findings = await runParallel(reviewers, input, undefined, { ...run, onRestart: () => {} })
      return yield* aggregate(parts, query, findings, run)
    },
  }
}

/** The review as a tool of the main agent. */
export function reviewTool(
  review: Review,
  options: Pick<SubAgentRun, 'onMessage'> = {},
): Tool<z.infer<typeof parameters>> {
  return {
    name: 'review',
    description:
      'Has a diff or files reviewed by three reviewers at once (security, performance, style) and returns one merged review.',
    permission: 'safe',
    parameters,
    async invoke({ query, diff }, context) {
      const { signal, callKey: callKeyPrefix } = context
      const run = { ...options, signal, surroundings: context, callKeyPrefix, onRestart: () => {} }
      const stream = review.stream(query, diff, run)
      while (true) {
        const { done, value } = await stream.next()
        if (done) return value
      }
    },
  }
}
