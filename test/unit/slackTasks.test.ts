import { describe, expect, it } from 'vitest'
import { SLACK_TASK_LIMITS, taskBlock } from '../../src/render/slackTasks.ts'
import type { Task } from '../../src/shared/task.ts'
import { checkBlocks } from '../doubles/slack/blocks.ts'
import { blockText } from '../doubles/slack/threadText.ts'
import { textsIn } from '../doubles/slack/world.ts'

const task = (extra: Partial<Task> = {}): Task => ({
  id: 'c1.0',
  title: 'run_command npm test',
  state: 'done',
  ...extra,
})
const shown = (view: Parameters<typeof taskBlock>[0]) => {
  const block = { ...taskBlock(view) }
  checkBlocks([block])
  return block
}

describe('a call of a tool on Slack', () => {
  it('is a card with its state, and what it was given and gave as preformatted text', () => {
    expect(shown(task({ details: 'npm test\n--all', output: 'ok' }))).toEqual({
      type: 'task_card',
      task_id: 'c1.0',
      title: 'run_command npm test',
      status: 'complete',
      details: {
        type: 'rich_text',
        elements: [{ type: 'rich_text_preformatted', elements: [{ type: 'text', text: 'npm test\n--all' }] }],
      },
      output: {
        type: 'rich_text',
        elements: [{ type: 'rich_text_preformatted', elements: [{ type: 'text', text: 'ok' }] }],
      },
    })
    expect(shown(task({ state: 'running' }))).toMatchObject({ status: 'in_progress' })
    expect(shown(task({ state: 'failed' }))).toMatchObject({ status: 'error' })
  })

  it('has no part for what is empty', () => {
    expect(Object.keys(shown(task({ details: '', output: '' })))).toEqual(['type', 'task_id', 'title', 'status'])
    expect(shown(task({ title: '' }))).toMatchObject({ title: '…' })
  })

  it('stands beside others in a plan, each with its own state', () => {
    const tasks = [task(), task({ id: 'c1.1', title: 'read_file a.ts', state: 'failed', output: 'no such file' })]
    expect(blockText(shown({ title: '2 tool calls, 1 failed', tasks }))).toBe(
      '2 tool calls, 1 failed\n✓ run_command npm test\n✗ read_file a.ts\nno such file',
    )
  })

  it('fits into a message however long its texts are, and cuts between graphemes', () => {
    const long = '👩‍👩‍👧\n'.repeat(5_000)
    const tasks = Array.from({ length: 60 }, (_, n) =>
      task({ id: `c1.${n}`, title: long, details: long, output: long }),
    )
    shown(task({ title: long, details: long, output: long }))
    shown({ title: long, tasks: tasks.slice(0, 10) })
    const block = taskBlock({ title: 'many', tasks })
    expect(block).toMatchObject({ tasks: { length: SLACK_TASK_LIMITS.tasks } })
    const { output } = shown(task({ output: long })) as { output: object }
    const text = JSON.stringify(output)
    expect(text).toContain('…')
    expect(text).toMatch(/👩‍👩‍👧(\\n)?…/u)
  })

  it('can ping nobody by its title or what it gave', () => {
    const evil = '<!channel> <@U0BEN> <#C0DEV> <!subteam^S0OPS>'
    const block = shown({ title: evil, tasks: [task({ title: evil, details: evil, output: evil })] })
    expect(textsIn(block).join(' ')).not.toMatch(/<[!@#]/)
    expect(JSON.stringify(block)).not.toMatch(/<[!@#]/)
  })
})
