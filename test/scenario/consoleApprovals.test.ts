import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startLlmDouble } from '../doubles/llm/server.ts'
import { approvalScenarios } from './approvalSuite.ts'
import { consoleWorld } from './consoleWorld.ts'
import { makeHome, until } from './program.ts'

approvalScenarios('Console', consoleWorld)

test('SIGTERM ends a command that ignores it, within 10 seconds; the model is told after the restart, and nothing runs again', async () => {
  const command = 'echo $$ > pid; echo x >> count; trap "" TERM; sleep 60'
  const llm = await startLlmDouble({
    replies: [
      { toolCalls: [{ name: 'run_command', arguments: { command, timeout: 100 } }] },
      { text: 'It was cut short.' },
    ],
  })
  const world = await consoleWorld()
  const home = makeHome(llm.env)
  const file = (name: string) => join(home.folder, 'workspace', name)
  try {
    const settings = { sandbox: 'none', tools: { enabled: ['run_command'] } }
    writeFileSync(join(home.folder, 'toycoder.yml'), JSON.stringify(settings))
    let program = await home.start()
    await world.started(program.url)
    const thread = await world.begin('run it')
    await until('the card is there', async () => (await world.buttons(thread)).includes('Approve'))
    await world.press(thread, 'Approve')
    await until('the command runs', () => existsSync(file('count')))
    const begunAt = Date.now()
    expect(await program.stop()).toBe(0)
    expect(Date.now() - begunAt).toBeLessThan(10_000)
    const pid = readFileSync(file('pid'), 'utf8').trim()
    // A process that is dead but not yet taken note of by its parent is over, too.
    const runs = existsSync(`/proc/${pid}`) && !/\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    expect(runs).toBe(false)

    program = await home.start()
    await world.started(program.url)
    const texts = async () => (await world.seen(thread)).map(({ text }) => text).join('\n')
    await until('the answer is there', async () => (await texts()).includes('It was cut short.'))
    expect(String(llm.requests.at(-1)!.body.messages.at(-1)!.content)).toContain('stopped before it finished')
    expect(readFileSync(file('count'), 'utf8')).toBe('x\n')
  } finally {
    await home.remove()
    await llm.close()
  }
})
