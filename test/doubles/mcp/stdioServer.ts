/**
 * An MCP server over standard input and output that does what the environment variable `MCP_DOUBLE` says (`StdioScript` as
 * JSON), misdeeds above all. Without the SDK, so that it starts quickly and may break the protocol.
 */
import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { StdioScript } from './script.ts'

type Message = { id?: number; method?: string; params?: Record<string, unknown> }

const script: StdioScript = JSON.parse(process.env.MCP_DOUBLE ?? '{}')
const tools = [...(script.tools ?? [])]

note('started')
if (script.noise) process.stdout.write('hello, starting up\n{not json\n\n')
if (script.lastWords) process.stderr.write(`${script.lastWords}\n`)
if (script.stubborn) {
  process.on('SIGTERM', () => note('SIGTERM'))
  setInterval(() => {}, 1_000)
}
if (script.grandchild) {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' })
  note(`grandchild ${child.pid}`)
}

createInterface({ input: process.stdin })
  .on('line', (line) => void answer(JSON.parse(line) as Message))
  .on('close', () => note('end of input'))

async function answer({ id, method, params = {} }: Message): Promise<void> {
  if (method === 'notifications/cancelled') note(`cancelled ${JSON.stringify(params)}`)
  if (id === undefined) return
  if (method === 'initialize') {
    const capabilities = { tools: { listChanged: true } }
    const serverInfo = { name: 'double', version: '1' }
    return send({ id, result: { protocolVersion: params.protocolVersion, capabilities, serverInfo } })
  }
  if (method === 'tools/list') {
    const at = Number(params.cursor ?? 0)
    const end = at + (script.pageSize ?? 1_000)
    const more = end < tools.length ? { nextCursor: String(end) } : {}
    return send({ id, result: { tools: tools.slice(at, end), ...more } })
  }
  if (method === 'tools/call') return call(id, params as { name: string; _meta?: { progressToken?: unknown } })
  send({ id, error: { code: -32601, message: 'Method not found' } })
}

async function call(id: number, params: { name: string; _meta?: { progressToken?: unknown } }): Promise<void> {
  note(`call ${JSON.stringify({ name: params.name, arguments: (params as { arguments?: unknown }).arguments })}`)
  const act = script.calls?.[params.name] ?? { result: { content: [{ type: 'text', text: `called ${params.name}` }] } }
  if ('error' in act) return send({ id, error: act.error })
  if ('result' in act) return send({ id, result: act.result })
  switch (act.does) {
    case 'die':
      return process.exit(3)
    case 'answerAndDie':
      send({ id, result: { content: [{ type: 'text', text: 'last words' }] } })
      return process.exit(0)
    case 'nothing':
      return
    case 'progress': {
      for (let step = 1; step <= 6; step++) {
        await new Promise((resolve) => setTimeout(resolve, 150))
        send({
          method: 'notifications/progress',
          params: { progressToken: params._meta?.progressToken, progress: step },
        })
      }
      return send({ id, result: { content: [{ type: 'text', text: 'done at last' }] } })
    }
    case 'tellEnvironment':
      return send({ id, result: { content: [{ type: 'text', text: JSON.stringify(process.env) }] } })
    case 'addTool':
      tools.push({ name: 'added', description: 'new', inputSchema: { type: 'object', properties: {} } })
      send({ method: 'notifications/tools/list_changed' })
      return send({ id, result: { content: [] } })
  }
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}

function note(what: string): void {
  if (script.diary) appendFileSync(script.diary, `${process.pid} ${what}\n`)
}
