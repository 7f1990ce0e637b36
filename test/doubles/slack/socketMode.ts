import { randomUUID } from 'node:crypto'
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Transport } from './deliveries.ts'

export interface SocketControl {
  /** Open connections. */
  count(): number
  /** Cuts every connection without a close frame, as a network does. */
  drop(): void
  /** Sends a `disconnect` frame on every connection. */
  disconnect(reason: 'warning' | 'refresh_requested' | 'link_disabled'): void
  /** Sends any frame on every connection. */
  frame(frame: unknown): void
  /** Sends a ping on every connection. */
  ping(): void
  /** `never`: connections open and nothing is said on them. */
  hello: 'atOnce' | 'never'
  /** False: pings of the client stay unanswered. */
  pong: boolean
  /** True: a close frame is answered, and the TCP connection stays open, as Slack does it. */
  keepTcpOpen: boolean
  /** Open connections on which no hello was said. */
  silent(): number
  /** Connections that have said hello since the start. */
  opened: number
}

export interface SocketMode {
  control: SocketControl
  transport: Transport
  /** The address for `apps.connections.open`: a ticket that opens one connection. */
  ticket(): string
  close(): void
}

/** Slack's Socket Mode on the same server as the Web API. */
export function createSocketMode(server: Server, url: () => string, onReachable: () => void): SocketMode {
  const tickets = new Set<string>()
  const connections = new Set<WebSocket>()
  const acknowledgements = new Map<string, (response: unknown) => void>()
  const wss = new WebSocketServer({ noServer: true, autoPong: false })
  let turn = 0

  const each = (action: (socket: WebSocket) => void) => {
    for (const socket of connections) action(socket)
  }
  const control: SocketControl = {
    count: () => connections.size,
    drop: () => each((socket) => socket.terminate()),
    disconnect: (reason) =>
      each((socket) => socket.send(JSON.stringify({ type: 'disconnect', reason, debug_info: {} }))),
    frame: (frame) => each((socket) => socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame))),
    ping: () => each((socket) => socket.ping()),
    hello: 'atOnce',
    pong: true,
    keepTcpOpen: false,
    silent: () => wss.clients.size - connections.size,
    opened: 0,
  }

  server.on('upgrade', (request: IncomingMessage, tcp: Duplex, head: Buffer) => {
    const ticket = new URL(request.url ?? '', 'http://double').searchParams.get('ticket') ?? ''
    if (!tickets.delete(ticket)) {
      tcp.end('HTTP/1.1 401 Unauthorized\r\n\r\n')
      return
    }
    if (control.keepTcpOpen) tcp.end = () => tcp
    wss.handleUpgrade(request, tcp, head, accept)
  })

  function accept(socket: WebSocket): void {
    socket.on('message', (data) => {
      const { envelope_id: id, payload } = JSON.parse(String(data)) as { envelope_id: string; payload?: unknown }
      acknowledgements.get(id)?.(payload)
      acknowledgements.delete(id)
    })
    socket.on('ping', (data) => control.pong && socket.pong(data))
    socket.on('close', () => connections.delete(socket))
    socket.on('error', () => connections.delete(socket))
    if (control.hello === 'never') return
    connections.add(socket)
    control.opened++
    socket.send(
      JSON.stringify({
        type: 'hello',
        num_connections: connections.size,
        connection_info: { app_id: 'A0DOUBLE' },
        debug_info: { host: 'double', build_number: 1, approximate_connection_time: 18_060 },
      }),
    )
    onReachable()
  }

  return {
    control,
    ticket() {
      const ticket = randomUUID()
      tickets.add(ticket)
      return `${url().replace('http', 'ws')}/link/?ticket=${ticket}&app_id=A0DOUBLE`
    },
    transport: {
      // Each envelope goes to one connection, whichever Slack picks.
      send(envelope, answered) {
        const open = [...connections].filter((socket) => socket.readyState === socket.OPEN)
        const socket = open[turn++ % Math.max(1, open.length)]
        if (!socket) return false
        acknowledgements.set(envelope.id, answered)
        socket.send(
          JSON.stringify({
            envelope_id: envelope.id,
            type: envelope.type,
            accepts_response_payload: envelope.type !== 'events_api',
            payload: envelope.payload,
            ...(envelope.type === 'events_api' && {
              retry_attempt: envelope.retryAttempt,
              retry_reason: envelope.retryReason,
            }),
          }),
        )
        return true
      },
    },
    close() {
      for (const socket of wss.clients) socket.terminate()
      wss.close()
    },
  }
}
