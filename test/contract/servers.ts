import { connect, createServer, type Socket } from 'node:net'

/** The servers that tests find on this machine; `.ci/run` starts them, elsewhere their tests are skipped with a reason. */
export const POSTGRES_URL = process.env.TEST_POSTGRES_URL ?? 'postgres://postgres@127.0.0.1:5432/test'
export const REDIS_URL = process.env.TEST_REDIS_URL ?? 'redis://127.0.0.1:6379'

/** The reason to skip tests of the server at `url`; `undefined` where it answers, and in CI, where its absence is a failure. */
export async function missing(url: string): Promise<string | undefined> {
  if (process.env.CI) return undefined
  const { hostname, port } = new URL(url)
  const answers = await new Promise<boolean>((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) })
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
  return answers ? undefined : `no server at ${hostname}:${port}`
}

export interface Line {
  /** The address of the server, but through this line. */
  url: string
  /** Drops every connection and takes no new ones, as a server that has ended. */
  cut(): Promise<void>
  /** Drops every connection, and takes new ones again at once. */
  drop(): void
  /** Lets nothing through, in either direction, without a word: as a machine that has frozen. */
  freeze(): void
  /** Ends what `cut` or `freeze` began. */
  mend(): Promise<void>
  close(): Promise<void>
}

/** A line to a server that can be cut: what a closed, restarted or frozen server is for a client, without touching the server. */
export async function lineTo(serverUrl: string): Promise<Line> {
  const target = new URL(serverUrl)
  const sockets = new Set<Socket>()
  let frozen = false
  const track = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
  }
  const server = createServer((inward) => {
    const outward = connect({ host: target.hostname, port: Number(target.port) })
    track(inward)
    track(outward)
    inward.on('data', (data) => frozen || outward.write(data))
    outward.on('data', (data) => frozen || inward.write(data))
    inward.once('close', () => outward.destroy())
    outward.once('close', () => inward.destroy())
  })
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const drop = () => {
    for (const socket of sockets) socket.destroy()
  }
  await listen(0)
  const { port } = server.address() as { port: number }
  const url = new URL(serverUrl)
  url.host = `127.0.0.1:${port}`
  return {
    url: url.href,
    async cut() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      drop()
      await closed
    },
    drop,
    freeze() {
      frozen = true
    },
    async mend() {
      frozen = false
      drop()
      if (!server.listening) await listen(port)
    },
    async close() {
      drop()
      if (server.listening) await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
