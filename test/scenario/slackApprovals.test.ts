import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { startLlmDouble } from '../doubles/llm/server.ts'
import { type SlackDouble, startSlackDouble } from '../doubles/slack/slackDouble.ts'
import { approvalScenarios } from './approvalSuite.ts'
import { consoleWorld } from './consoleWorld.ts'
import { makeHome, until } from './program.ts'
import { slackWorld } from './slackWorld.ts'

approvalScenarios('Slack', slackWorld)

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** A write that waits for its yes in a thread of #dev. */
async function waitingWrite(content = 'hello') {
  const double = await startSlackDouble()
  const llm = await startLlmDouble({
    replies: [
      { toolCalls: [{ name: 'write_file', arguments: { path: 'note.txt', content } }] },
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
  const ts = double.mention('U0ANNA', 'C0DEV', 'write a note')
  const card = await until('the card is there', () => cardOf(double, ts))
  const isWritten = () => existsSync(join(home.folder, 'workspace/note.txt'))
  const written = () => readFileSync(join(home.folder, 'workspace/note.txt'), 'utf8')
  return { double, llm, program, ts, card, isWritten, written }
}

function cardOf(double: SlackDouble, ts: string) {
  return double.thread('C0DEV', ts).findLast(({ blocks }) => blocks?.some(({ type }) => type === 'actions'))
}

test('Slack: a click by a guest is refused privately and logged, and decides nothing (AP-01)', async () => {
  const { double, program, card, isWritten } = await waitingWrite()
  double.world.channels.get('C0DEV')!.members.add('U0GUEST')
  await double.click('U0GUEST', 'C0DEV', card.ts, 'Approve')
  await until('the guest is told', () => double.world.ephemerals.some(({ user }) => user === 'U0GUEST'))
  expect(program.stderr()).toContain('a click was refused')
  expect(isWritten()).toBe(false)
})

test('Slack: two people at once, the first one decides, and the other is told who was faster (AP-12)', async () => {
  const { double, ts, card, isWritten } = await waitingWrite()
  await Promise.all([
    double.click('U0ANNA', 'C0DEV', card.ts, 'Approve'),
    double.click('U0BEN', 'C0DEV', card.ts, 'Approve'),
  ])
  await until('it is written', isWritten)
  // Ben reads Chinese.
  const told = () => double.world.ephemerals.filter(({ text }) => /Somebody was faster|已有人先一步决定/.test(text))
  await until('one of them is told', () => told().length > 0)
  expect(told()).toHaveLength(1)
  await until('the card is settled', () => cardOf(double, ts) === undefined)
})

test('Slack: a card that somebody deleted is posted anew when people write, and its button works', async () => {
  const { double, ts, card, isWritten } = await waitingWrite()
  double.deleteMessage('C0DEV', card.ts)
  double.say('U0ANNA', 'C0DEV', 'where is it?', { threadTs: ts })
  const again = await until('the card is there again', () => cardOf(double, ts))
  await double.click('U0ANNA', 'C0DEV', again.ts, 'Approve')
  await until('it is written', isWritten)
})

test("Slack: what Slack's dialogs can't hold is edited at the console, and counts in the thread", async () => {
  const { double, llm, program, ts, card, isWritten, written } = await waitingWrite('a line\n'.repeat(600))
  expect(JSON.stringify(card.blocks)).not.toContain('Edit…')
  expect(JSON.stringify(card.blocks)).toContain('at the local console')
  const local = await consoleWorld()
  await local.started(program.url)
  const thread = await until('the console has it', async () => (await local.threads())[0])
  await until('it can be edited there', async () => (await local.buttons(thread)).includes('Edit…'))
  await local.press(thread, 'Edit…')
  await local.submit({ content: 'short' })
  await until('it is written', isWritten)
  expect(written()).toBe('short')
  await until('the thread says so', () => double.threadText('C0DEV', ts).includes('It is written.'))
  expect(llm.requests[1]!.body.messages.at(-1)!.content).toMatch(/changed the arguments before this ran/)
  await until('no card waits', async () => !cardOf(double, ts) && !(await local.buttons(thread)).includes('Edit…'))
})
