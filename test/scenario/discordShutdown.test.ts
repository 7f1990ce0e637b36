import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createGate } from '../doubles/llm/server.ts'
import { useDiscordBot } from './discordBot.ts'
import { until } from './program.ts'

describe('case SD-01 on Discord: SIGTERM', () => {
  const bot = useDiscordBot()
  const { shows } = bot
  const mention = (text: string) => bot.discord.mention(bot.discord.aliceId, bot.discord.channelId, text).id
  const file = (name: string) => join(bot.home.folder, 'workspace', name)

  async function press(id: string, label: string) {
    const card = await until(`the card offers ${label}`, () =>
      bot.discord
        .botMessages(id)
        .find(({ components }) => components.some((row) => row.components.some((button) => button.label === label))),
    )
    bot.discord.click(bot.discord.aliceId, id, card.id, label)
  }

  async function endsInTime() {
    const began = Date.now()
    expect(await bot.program.stop()).toBe(0)
    expect(Date.now() - began).toBeLessThan(10_000)
  }

  test('while text streams: the message says that it was interrupted, and is completed after the start', async () => {
    const gate = createGate()
    bot.llm.reply({ text: ['Half of it ', 'is here.'], gate })
    const id = mention('tell me')
    gate.release(1)
    await shows(id, 'Half of it')
    await endsInTime()
    expect(bot.discord.text(id)).toContain('Interrupted: the program is restarting.')
    gate.open()
    bot.llm.reply({ text: 'All of it is here.' })
    bot.program = await bot.home.start()
    await shows(id, 'All of it is here.')
    await shows(id, 'test-model')
    expect(bot.discord.botMessages(id)).toHaveLength(1)
  }, 40_000)

  test('while a command runs: its processes end, and after the start the model is told how far it came', async () => {
    await endsInTime()
    writeFileSync(join(bot.home.folder, 'toycoder.yml'), 'sandbox: none\ntools: { enabled: [run_command] }\n')
    bot.program = await bot.home.start()
    const command = 'echo $$ > pid; sleep 60 & echo $! > child; wait'
    bot.llm.reply({ toolCalls: [{ name: 'run_command', arguments: { command } }] }, { text: 'I went on.' })
    const id = mention('run it')
    await press(id, 'Approve')
    await until('the command runs', () => existsSync(file('child')) && readFileSync(file('child'), 'utf8') !== '')
    const pids = ['pid', 'child'].map((name) => Number(readFileSync(file(name), 'utf8')))
    await endsInTime()
    expect(pids.filter(isAlive)).toEqual([])
    bot.program = await bot.home.start()
    await shows(id, 'I went on.')
    expect(bot.discord.text(id)).toContain('the command was stopped before it finished')
    expect(JSON.stringify(bot.llm.requests.at(-1)!.body.messages)).toContain('was stopped before it finished')
    expect(bot.llm.problems()).toEqual([])
  }, 60_000)

  test('while a card waits: it is left as it is, and its button works after the start', async () => {
    bot.llm.reply(
      { toolCalls: [{ name: 'write_file', arguments: { path: 'note.txt', content: 'x\n' } }] },
      { text: 'Written.' },
    )
    const id = mention('write a note')
    await shows(id, 'note.txt')
    await endsInTime()
    bot.program = await bot.home.start()
    await press(id, 'Approve')
    await shows(id, 'Written.')
    expect(readFileSync(file('note.txt'), 'utf8')).toBe('x\n')
  }, 40_000)

  test('twice: the second one ends it at once, and nothing is lost', async () => {
    const gate = createGate()
    bot.llm.reply({ text: ['Half of it ', 'is here.'], gate })
    const id = mention('tell me')
    gate.release(1)
    await shows(id, 'Half of it')
    const began = Date.now()
    process.kill(bot.program.pid, 'SIGTERM')
    await new Promise((resolve) => setTimeout(resolve, 300))
    process.kill(bot.program.pid, 'SIGTERM')
    await bot.program.exited
    expect(Date.now() - began).toBeLessThan(3_000)
    gate.open()
    bot.llm.reply({ text: 'All of it is here.' })
    bot.program = await bot.home.start()
    await shows(id, 'All of it is here.')
    await shows(id, 'test-model')
    expect(bot.discord.botMessages(id)).toHaveLength(1)
  }, 40_000)
})

/** A process that has ended but that nobody has asked about (a zombie) is not alive. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
