/**
 * `npm run bench:loop [-- --json]`: what a streamed piece costs through `OpenAIClient`, alone and with `streamReact` around
 * it, as a ratio to iterating the bare SDK stream; and memory over an answer of 100,000 pieces. The server is a process of
 * its own, so that only the reading is measured; each figure is the median of several rounds, taken in turn.
 */
import { fork } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import OpenAI from 'openai'
import { streamReact } from '../src/agent/react.ts'
import { OpenAIClient } from '../src/client/openAIClient.ts'
import { ToolManager } from '../src/tool/toolManager.ts'

const PIECES = 20_000
const LONG_ANSWER = 100_000
const ROUNDS = 7
const MODEL = 'bench'

interface Report {
  pieces: number
  rounds: number
  /** Microseconds a piece, medians. */
  sdkMicros: number
  clientMicros: number
  reactMicros: number
  clientRatio: number
  reactRatio: number
  /** Growth of the live heap per piece of the long answer, beyond its text, in bytes; and at its two halves, in MB. */
  memory: { pieces: number; heapMbAtTenth: number; heapMbAtEnd: number; bytesPerPiece: number }
}

/** The child: streams as many pieces as the model's name says, a thousand frames a write. */
function serve(): void {
  const frame = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ id: 'b', object: 'chat.completion.chunk', created: 1, model: MODEL, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
  const piece = frame({ content: ' word' }, null)
  const block = piece.repeat(1000)
  const server = createServer(async (req, res) => {
    let body = ''
    for await (const chunk of req) body += chunk
    const count = Number((JSON.parse(body) as { model: string }).model.split('-')[1])
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let sent = 0; sent < count; sent += 1000) {
      if (!res.write(block)) await new Promise((resolve) => res.once('drain', resolve))
    }
    res.end(`${frame({}, 'stop')}data: [DONE]\n\n`)
  })
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
  process.on('disconnect', () => process.exit())
}

async function measure(baseUrl: string): Promise<Report> {
  const model = `${MODEL}-${PIECES}`
  const client = new OpenAIClient({ apiKeys: ['none'], baseUrl, model })
  const sdk = new OpenAI({ apiKey: 'none', baseURL: baseUrl, maxRetries: 0 })
  const ways = {
    async sdk() {
      const stream = await sdk.chat.completions.create({
        model,
        messages: [{ role: 'user', content: 'Go' }],
        stream: true,
      })
      let text = ''
      let count = 0
      for await (const chunk of stream) {
        const piece = chunk.choices[0]?.delta.content
        if (piece) {
          text += piece
          count++
        }
      }
      return text === '' ? 0 : count
    },
    client: () => counted(client.streamChat([{ role: 'user', content: 'Go' }])),
    react: () =>
      counted(streamReact({ client, messages: [{ role: 'user', content: 'Go' }], toolManager: new ToolManager() })),
  }
  const times: Record<keyof typeof ways, number[]> = { sdk: [], client: [], react: [] }
  const names = Object.keys(ways) as (keyof typeof ways)[]
  for (let round = -2; round < ROUNDS; round++) {
    for (const name of names) {
      globalThis.gc?.()
      const start = performance.now()
      const count = await ways[name]()
      const micros = ((performance.now() - start) * 1000) / PIECES
      if (count !== PIECES) throw new Error(`${name} saw ${count} of ${PIECES} pieces`)
      // The first rounds are for the compiler.
      if (round >= 0) times[name].push(micros)
    }
  }
  const [sdkMicros, clientMicros, reactMicros] = names.map((name) => median(times[name])) as [number, number, number]
  return {
    pieces: PIECES,
    rounds: ROUNDS,
    sdkMicros,
    clientMicros,
    reactMicros,
    clientRatio: clientMicros / sdkMicros,
    reactRatio: reactMicros / sdkMicros,
    memory: await memoryOf(client),
  }
}

async function memoryOf(client: OpenAIClient): Promise<Report['memory']> {
  const stream = client.streamChat([{ role: 'user', content: 'Go' }], { model: `${MODEL}-${LONG_ANSWER}` })
  const tenth = LONG_ANSWER / 10
  let count = 0
  let atTenth = 0
  for await (const _ of stream) {
    count++
    if (count === tenth) atTenth = liveHeap()
  }
  const atEnd = liveHeap()
  return {
    pieces: count,
    heapMbAtTenth: atTenth / 2 ** 20,
    heapMbAtEnd: atEnd / 2 ** 20,
    bytesPerPiece: (atEnd - atTenth) / (count - tenth),
  }
}

function liveHeap(): number {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

async function counted(stream: AsyncIterable<string>): Promise<number> {
  let count = 0
  for await (const _ of stream) count++
  return count
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}

if (process.argv.includes('--serve')) serve()
else {
  const server = fork(import.meta.filename, ['--serve'], { execArgv: [] })
  try {
    const port = await new Promise<number>((resolve, reject) => {
      server.once('message', (message) => resolve(Number(message)))
      server.once('error', reject)
    })
    const report = await measure(`http://127.0.0.1:${port}/v1`)
    if (process.argv.includes('--json')) console.log(JSON.stringify(report))
    else {
      const { sdkMicros, clientMicros, reactMicros, clientRatio, reactRatio, memory } = report
      console.log(`bare SDK stream            ${sdkMicros.toFixed(2)} µs a piece`)
      console.log(`OpenAIClient               ${clientMicros.toFixed(2)} µs a piece, ratio ${clientRatio.toFixed(2)}`)
      console.log(
        `OpenAIClient + streamReact ${reactMicros.toFixed(2)} µs a piece, ratio ${reactRatio.toFixed(2)} (aim: at most 1.5)`,
      )
      console.log(
        `${memory.pieces} pieces: ${memory.heapMbAtTenth.toFixed(1)} MB live after a tenth, ${memory.heapMbAtEnd.toFixed(1)} MB at the end, ${memory.bytesPerPiece.toFixed(1)} bytes a piece`,
      )
    }
  } finally {
    server.disconnect()
  }
}
