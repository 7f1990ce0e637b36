import { join } from 'node:path'
import { createAuditor } from './agent/auditor.ts'
import { createPlanner } from './agent/planner.ts'
import { createReview } from './agent/review.ts'
import type { Config } from './config.ts'
import { type ApproverParts, createApprover } from './conversation/approver.ts'
import { channelOf, type OpenThread } from './conversation/openThread.ts'
import type { ConversationParts } from './conversation/parts.ts'
import type { Audit, CountCall, Specialists, TurnParts } from './conversation/turnParts.ts'
import type { Models } from './models.ts'
import { PromptManager } from './prompt/promptManager.ts'
import { compactIfNeeded } from './session/compaction.ts'
import { overheadTokens } from './session/compactionTokens.ts'
import type { Store } from './session/store.ts'
import type { ToolSwitches } from './session/toolSwitches.ts'
import type { Log } from './shared/log.ts'
import type { Redactor } from './shared/redact.ts'
import type { Tool, ToolSource } from './tool/tool.ts'
import { readingTools, toolsFor } from './tools.ts'

export interface EngineParts {
  config: Config
  models: Models
  store: Store
  redactor: Redactor
  /** The tools of MCP servers. */
  mcp: ToolSource
  /** How the people of a thread are asked. */
  approverParts: ApproverParts & { switches: ToolSwitches }
  log: Log
}

/** What of a conversation thinks and acts: the model, its prompts and tools, specialists, auditors and the summariser. */
export type Engine = Pick<
  ConversationParts,
  'client' | 'specialists' | 'toolsOf' | 'compact' | 'auditors' | 'systemPrompt' | 'maxSteps' | 'workspace'
> & {
  /** A tool by name as this installation has it, whether it is on in a thread or not. */
  toolOf(name: string): Tool | undefined
}

export function createEngine({ config, models, store, redactor, mcp, approverParts, log }: EngineParts): Engine {
  const promptManager = new PromptManager({
    folder: join(import.meta.dirname, '..', 'prompts'),
    ...(config.promptsPath !== null && { overrides: config.promptsPath }),
  })
  const planner = createPlanner({ client: models.of('planner'), promptManager })
  const toolParts = { store, redactor }
  const reviewClient = models.of('reviewer')
  const review = createReview({ client: reviewClient, promptManager, toolManager: readingTools(toolParts) })

  const specialists: Specialists = {
    plan: { model: planner.client.model, stream: (task, talk, run) => planner.stream(task, talk, run) },
    review: {
      model: reviewClient.model,
      stream: (what, talk, run) => review.stream(withTalk(what, talk), undefined, run),
    },
  }

  const offered = { ...toolParts, planner, review, mcp, ...config.tools, commands: config.sandbox === 'none' }

  async function toolsOf(open: OpenThread, count: CountCall) {
    const approver = createApprover(open, approverParts)
    const switched = await approverParts.switches.of(open.key, channelOf(open.ref))
    return toolsFor({ ...offered, approver, switched, onMessage: countSubAgent(count) })
  }

  const compact: TurnParts['compact'] = (open, { overflow, signal, toolManager, systemPrompt, countCall }) =>
    compactIfNeeded({
      thread: open.thread,
      append: (record) => open.append(record),
      client: models.of('summarizer'),
      promptManager,
      budget: config.session,
      overheadTokens: overheadTokens(systemPrompt, toolManager.toOpenAISchema()),
      overflow,
      signal,
      log,
      now: open.now,
      onModelCall: ({ model, usage }) => countCall({ model, usage, purpose: 'summary' }),
    })

  const auditBy = (role: 'input_auditor' | 'output_auditor'): Audit => {
    return async (text, { signal, countCall }) => {
      const auditor = createAuditor({
        client: models.of('auditor'),
        promptManager,
        role,
        onModelCall: ({ model, usage }) => countCall({ model, usage, purpose: 'audit' }),
      })
      const { passed, by, reason } = await auditor.audit(text, { signal })
      if (!passed) log.warn({ auditor: role, by, reason }, 'a text did not pass')
      return passed
    }
  }

  return {
    client: models.of('default'),
    specialists,
    toolsOf,
    toolOf: (name) => toolsFor({ ...offered, switched: new Map(), onMessage: () => {} }).find(name),
    compact,
    auditors: {
      input: config.auditors.input ? auditBy('input_auditor') : null,
      output: config.auditors.output ? auditBy('output_auditor') : null,
    },
    systemPrompt: () => promptManager.getSystemPrompt('agents', 'coder'),
    maxSteps: config.agent.maxSteps,
    workspace: config.workspacePath,
  }
}

/** Reviewers see what they are asked and, set apart, the newest talk of the thread: a diff is often pasted before. */
function withTalk(what: string, talk: string | undefined): string {
  return talk ? `${what}\n\n<earlier_talk>\n${talk}\n</earlier_talk>` : what
}

/** Keeps what the model calls of sub-agents take. */
function countSubAgent(count: CountCall) {
  return async (_message: unknown, { model, usage }: { model?: string; usage?: Parameters<CountCall>[0]['usage'] }) => {
    if (model && usage) await count({ model, usage, purpose: 'subagent' })
  }
}
