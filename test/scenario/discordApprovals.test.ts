import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { startDiscordDouble } from '../doubles/discord/server.ts'
import { startLlmDouble } from '../doubles/llm/server.ts'
import { approvalScenarios } from './approvalSuite.ts'
import { discordWorld } from './discordWorld.ts'
import { makeHome, until } from './program.ts'

approvalScenarios('Discord', discordWorld)

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** A write that waits for its yes in a thread of Alice's. */
async function waitingWrite() {
  const double = await startDiscordDouble()
  const llm = await startLlmDouble({
    replies: [
      { toolCalls: [{ name: 'write_file', arguments: { path: 'note.txt', content: 'hello' } }] },
      { text: 'It is written.' },
    ],
  })
  const home = makeHome({
    ...double.env,
    ...llm.env,
  })
  closing.push(
    () => home.remove(),
    () => llm.close(),
    () => double.close(),
  )
  const program = await home.start()
  const thread = double.mention(double.aliceId, double.channelId, 'write a note').id
  const card = await until('the card is there', () =>
    double
      .messages(thread)
      .find(({ components }) => components.some((row) => row.components.some(({ label }) => label === 'Approve'))),
  )
  const state = () => double.world.channels.get(thread)!.thread_metadata!
  const isWritten = () => existsSync(join(home.folder, 'workspace/note.txt'))
  return { double, llm, program, thread, card, state, isWritten }
}

test('Discord: a thread that fell asleep while a call waited wakes up with the answer', async () => {
  const { double, thread, card, state, isWritten } = await waitingWrite()
  state().archived = true
  double.click(double.aliceId, thread, card.id, 'Approve')
  await until('the answer is there', () => double.text(thread).includes('It is written.'))
  expect(isWritten()).toBe(true)
  expect(state().archived).toBe(false)
})

test('Discord: a thread that was locked meanwhile: what was approved runs, the log says what could not be shown, the bot lives', async () => {
  const { double, llm, program, thread, card, state, isWritten } = await waitingWrite()
  Object.assign(state(), { archived: true, locked: true })
  double.click(double.aliceId, thread, card.id, 'Approve')
  await until('it is written', isWritten)
  await until('the model has the result', () => llm.requests.length === 2)
  await until('the log tells', () => /could not be shown/.test(program.stderr()))
  llm.reply({ text: 'Here I am.' })
  const other = double.mention(double.aliceId, double.channelId, 'are you there?').id
  await until(
    'another thread is answered',
    () => double.world.channels.has(other) && double.text(other).includes('Here I am.'),
  )
})

test('Discord: a thread that was deleted meanwhile harms nobody else', async () => {
  const { double, llm, thread } = await waitingWrite()
  double.removeThread(thread)
  llm.respond(() => ({ text: 'Here I am.' }))
  const other = double.mention(double.aliceId, double.channelId, 'are you there?').id
  await until(
    'another thread is answered',
    () => double.world.channels.has(other) && double.text(other).includes('Here I am.'),
  )
})
