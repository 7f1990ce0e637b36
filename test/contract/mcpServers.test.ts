import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { OpenAIClient } from '../../src/client/openAIClient.ts'
import { silentLog } from '../../src/shared/log.ts'
import type { McpServerSettings } from '../../src/tool/mcpSettings.ts'
import { loadMcpTools } from '../../src/tool/mcpTools.ts'
import { startLlmDouble } from '../doubles/llm/server.ts'
import { command, scripted, tool } from '../doubles/mcp/script.ts'
import { reportedIn } from '../reported.ts'
import { diary, isRunning, load, offered, until } from './mcpHarness.ts'

const CASES = join(import.meta.dirname, '../../../shared/cases/mcp')
const reported = reportedIn(CASES)

function caseFile(name: string) {
  return JSON.parse(readFileSync(join(CASES, name), 'utf8'))
}

describe('starting MCP servers', () => {
  reported(
    'goes on without those that die, are mute, missing or noisy, each marked down with one line (MC-01)',
    async () => {
      const { mcpServers } = caseFile('servers_bad.json') as {
        mcpServers: Record<string, { command: string; args?: string[] }>
      }
      const bad = Object.entries(mcpServers).map(([name, one]) => [name, command(one.command, one.args)] as const)
      const startedAt = performance.now()
      const loaded = await load(
        { ...Object.fromEntries(bad), good: scripted({ tools: [tool('work')], noise: true }) },
        { times: { startMs: 1_000, retryMs: 50, graceMs: 200 } },
      )
      expect(performance.now() - startedAt).toBeLessThan(5_000)
      // On a busy machine a server may come too late to be waited for.
      await until(() => offered(loaded).length > 0)
      expect(offered(loaded)).toEqual(['good__work'])
      expect((await loaded.call('good__work')).text).toBe('called work')
      const down = loaded.mcp.status().filter(({ up }) => !up)
      expect(down.map(({ server }) => server)).toEqual(['dies', 'mute', 'missing', 'noisy'])
      expect(down[0]!.reason).toContain('exit code 1')
      expect(down[2]!.reason).toContain('"no-such-binary-xyz" or its working folder was not found')
      // "dies" and "missing" have been tried again many times by now.
      for (const { server } of down) expect(loaded.warnings.filter((line) => line.startsWith(server))).toHaveLength(1)
      expect((await loaded.call('mute__x')).text).toContain('"mute" is down')
    },
  )

  it('names the last words of a server that ends', async () => {
    const mask = (text: string) => text.replace('sk-123', '***')
    const sad = command('sh', ['-c', 'echo no licence for sk-123 >&2; exit 4'])
    const { mcp, warnings } = await load({ sad }, { mask })
    expect(mcp.status()[0]!.reason).toContain('exit code 4; its last words: no licence for ***')
    expect(warnings.join()).not.toContain('sk-123')
  })

  it('offers the tools of a server that comes too late, without being asked', async () => {
    const late = `sleep 0.6; exec "${process.execPath}" "${join(import.meta.dirname, '../doubles/mcp/stdioServer.ts')}"`
    const env = { MCP_DOUBLE: JSON.stringify({ tools: [tool('work')] }) }
    const loaded = await load({ late: command('sh', ['-c', late], { env }) }, { times: { startMs: 100 } })
    expect(offered(loaded)).toEqual([])
    await until(() => offered(loaded).length === 1)
    expect(loaded.mcp.status()).toEqual([{ server: 'late', up: true, tools: 1 }])
  })

  it('takes no time and loads nothing where none is configured', async () => {
    const mcp = await loadMcpTools({ servers: {}, log: silentLog })
    expect(mcp.tools()).toEqual([])
    await mcp.close()
  })
})

