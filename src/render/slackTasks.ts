import type { PlanBlock, RichTextBlock, TaskCardBlock } from '@slack/types'
import type { Task, TaskGroup } from '../shared/task.ts'
import { cut } from './graphemes.ts'
import { apart } from './slack.ts'

/**
 * What we put into cards at most, in UTF-16 units. Slack documents 256 for titles, though only those of streams
 * (facts/slack.md A.2), and refuses messages whose blocks hold about 13,200 characters together (B.1).
 */
export const SLACK_TASK_LIMITS = { title: 250, text: 1_000, allTexts: 5_000, tasks: 50 } as const

export type SlackTaskBlock = TaskCardBlock | PlanBlock

const STATES = { running: 'in_progress', done: 'complete', failed: 'error' } as const

/**
 * Calls of tools as Slack's own cards: one as a `task_card`, several as a `plan`. Details and output are preformatted rich
 * text, in which Slack looks for neither markup nor mentions; titles are taken apart, to be safe.
 */
export function taskBlock(task: Task | TaskGroup): SlackTaskBlock {
  if (!('tasks' in task)) return card(task, SLACK_TASK_LIMITS.text)
  const tasks = task.tasks.slice(0, SLACK_TASK_LIMITS.tasks)
  const texts = tasks.flatMap(({ details, output }) => [details, output]).filter(Boolean).length
  const each = Math.min(SLACK_TASK_LIMITS.text, Math.floor(SLACK_TASK_LIMITS.allTexts / Math.max(1, texts)))
  return { type: 'plan', title: titleOf(task.title), tasks: tasks.map((one) => card(one, each)) }
}

function card({ id, title, state, details, output }: Task, longest: number): TaskCardBlock {
  return {
    type: 'task_card',
    task_id: id,
    title: titleOf(title),
    status: STATES[state],
    ...(details && { details: preformatted(details, longest) }),
    ...(output && { output: preformatted(output, longest) }),
  }
}

function titleOf(title: string): string {
  return cut(apart(title), SLACK_TASK_LIMITS.title) || '…'
}

function preformatted(text: string, longest: number): RichTextBlock {
  const elements = [{ type: 'text' as const, text: cut(apart(text), longest) }]
  return { type: 'rich_text', elements: [{ type: 'rich_text_preformatted', elements }] }
}
