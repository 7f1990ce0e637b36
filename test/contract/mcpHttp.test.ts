import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startMcpHttpDouble } from '../doubles/mcp/httpServer.ts'
import { http, tool } from '../doubles/mcp/script.ts'
import { load, offered, until } from './mcpHarness.ts'

async function double(port?: number) {
  const server = await startMcpHttpDouble([tool('work')], port)
  onTestFinished(() => server.close())
  return server
}

describe('MCP servers over Streamable HTTP', () => {
  it('are used with the configured headers, and their session is ended at the close', async () => {
    const server = await double()
    const loaded = await load({ s: http(server.url, { headers: { Authorization: 'Bearer t' } }) })
    expect(offered(loaded)).toEqual(['s__work'])
    expect((await loaded.call('s__work')).text).toBe('called work')
    expect(server.headers.every(({ authorization }) => authorization === 'Bearer t')).toBe(true)
    await loaded.mcp.close()
    server.forgetSessions()
    expect((await loaded.call('s__work')).text).toContain('so the call was not made')
    expect(server.calls).toEqual(['work'])
  })

  it('that have forgotten the session get a new one, and the call once more, because they did not look at it', async () => {
    const server = await double()
    const { call } = await load({ s: http(server.url) })
    server.forgetSessions()
    expect((await call('s__work')).text).toBe('called work')
    expect(server.sessions).toBe(2)
    expect(server.calls).toEqual(['work'])
  })

  it('that can repeat a missed answer are asked for it, and the call is not made again', async () => {
    const server = await double()
    const { call } = await load({ s: http(server.url) })
    server.act = 'resume'
    expect((await call('s__work')).text).toBe('called work')
    expect(server.calls).toEqual(['work'])
  })

  it.each(['cut', 'forget', 'reset', { status: 502 }] as const)(
    'that may have run a call are not asked again: %j',
    async (act) => {
      const server = await double()
      const { call } = await load({ s: http(server.url) })
      server.act = act
      const { text, failed } = await call('s__work')
      expect(failed).toBe(true)
      expect(text).toContain('may or may not have taken effect')
      expect(server.calls).toEqual(['work'])
      server.act = 'answer'
      expect((await call('s__work')).text).toBe('called work')
    },
  )

  it.each([
    [{ status: 401 }, 'status 401: the headers in its configuration'],
    [{ status: 429 }, 'status 429'],
    [{ error: { code: -32_000, message: 'Connection closed' } }, 'the server refused the call: Connection closed'],
  ] as const)('that refuse a call are quoted, and nothing is in doubt: %j', async (act, said) => {
    const server = await double()
    const { call } = await load({ s: http(server.url) })
    server.act = act
    const { text } = await call('s__work')
    expect(text).toContain(said)
    expect(text).not.toContain('may or may not')
    expect(server.calls).toHaveLength(1)
  })

  it('that are away are said to be so, the call counts as not made, and they serve again when they are back', async () => {
    const server = await double()
    const loaded = await load({ s: http(server.url) }, { times: { retryMs: 60_000 } })
    await server.close()
    // A call over a connection that is just being closed would be in doubt, and rightly so.
    const refused = () => fetch(server.url).then(String, (error) => error.cause.code)
    await expect.poll(refused, { interval: 20 }).toBe('ECONNREFUSED')
    const { text } = await loaded.call('s__work')
    expect(text).toMatch(/can't be reached, so the call was not made.*ECONNREFUSED/)
    expect(loaded.warnings).toHaveLength(1)
    const again = await double(Number(new URL(server.url).port))
    expect((await loaded.call('s__work')).text).toBe('called work')
    expect(again.calls).toEqual(['work'])
  })

  it('that are away at the start join when they come', async () => {
    const server = await double()
    const { url } = server
    await server.close()
    const loaded = await load({ s: http(url) }, { times: { retryMs: 50 } })
    expect(offered(loaded)).toEqual([])
    await double(Number(new URL(url).port))
    await until(() => offered(loaded).length === 1)
    expect(loaded.warnings).toHaveLength(1)
  })

  it('that never answer do not hold up the start', async () => {
    const mute = createServer(() => {})
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      mute.closeAllConnections()
      mute.close()
    })
    const url = `http://127.0.0.1:${(mute.address() as AddressInfo).port}`
    const { mcp } = await load({ s: http(url) }, { times: { startMs: 100 } })
    expect(mcp.status()).toMatchObject([{ up: false, reason: expect.stringContaining('no answer within 0.1 s') }])
  })
})
