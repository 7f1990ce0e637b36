import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createApprovals } from '../../src/session/approvals.ts'
import { createInbox } from '../../src/session/inbox.ts'
import { openStore } from '../../src/session/openStore.ts'
import { createFailures } from '../../src/session/scheduler/failures.ts'
import { listThreads } from '../../src/session/threadList.ts'
import { createThreadStore } from '../../src/session/threadStore.ts'
import { silentLog } from '../../src/shared/log.ts'
import { createRedactor } from '../../src/shared/redact.ts'
import { threadKey } from '../../src/shared/thread.ts'
import { threadLines } from '../../src/threadsCommand.ts'
import { incoming } from '../doubles/store/events.ts'
import { askFor } from './approvalAsks.ts'

/** A store in a file, held by a bot, with threads in every state; and a second look at it. */
async function threadsInEveryState() {
  const folder = mkdtempSync(join(tmpdir(), 'toycoder-threads-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const url = `sqlite:${join(folder, 'store.sqlite')}`
  const store = await openStore(url)
  const threads = createThreadStore(store)
  const refs = ['idle', 'working', 'waiting', 'parked'].map((id) => {
    return { platform: 'slack' as const, account: 'T1', id, channel: 'C1' }
  })
  for (const [at, ref] of refs.entries()) {
    await threads.ensureHead({
      v: 1,
      ref,
      title: `the ${ref.id} one\u001b[31m\nxoxb-very-secret-1234`,
      createdAt: at + 1,
    })
  }
  const key = (id: string) => threadKey(refs.find((ref) => ref.id === id)!)
  await createInbox({ store, wake: async () => {} }).deliver(key('working'), incoming('m1'))
  await createApprovals(store).ask(key('waiting'), askFor())
  await createFailures({ store, log: silentLog, now: () => 5, maxFailures: 1 }).failed(
    key('parked'),
    new Error('the model fell over'),
    { aborted: false },
  )
  const look = await openStore(url, { readOnly: true })
  onTestFinished(async () => {
    await look.close()
    await store.close()
  })
  return look
}

test('threads are listed beside the running bot, the newest first, each with what it does', async () => {
  const look = await threadsInEveryState()
  const listed = []
  for await (const { thread, state, parked } of listThreads(look))
    listed.push({ thread, state, ...(parked && { parked }) })
  expect(listed).toEqual([
    { thread: 'slack:T1:parked', state: 'parked', parked: { at: 5, error: 'the model fell over' } },
    { thread: 'slack:T1:waiting', state: 'waiting' },
    { thread: 'slack:T1:working', state: 'working' },
    { thread: 'slack:T1:idle', state: 'idle' },
  ])
})

test('a line of the list is one line, steers no terminal and holds no known secret', async () => {
  const look = await threadsInEveryState()
  const lines = []
  const redactor = createRedactor(['xoxb-very-secret-1234'])
  for await (const line of threadLines(look, { json: false, parkedOnly: true, redactor })) lines.push(line)
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(
    /^slack:T1:parked {2}parked {2}the parked one.*1970-01-01T00:00:00.005Z: the model fell over$/,
  )
  expect(lines[0]).not.toMatch(/[\u001b\n]|very-secret/)
})
