import { writeFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type LlmDouble, startLlmDouble } from '../doubles/llm/server.ts'
import type { ApprovalWorld } from './approvalSuite.ts'
import { consoleWorld } from './consoleWorld.ts'
import { makeHome, type ProgramHome, until } from './program.ts'
import type { Handle } from './scenarioSuite.ts'

/** What the engine room does for a thread, seen from outside of the started program. */
describe('the engine room of the started program', () => {
  let world: ApprovalWorld
  let llm: LlmDouble
  let home: ProgramHome
  let stderr: () => string

  beforeEach(async () => {
    world = await consoleWorld()
    llm = await startLlmDouble()
    home = makeHome(llm.env)
  })

  afterEach(async () => {
    await home.remove()
    await llm.close()
  })

  /** Starts with these settings in toycoder.yml (JSON is YAML). */
  async function start(settings: object = {}): Promise<string> {
    const providers = {
      double: {
        api_keys: [llm.apiKey],
        base_url: llm.baseUrl,
        models: { default: 'test-model', auditor: 'judge', summarizer: 'writer' },
      },
    }
    writeFileSync(join(home.folder, 'toycoder.yml'), JSON.stringify({ providers, ...settings }))
    const program = await home.start()
    stderr = program.stderr
    await world.started(program.url)
    return program.stdout()
  }

  const texts = async (thread: Handle) => (await world.seen(thread)).map(({ text }) => text).join('\n---\n')
  const shows = (thread: Handle, text: string) =>
    until(`the thread shows "${text}"`, async () => (await texts(thread)).includes(text), {
      seen: () => `${stderr().slice(-3000)}\n${llm.problems().join('\n')}`,
    })
  const lastRequest = () => JSON.stringify(llm.requests.at(-1)!.body.messages)

  test('a thread that has grown too long is summarised before the next answer; the transcript has it all', async () => {
    await start({ session: { context_tokens: 3_000, keep_recent_tokens: 500 } })
    llm.respond(({ body, lastUser }) => {
      if (body.model === 'writer') return { text: 'They spoke about figs at length.' }
      // A server that counts nothing: what is sent is estimated.
      return { text: lastUser.includes('tell me') ? `Figs. ${'All about figs. '.repeat(800)}` : 'Short.', usage: null }
    })
    const thread = await world.begin('tell me of figs')
    await shows(thread, 'Figs. All about')
    await until('the first answer is final', async () => (await texts(thread)).includes('test-model ·'))
    await world.reply(thread, 'now what?')
    await shows(thread, 'Short.')
    expect(llm.requests.map(({ body }) => body.model)).toContain('writer')
    expect(lastRequest()).toContain('They spoke about figs at length.')
    expect(lastRequest()).not.toContain('All about figs. All about figs.')
    await world.mention(thread, 'share')
    await until('the transcript is there', async () => (await world.files(thread)).length > 0)
    const [name] = await world.files(thread)
    expect(await world.fileText(thread, name!)).toContain('All about figs. All about figs.')
  })

  test('a model server that finds the thread too long is asked once more with a compacted one', async () => {
    await start()
    let refusals = 0
    llm.respond(({ body, lastUser }) => {
      if (body.model === 'writer') return { text: 'A summary of what was said.' }
      const tooLong = JSON.stringify(body.messages).length > 6_000 + JSON.stringify(body.messages[0]).length
      if (tooLong && lastUser.includes('and now')) {
        refusals += 1
        const message = "This model's maximum context length is 4096 tokens."
        return {
          status: 400,
          error: { error: { message, type: 'invalid_request_error', code: 'context_length_exceeded' } },
        }
      }
      return { text: lastUser.includes('and now') ? 'It fits now.' : 'word '.repeat(1_500) }
    })
    const thread = await world.begin('say much')
    await until('the first answer is final', async () => (await texts(thread)).includes('test-model ·'))
    await world.reply(thread, 'and now?')
    await shows(thread, 'It fits now.')
    expect(refusals).toBe(1)
  })

  test('what the input auditor refuses never reaches the agent, and the thread says so', async () => {
    await start({ auditors: { input: true } })
    llm.respond(({ body, lastUser }) => {
      if (body.model !== 'judge') return { text: 'Gladly.' }
      return { text: JSON.stringify({ passed: !lastUser.includes('evil'), reason: 'because' }) }
    })
    const thread = await world.begin('do something evil')
    await shows(thread, "Sorry, I can't take this message")
    expect(llm.requests.map(({ body }) => body.model)).toEqual(['judge'])
    await world.reply(thread, 'do something good')
    await shows(thread, 'Gladly.')
    expect(lastRequest()).not.toContain('evil')
  })

  test('a verdict that can not be read is a refusal', async () => {
    await start({ auditors: { input: true } })
    llm.reply({ text: 'I think this is fine!' })
    const thread = await world.begin('hello')
    await shows(thread, "Sorry, I can't take this message")
  })

  test('a text that fails at the output is never shown, not even while it streams, and leaves the records', async () => {
    await start({ auditors: { output: true } })
    const seen: string[] = []
    llm.respond(async ({ body, lastUser }) => {
      if (body.model === 'judge') {
        seen.push(await texts(thread))
        return { text: JSON.stringify({ passed: !lastUser.includes('forbidden'), reason: 'because' }) }
      }
      if (lastUser.includes('again')) return { text: 'A harmless word.' }
      return { text: ['The forbidden ', 'word is ', 'xyzzy.'], delayMs: 30 }
    })
    const thread: Handle = await world.begin('say it')
    await shows(thread, "Sorry, I can't show my answer")
    await world.reply(thread, 'again, harmlessly')
    await shows(thread, 'A harmless word.')
    expect(seen.join('')).not.toContain('xyzzy')
    expect(await texts(thread)).not.toContain('xyzzy')
    expect(lastRequest()).not.toContain('xyzzy')
    await world.mention(thread, 'share')
    await until('the transcript is there', async () => (await world.files(thread)).length > 0)
    expect(await world.fileText(thread, (await world.files(thread))[0]!)).not.toContain('xyzzy')
  })

  test('the tools of an MCP server are offered and called, and one that is down is named at the start', async () => {
    const script = {
      tools: [{ name: 'weather', description: 'tells the weather', inputSchema: { type: 'object', properties: {} } }],
    }
    const report = await start({
      mcp_servers: {
        sky: {
          command: process.execPath,
          args: [join(import.meta.dirname, '../doubles/mcp/stdioServer.ts')],
          env: { MCP_DOUBLE: JSON.stringify(script) },
          permission: 'safe',
        },
        gone: { command: join(home.folder, 'no-such-server') },
      },
    })
    expect(report).toMatch(/sky, 1 tool/)
    expect(report).toMatch(/gone is down/)
    llm.reply({ toolCalls: [{ name: 'sky__weather', arguments: {} }] }, { text: 'It is as called.' })
    const thread = await world.begin('how is the weather?')
    await shows(thread, 'It is as called.')
    expect(await texts(thread)).toContain('called weather')
    expect(llm.problems()).toEqual([])
  })

  test("a tool of an MCP server asks first unless the configuration says otherwise; its server's word counts only where it does", async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } } }
    const tools = [
      { name: 'weather', description: 'tells the weather', inputSchema: schema },
      { name: 'look', description: 'only looks', inputSchema: schema, annotations: { readOnlyHint: true } },
    ]
    await start({
      mcp_servers: {
        sky: {
          command: process.execPath,
          args: [join(import.meta.dirname, '../doubles/mcp/stdioServer.ts')],
          env: { MCP_DOUBLE: JSON.stringify({ tools }) },
          read_only: 'safe',
        },
      },
    })
    const call = (name: string) => ({ toolCalls: [{ name: `sky__${name}`, arguments: { city: 'Kiel' } }] })
    llm.reply(call('look'), call('weather'), { text: 'It rains.' })
    const thread = await world.begin('how is the weather in Kiel?')
    await until('a card is there', async () => (await world.buttons(thread)).includes('Approve'))
    expect(await texts(thread)).toContain('called look')
    expect(await texts(thread)).toContain('"city": "Kiel"')
    expect(await texts(thread)).not.toContain('called weather')
    await world.press(thread, 'Approve')
    await shows(thread, 'It rains.')
    expect(await texts(thread)).toContain('called weather')
  })

  test('"usage" tells what the thread took, sub-agents included, and says where a cost is unknown', async () => {
    await start()
    const usage = { prompt_tokens: 1_000, completion_tokens: 20, total_tokens: 1_020 }
    llm.reply(
      { toolCalls: [{ name: 'planner', arguments: { query: 'plan it' } }], usage },
      { text: '1. Do it.', usage },
      { text: 'Planned.', usage },
    )
    const thread = await world.begin('make a plan for me')
    await shows(thread, 'Planned.')
    await world.mention(thread, 'usage')
    await shows(thread, '3.0k tokens in')
    expect(await texts(thread)).toMatch(/3 model calls .*60 out.*cost unknown/)
  })

  test("a folder of one's own overrides a role of the prompts, and a mistake in it is named at the start", async () => {
    await mkdir(join(home.folder, 'mine'))
    const prompt = { coder: { description: 'mine', system: 'You are Fig, a coder.' } }
    await writeFile(join(home.folder, 'mine/agents.yml'), JSON.stringify(prompt))
    await start({ prompts: './mine' })
    llm.reply({ text: 'I am Fig.' })
    const thread = await world.begin('who are you?')
    await shows(thread, 'I am Fig.')
    expect(llm.requests[0]!.system).toBe('You are Fig, a coder.')
  })
})