describe('what MCP servers offer', () => {
  reported('is taken by a server as strict as OpenAI, bad schemas and names included (MC-04, MC-08)', async () => {
    const schemas = caseFile('bad_schemas.json') as { name: string; inputSchema: object }[]
    const { tools: names } = caseFile('tool_names.json') as { tools: string[] }
    const odd = names.map((name) => tool(name, { description: 'd'.repeat(3_000) }))
    const loaded = await load({ odd: scripted({ tools: odd, pageSize: 2 }), bad: scripted({ tools: schemas }) })
    const tools = loaded.manager.toOpenAISchema()
    const llm = await startLlmDouble({ replies: [{ text: 'fine' }] })
    onTestFinished(() => llm.close())
    const client = new OpenAIClient({ apiKeys: ['sk-test'], baseUrl: llm.baseUrl, model: 'test-model' })
    expect((await client.chat([{ role: 'user', content: 'Go.' }], { tools })).content).toBe('fine')
    expect(llm.problems()).toEqual([])
    expect(tools).toHaveLength(names.length + schemas.length - 2)
    const leftOut = loaded.warnings.filter((line) => line.startsWith('bad'))
    expect(leftOut).toHaveLength(1)
    expect(leftOut[0]).toMatch(/root_string.*prop_not_schema/)
    expect((await loaded.call('bad__sound', { q: 'x' })).text).toBe('called sound')
    expect(await loaded.call('bad__sound', { q: 1 })).toMatchObject({ failed: true })
  })

  reported('is called by its own name, and never shadows a built-in tool (MC-04)', async () => {
    const { tools: names } = caseFile('tool_names.json') as { tools: string[] }
    const notes = diary()
    const loaded = await load({ docs: scripted({ tools: names.map((name) => tool(name)), diary: notes.path }) })
    for (const name of offered(loaded)) await loaded.call(name)
    const called = notes
      .lines()
      .filter((line) => line.startsWith('call '))
      .map((line) => JSON.parse(line.slice(5)).name)
    expect(called.toSorted()).toEqual(names.toSorted())
    expect(offered(loaded)).not.toContain('read_file')
  })

  it('needs a yes, unless the configuration says otherwise for the server, the tool, or what calls itself read-only', async () => {
    const tools = [tool('look', { annotations: { readOnlyHint: true } }), tool('list'), tool('wipe')]
    const levels = async (settings: Partial<McpServerSettings>) => {
      const { manager } = await load({ s: scripted({ tools }, settings) })
      return Object.fromEntries(manager.listTools().map(({ name, permission }) => [name.slice(3), permission]))
    }
    expect(await levels({ permission: 'sensitive' })).toEqual({
      look: 'sensitive',
      list: 'sensitive',
      wipe: 'sensitive',
    })
    expect(
      await levels({ permission: 'sensitive', readOnly: 'safe', tools: { list: 'safe', wipe: 'dangerous' } }),
    ).toEqual({ look: 'safe', list: 'safe', wipe: 'dangerous' })
    expect(await levels({ permission: 'safe', readOnly: 'safe', tools: { look: 'sensitive' } })).toMatchObject({
      look: 'sensitive',
    })
  })

  it('follows the server when its list changes', async () => {
    const loaded = await load({ s: scripted({ tools: [tool('grow')], calls: { grow: { does: 'addTool' } } }) })
    expect(offered(loaded)).toEqual(['s__grow'])
    expect((await loaded.call('s__grow')).text).toBe('(no output)')
    await until(() => offered(loaded).includes('s__added'))
    expect((await loaded.call('s__added')).text).toBe('called added')
    expect((await loaded.call('s__gone')).text).toContain('does not offer the tool "s__gone"')
  })

  it('is cut at what a model API takes, with a warning', async () => {
    const tools = Array.from({ length: 130 }, (_, at) => tool(`t${at}`))
    const loaded = await load({ many: scripted({ tools }) })
    expect(offered(loaded)).toHaveLength(100)
    expect(loaded.warnings.join()).toContain('too many MCP tools')
  })
})

