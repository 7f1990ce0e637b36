import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { MessageBody } from '../../src/platform/platform.ts'
import type { Task, TaskGroup } from '../../src/shared/task.ts'
import type { MessageRef, ThreadRef } from '../../src/shared/thread.ts'
import type { Fields } from '../doubles/slack/world.ts'
import { conversation, kindOf } from './platformSuite.ts'
import { recordingLog, type SlackHarness, startSlack } from './slackHarness.ts'

const task = (extra: Partial<Task> = {}): Task => ({
  id: 'c1.0',
  title: 'run_command npm test',
  state: 'done',
  ...extra,
})
const activity = (view: Task | TaskGroup = task({ output: 'all green' })): MessageBody => ({
  markdown: '`run_command` `npm test`\n```\nall green\n```',
  kind: 'activity',
  task: view,
})

describe('calls of tools on Slack', () => {
  let slack: SlackHarness
  let thread: ThreadRef
  let log: ReturnType<typeof recordingLog>
  let keys = 0
  beforeEach(async () => {
    log = recordingLog()
    slack = await startSlack('socket', { log, callTimeoutMs: 400 })
    thread = await conversation(slack)
  })
  afterEach(() => slack.close())

  const post = (body = activity(), key = `k${keys++}`) => slack.platform.post(thread, body, { key })
  const edit = (ref: MessageRef, body = activity()) => slack.platform.edit(thread, ref, body)
  const message = (ref: MessageRef) =>
    slack.double.thread(thread.channel, thread.thread!).find(({ ts }) => ts === ref.id)!
  const kinds = (ref: MessageRef) => message(ref).blocks?.map(({ type }: Fields) => type)
  const notes = () => log.lines.filter(({ message }) => message.includes('task cards'))

  test('are cards that are edited from running to the result, with the text for notifications', async () => {
    const ref = await post(activity(task({ state: 'running' })))
    expect(message(ref).blocks).toEqual([
      { type: 'task_card', task_id: 'c1.0', title: 'run_command npm test', status: 'in_progress' },
    ])
    await edit(ref)
    expect(message(ref).text).toBe('run_command npm test\nall green')
    expect(slack.double.threadText(thread.channel, thread.thread!)).toContain('✓ run_command npm test\nall green')
    expect(notes()).toEqual([])
  })

  test('that share a message are a plan, also where it began with one of them', async () => {
    const ref = await post(activity(task({ state: 'running' })))
    await edit(
      ref,
      activity({ title: '1 of 2 tool calls done', tasks: [task(), task({ id: 'c1.1', state: 'running' })] }),
    )
    expect(kinds(ref)).toEqual(['plan'])
  })

  test('leave other messages as they are', async () => {
    const { task: _, ...plain } = activity()
    expect(kinds(await post(plain))).toEqual(['markdown'])
    expect(kinds(await post({ ...plain, kind: 'answer', footer: 'test-model' }))).toEqual(['markdown', 'context'])
  })

  test.each(['invalid_blocks', 'invalid_blocks_format'])(
    'are text from the first %s on, in this message and in all others, and the log says so once',
    async (code) => {
      const early = await post()
      slack.double.fail('chat.postMessage', { kind: 'error', code })
      const refused = await post()
      expect(kinds(refused)).toEqual(['markdown'])
      const calls = () => slack.double.calls().filter(({ method }) => method.startsWith('chat.')).length
      const before = calls()
      await edit(refused)
      await edit(early)
      expect(kinds(await post())).toEqual(['markdown'])
      expect(kinds(early)).toEqual(['markdown'])
      expect(calls()).toBe(before + 3)
      expect(notes()).toHaveLength(1)
    },
  )

  test('are text in a workspace that takes no such blocks, at one call too many in all', async () => {
    slack.double.world.refusedBlocks.add('task_card').add('plan')
    const ref = await post(activity(task({ state: 'running' })))
    await edit(ref)
    await post()
    expect(slack.double.threadText(thread.channel, thread.thread!).match(/all green/g)).toHaveLength(2)
    expect(slack.double.calls('chat.postMessage')).toHaveLength(3)
    expect(slack.double.calls('chat.update')).toHaveLength(1)
  })

  test('are text where an edit is refused as well, and posted once all the same', async () => {
    const ref = await post(activity(task({ state: 'running' })))
    slack.double.fail('chat.update', { kind: 'error', code: 'invalid_blocks' })
    await edit(ref)
    expect(kinds(ref)).toEqual(['markdown'])
    expect(slack.double.thread(thread.channel, thread.thread!)).toHaveLength(2)
  })

  test('after a mismatch are text in that message alone', async () => {
    const ref = await post(activity(task({ state: 'running' })))
    slack.double.fail('chat.update', { kind: 'error', code: 'block_mismatch' })
    await edit(ref)
    await edit(ref, activity(task({ output: 'once more' })))
    expect(kinds(ref)).toEqual(['markdown'])
    expect(slack.double.calls('chat.update')).toHaveLength(3)
    expect(kinds(await post())).toEqual(['task_card'])
    expect(notes()).toEqual([])
  })

  test('whose message takes neither cards nor text are for the caller to post anew', async () => {
    const ref = await post(activity(task({ state: 'running' })))
    slack.double.fail('chat.update', { kind: 'error', code: 'block_mismatch' }, 2)
    expect(await kindOf(edit(ref))).toBe('notEditable')
    expect(kinds(await post())).toEqual(['task_card'])
  })

  test('that are too long as cards are text in that message alone', async () => {
    slack.double.fail('chat.postMessage', { kind: 'error', code: 'msg_blocks_too_long' })
    expect(kinds(await post())).toEqual(['markdown'])
    const tooLong = { response_metadata: { messages: ['[ERROR] must be less than 257 characters'] } }
    slack.double.fail('chat.postMessage', { kind: 'error', code: 'invalid_blocks', extra: tooLong })
    expect(kinds(await post())).toEqual(['markdown'])
    expect(kinds(await post())).toEqual(['task_card'])
  })

  test('stay cards where Slack refuses a message for something else than its cards', async () => {
    slack.double.fail('chat.postMessage', { kind: 'error', code: 'invalid_blocks' }, 2)
    expect(await kindOf(post())).toBe('invalid')
    slack.double.fail('chat.postMessage', { kind: 'rateLimited', retryAfter: 2 })
    expect(await kindOf(post())).toBe('rateLimited')
    expect(kinds(await post())).toEqual(['task_card'])
  })

  test('whose post failed after it took effect stand once', async () => {
    slack.double.fail('chat.postMessage', { kind: 'http', status: 500, afterEffect: true })
    const ref = await post(activity(), 'once')
    expect(await slack.platform.post(thread, activity(), { key: 'once', inDoubt: true })).toEqual(ref)
    expect(slack.double.thread(thread.channel, thread.thread!)).toHaveLength(2)
  })

  test('ping nobody, whatever they are called and give', async () => {
    const evil = '<!channel> <@U0BEN> @here'
    await post({ ...activity(task({ title: evil, details: evil, output: evil })), markdown: evil })
    expect(await slack.hooks.pings(thread)).toEqual([])
    expect(JSON.stringify(slack.double.calls('chat.postMessage')[0]!.args)).not.toMatch(/<[!@]/)
  })
})
