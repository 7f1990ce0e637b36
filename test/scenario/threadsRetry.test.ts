import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LOCAL, threadRefOf } from '../../src/platform/console/consoleNames.ts'
import { createInbox } from '../../src/session/inbox.ts'
import { openStore } from '../../src/session/openStore.ts'
import { createFailures } from '../../src/session/scheduler/failures.ts'
import { silentLog } from '../../src/shared/log.ts'
import { threadKey } from '../../src/shared/thread.ts'
import { incoming } from '../doubles/store/events.ts'
import { consoleWorld } from './consoleWorld.ts'
import { makeHome, type ProgramHome, until } from './program.ts'

let home: ProgramHome
const store = () => join(home.folder, 'data/toycoder.sqlite')

beforeEach(() => {
  home = makeHome()
})
afterEach(() => home.remove())

/** A console thread that is parked with a question in its inbox, in the store of a bot that has ended. */
async function parkedThread() {
  const world = await consoleWorld()
  const program = await home.start()
  await world.started(program.url)
  const id = String(await world.begin('hello'))
  const answers = async () =>
    (await world.seen(id)).filter(({ isBot, text }) => isBot && text.includes('demo model')).length
  await until('the first answer', async () => (await answers()) === 1)
  await program.stop()

  const threadRef = threadRefOf(id)
  const key = threadKey(threadRef)
  const held = await openStore(`sqlite:${store()}`)
  const author = { id: LOCAL, name: 'You', isBot: false, isExternal: false }
  const more = { thread: threadRef, ref: { channel: id, id: 'm9' }, author, text: 'hello', at: Date.now() }
  await createInbox({ store: held, wake: async () => {} }).deliver(key, incoming('m9', [], more))
  await createFailures({ store: held, log: silentLog, maxFailures: 1 }).failed(key, new Error('the model fell over'), {
    aborted: false,
  })
  await held.close()
  return { key, world, answers }
}

const command = (...words: string[]) => home.startAndEnd({}, ['threads', ...words])

test('a parked thread is freed through the running bot, by its socket that only its owner may open, and its question is answered', async () => {
  const { key, world, answers } = await parkedThread()
  const program = await home.start()
  await world.started(program.url)
  expect(statSync(`${store()}.sock`).mode & 0o777).toBe(0o600)
  expect((await command('--parked')).stdout).toContain(key)
  expect(await answers()).toBe(1)

  expect(await command('--retry', key)).toMatchObject({ code: 0, stdout: expect.stringContaining(`${key} is free`) })
  await until('the second answer', async () => (await answers()) === 2)
  expect((await command('--parked')).stdout).toBe('')
  expect(await command('--retry', key)).toMatchObject({ code: 1, stderr: expect.stringContaining('is not parked') })
  expect(await program.stop()).toBe(0)
  expect(existsSync(`${store()}.sock`)).toBe(false)
})

test('where no bot runs, also after one was killed, a parked thread is freed in the store, and the next start answers', async () => {
  const { key, world, answers } = await parkedThread()
  await (await home.start()).kill()
  expect(existsSync(`${store()}.sock`)).toBe(true)

  expect(await command('--retry', key)).toMatchObject({ code: 0, stdout: expect.stringContaining(`${key} is free`) })
  expect((await command('--parked')).stdout).toBe('')
  const program = await home.start()
  await world.started(program.url)
  await until('the second answer', async () => (await answers()) === 2)
  expect(statSync(`${store()}.sock`).mode & 0o777).toBe(0o600)
})

test('a thread that nobody knows is not parked, and a retry without a thread is not understood', async () => {
  expect(await command('--retry', 'console:local:nowhere')).toMatchObject({ code: 1, stdout: '' })
  expect(await command('--retry')).toMatchObject({ code: 2, stderr: expect.stringContaining('Usage') })
})