describe('calling tools of MCP servers', () => {
  reported('marks errors and keeps their details, and the loop goes on (MC-07)', async () => {
    const [withText, structured, protocol] = caseFile('result_is_error.json')
    const calls = {
      a: { result: withText },
      b: { result: structured },
      c: { error: { ...protocol.jsonrpc_error, data: { at: 'x' } } },
    }
    const { call } = await load({ s: scripted({ tools: [tool('a'), tool('b'), tool('c')], calls }) })
    expect(await call('s__a')).toEqual({ kind: 'observation', failed: true, text: 'Error: quota used up' })
    expect(await call('s__b')).toMatchObject({ failed: true, text: 'Error: {"reason":"busy","wait_s":12}' })
    expect(await call('s__c')).toMatchObject({
      failed: true,
      text: 'Error: MCP server "s": the server refused the call: bad params (code -32602)\n{"at":"x"}',
    })
  })

  reported('keeps an image for read_result and says so (MC-05)', async () => {
    const [image] = caseFile('result_image_only.json')
    const kept: string[] = []
    const keeper = { keep: async (text: string) => `k${kept.push(text)}`, read: async () => undefined }
    const { call } = await load(
      { s: scripted({ tools: [tool('see')], calls: { see: { result: image } } }) },
      { keeper },
    )
    expect((await call('s__see')).text).toBe(
      `[1 image/png, 70 bytes, kept as "k1", which read_result gives as base64; you can't see it]`,
    )
    expect(kept[0]).toMatch(/^data:image\/png;base64,iVBOR/)
  })

  it('reports a call whose server died as unknown, does not repeat it, and starts the server for the next', async () => {
    const notes = diary()
    const calls = { die: { does: 'die' } } as const
    const loaded = await load({ s: scripted({ tools: [tool('die'), tool('work')], calls, diary: notes.path }) })
    const died = await loaded.call('s__die')
    expect(died.failed).toBe(true)
    expect(died.text).toMatch(
      /lost after the call was sent \(it ended with exit code 3\).*may or may not have taken effect/,
    )
    expect((await loaded.call('s__work')).text).toBe('called work')
    expect(notes.lines().filter((line) => line.includes('"die"'))).toHaveLength(1)
    expect(notes.lines().filter((line) => line === 'started')).toHaveLength(2)
    expect(loaded.warnings.filter((line) => line.includes('has ended'))).toHaveLength(1)
    expect(offered(loaded)).toEqual(['s__die', 's__work'])
  })

  it('delivers an answer that came right before the server ended', async () => {
    const calls = { bye: { does: 'answerAndDie' } } as const
    const { call, mcp } = await load({ s: scripted({ tools: [tool('bye')], calls }) })
    for (let round = 0; round < 3; round++) {
      expect((await call('s__bye')).text).toBe('last words')
      await until(() => !mcp.status()[0]!.up)
    }
  })

  it('starts a dead server once for calls that come together', async () => {
    const notes = diary()
    const loaded = await load({ s: scripted({ tools: [tool('work')], diary: notes.path }) })
    process.kill(notes.processes()[0]!, 'SIGKILL')
    await until(() => loaded.mcp.status()[0]!.up === false)
    const texts = await Promise.all([1, 2, 3].map(async () => (await loaded.call('s__work')).text))
    expect(texts).toEqual(['called work', 'called work', 'called work'])
    expect(notes.lines().filter((line) => line === 'started')).toHaveLength(2)
  })

  it('gives up on silence, tells the server, and says that the outcome is unknown', async () => {
    const notes = diary()
    const calls = { hang: { does: 'nothing' } } as const
    const { call } = await load(
      { s: scripted({ tools: [tool('hang'), tool('work')], calls, diary: notes.path }) },
      { times: { silenceMs: 500 } },
    )
    expect((await call('s__hang')).text).toMatch(/did not answer within 0.5 s.*may or may not/)
    expect((await call('s__work')).text).toBe('called work')
    await until(() => notes.lines().some((line) => line.startsWith('cancelled')))
  })

  it('waits for longer than that while news of progress comes', async () => {
    const calls = { slow: { does: 'progress' } } as const
    const { call } = await load({ s: scripted({ tools: [tool('slow')], calls }) }, { times: { silenceMs: 600 } })
    expect((await call('s__slow')).text).toBe('done at last')
  })

  it('ends at once when the run is stopped, and only the call that was stopped', async () => {
    const notes = diary()
    const calls = { hang: { does: 'nothing' } } as const
    const { call } = await load({ s: scripted({ tools: [tool('hang'), tool('work')], calls, diary: notes.path }) })
    const stop = new AbortController()
    const hanging = call('s__hang', {}, stop.signal)
    expect((await call('s__work', {}, stop.signal)).text).toBe('called work')
    await until(() => notes.lines().some((line) => line.includes('"hang"')))
    stop.abort()
    expect((await hanging).text).toContain('stopped before the server answered')
    await until(() => notes.lines().some((line) => line.startsWith('cancelled')))
    expect((await call('s__work')).text).toBe('called work')
    expect(notes.lines().filter((line) => line.startsWith('cancelled'))).toHaveLength(1)
  })

  it('gives servers nothing of the environment but a short list and what is configured (SH-06)', async () => {
    process.env.SLACK_BOT_TOKEN = 'xoxb-secret'
    onTestFinished(() => {
      delete process.env.SLACK_BOT_TOKEN
    })
    const calls = { env: { does: 'tellEnvironment' } } as const
    const { call } = await load({ s: scripted({ tools: [tool('env')], calls }) })
    const names = Object.keys(JSON.parse((await call('s__env')).text))
    const allowed = 'PATH HOME USER LOGNAME SHELL TERM TMPDIR TZ LANG LC_ALL LC_CTYPE MCP_DOUBLE'.split(' ')
    expect(names).toContain('PATH')
    expect(names).toContain('MCP_DOUBLE')
    expect(names.filter((name) => !allowed.includes(name))).toEqual([])
  })
})

