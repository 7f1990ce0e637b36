import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { McpServerSettings } from '../../src/tool/mcpSettings.ts'
import { command, http } from '../doubles/mcp/script.ts'
import { folder, load, offered } from './mcpHarness.ts'

const PACKAGES = join(import.meta.dirname, '../../node_modules/@modelcontextprotocol')

function published(name: string, args: string[] = [], more: object = {}): McpServerSettings {
  return command(process.execPath, [join(PACKAGES, `server-${name}/dist/index.js`), ...args], more)
}

describe('the published MCP servers', () => {
  it('filesystem: reads and writes within its folder, and its refusals are errors', async () => {
    const path = folder()
    writeFileSync(join(path, 'a.txt'), 'größe\n')
    const settings = published('filesystem', [path], { permission: 'sensitive', readOnly: 'safe' })
    const loaded = await load({ files: settings })
    expect((await loaded.call('files__read_text_file', { path: join(path, 'a.txt') })).text).toBe('größe\n')
    expect(await loaded.call('files__read_text_file', { path: '/etc/hostname' })).toMatchObject({ failed: true })
    expect(await loaded.call('files__read_text_file', {})).toMatchObject({
      failed: true,
      text: expect.stringContaining("must have required property 'path'"),
    })
    // Without an approver, what needs a yes is denied.
    const wish = { path: join(path, 'b.txt'), content: 'b' }
    expect((await loaded.call('files__write_file', wish)).text).toContain("needs a person's yes")
    loaded.manager.approveTool('files__write_file')
    expect(await loaded.call('files__write_file', wish)).toMatchObject({ failed: false })
    expect(readFileSync(wish.path, 'utf8')).toBe('b')
  })

  it('memory: keeps what it was told over a restart, and structured results come once', async () => {
    const MEMORY_FILE_PATH = join(folder(), 'memory.jsonl')
    const settings = published('memory', [], { env: { MEMORY_FILE_PATH } })
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['writes Rust'] }]
    const first = await load({ memory: settings })
    expect(await first.call('memory__create_entities', { entities })).toMatchObject({ failed: false })
    await first.mcp.close()
    const { text } = await (await load({ memory: settings })).call('memory__read_graph')
    expect(text.match(/writes Rust/g)).toHaveLength(1)
  })

  it('everything: all kinds of results become texts, over stdio', async () => {
    const loaded = await load({ all: published('everything') })
    const names = offered(loaded)
    expect(names).toContain('all__echo')
    expect((await loaded.call('all__echo', { message: 'hello' })).text).toContain('hello')
    expect((await loaded.call('all__get-tiny-image')).text).toContain('1 image/png')
    const { text } = await loaded.call('all__get-structured-content', { location: 'New York' })
    expect(text).toContain('temperature')
  })

  it('everything: a long call with progress outlives the limit for silence and can be stopped', async () => {
    const loaded = await load({ all: published('everything') }, { times: { silenceMs: 1_000, graceMs: 200 } })
    const long = 'all__trigger-long-running-operation'
    expect(await loaded.call(long, { duration: 1.5, steps: 5 })).toMatchObject({ failed: false })
    const stop = new AbortController()
    const stopped = loaded.call(long, { duration: 30, steps: 60 }, stop.signal)
    setTimeout(() => stop.abort(), 50)
    expect((await stopped).text).toContain('stopped before the server answered')
    expect((await loaded.call('all__echo', { message: 'still there' })).text).toContain('still there')
  })

  it('everything: over Streamable HTTP, before and after a restart of the server', async () => {
    const port = await freePort()
    let server = await startEverything(port)
    const loaded = await load({ all: http(`http://127.0.0.1:${port}/mcp`) })
    expect((await loaded.call('all__echo', { message: 'one' })).text).toContain('one')
    server.kill('SIGKILL')
    await once(server, 'exit')
    server = await startEverything(port)
    expect((await loaded.call('all__echo', { message: 'two' })).text).toContain('two')
  })
})

async function startEverything(port: number): Promise<ChildProcess> {
  const script = join(PACKAGES, 'server-everything/dist/index.js')
  const env = { ...process.env, PORT: String(port) }
  const server = spawn(process.execPath, [script, 'streamableHttp'], { env, stdio: 'ignore' })
  onTestFinished(() => void server.kill('SIGKILL'))
  await expect
    .poll(
      () =>
        fetch(`http://127.0.0.1:${port}/mcp`).then(
          () => true,
          () => false,
        ),
      { timeout: 20_000, interval: 50 },
    )
    .toBe(true)
  return server
}

/** The published server takes no port 0. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