describe('ending MCP servers', () => {
  it('leaves none of them and nothing they started, stubborn ones included, however often (SD-07)', async () => {
    const notes = diary()
    for (let round = 0; round < 5; round++) {
      const servers = {
        polite: scripted({ tools: [tool('a')], diary: notes.path }),
        stubborn: scripted({ tools: [tool('a')], diary: notes.path, stubborn: true, grandchild: true }),
      }
      const mcp = await loadMcpTools({ servers, log: silentLog, times: { graceMs: 200 } })
      expect(mcp.tools()).toHaveLength(2)
      await mcp.close()
    }
    const processes = notes.processes()
    expect(processes).toHaveLength(15)
    expect(processes.filter(isRunning)).toEqual([])
    // Softly first: each was asked by the end of its input, and only the stubborn ones by TERM.
    expect(notes.lines().filter((line) => line === 'end of input')).toHaveLength(10)
    expect(notes.lines().filter((line) => line === 'SIGTERM')).toHaveLength(5)
  })

  it('ends what a server that died has left behind', async () => {
    const notes = diary()
    const calls = { die: { does: 'die' } } as const
    const script = { tools: [tool('die')], calls, diary: notes.path, grandchild: true }
    const { call } = await load({ s: scripted(script) }, { times: { graceMs: 100 } })
    await call('s__die')
    await until(() => notes.processes().every((pid) => !isRunning(pid)))
  })

  it('leaves those that heed the end of their input to end by themselves when the bot is killed', async () => {
    const notes = diary()
    const servers = { s: scripted({ tools: [tool('a')], diary: notes.path }) }
    const source = `
      import { loadMcpTools } from ${JSON.stringify(join(import.meta.dirname, '../../src/tool/mcpTools.ts'))}
      const log = { debug() {}, info() {}, warn() {}, error() {}, child: () => log }
      const mcp = await loadMcpTools({ servers: ${JSON.stringify(servers)}, log })
      console.log(mcp.tools().length)
      setInterval(() => {}, 1000)`
    const bot = spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void bot.kill('SIGKILL'))
    expect(String((await once(bot.stdout, 'data'))[0]).trim()).toBe('1')
    expect(notes.processes().map(isRunning)).toEqual([true])
    bot.kill('SIGKILL')
    await until(() => notes.processes().every((pid) => !isRunning(pid)))
  })

  it('ends those that are still being started', async () => {
    const mcp = await loadMcpTools({
      servers: { mute: command('sleep', ['300']) },
      log: silentLog,
      times: { startMs: 50, graceMs: 100 },
    })
    const startedAt = performance.now()
    await mcp.close()
    expect(performance.now() - startedAt).toBeLessThan(2_000)
  })
})
