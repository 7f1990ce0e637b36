import { randomBytes } from 'node:crypto'
import type { Server } from 'node:http'
import type { WebSocket } from 'ws'
import { WebSocketServer } from 'ws'
import { guildCreate, withoutContent } from './payloads.ts'
import type { Message, World } from './world.ts'

export const INTENT = {
  guilds: 1 << 0,
  guildMessages: 1 << 9,
  reactions: 1 << 10,
  dms: 1 << 12,
  dmReactions: 1 << 13,
  content: 1 << 15,
} as const

interface Session {
  id: string
  intents: number
  seq: number
  /** What a resume replays. */
  sent: { op: 0; t: string; s: number; d: unknown }[]
  socket: WebSocket | undefined
}

export interface GatewayOptions {
  token: string
  /** Privileged intents that are not switched on for the application: identify with one of them is closed with 4014. */
  disallowedIntents: number
  heartbeatIntervalMs: number
  /** Called when a session has become ready. */
  onReady?: () => void
}

/** The gateway: hello, identify, ready, heartbeats, resume with replay, and every way it loses people. */
export function createGateway(server: Server, world: World, options: GatewayOptions) {
  const sessions = new Map<string, Session>()
  const wss = new WebSocketServer({ noServer: true })
  const identified: { intents: number; at: number }[] = []
  let resumes = 0
  let refusal: number | undefined
  server.on('upgrade', (request, socket, head) => {
    wss.handleUpgrade(request, socket, head, (ws) => accept(ws))
  })
  const url = () => {
    const address = server.address()
    return `ws://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
  }

  const accept = (socket: WebSocket) => {
    let session: Session | undefined
    const send = (frame: object) => socket.send(JSON.stringify(frame))
    send({ op: 10, d: { heartbeat_interval: options.heartbeatIntervalMs }, s: null, t: null })
    socket.on('message', (data) => {
      const frame = JSON.parse(String(data)) as { op: number; d: unknown }
      if (frame.op === 1) return send({ op: 11, d: null, s: null, t: null })
      if (frame.op === 2) session = identify(socket, frame.d as { token: string; intents: number })
      else if (frame.op === 6) session = resume(socket, frame.d as { token: string; session_id: string; seq: number })
      else if (frame.op !== 3 && frame.op !== 8) socket.close(4001, 'Unknown opcode')
    })
    socket.on('close', (code) => {
      if (session?.socket !== socket) return
      session.socket = undefined
      // A client that closes with 1000 or 1001 gives its session up.
      if (code === 1000 || code === 1001) sessions.delete(session.id)
    })
  }

  const identify = (socket: WebSocket, data: { token: string; intents: number }): Session | undefined => {
    if (refusal !== undefined) return void socket.close(refusal)
    if (data.token !== options.token) return void socket.close(4004, 'Authentication failed.')
    if (data.intents & options.disallowedIntents) return void socket.close(4014, 'Disallowed intent(s).')
    identified.push({ intents: data.intents, at: world.now() })
    const id = randomBytes(10).toString('hex')
    const session: Session = { id, intents: data.intents, seq: 0, sent: [], socket }
    sessions.set(id, session)
    push(session, 'READY', {
      v: 10,
      user: { ...world.bot, verified: true, mfa_enabled: true, flags: 0 },
      guilds: [...world.guilds.keys()].map((guild) => ({ id: guild, unavailable: true })),
      session_id: id,
      resume_gateway_url: url(),
      shard: [0, 1],
      application: { id: world.bot.id, flags: 565248 },
    })
    for (const guild of world.guilds.values()) push(session, 'GUILD_CREATE', guildCreate(world, guild))
    options.onReady?.()
    return session
  }

  const resume = (socket: WebSocket, data: { token: string; session_id: string; seq: number }): Session | undefined => {
    const session = sessions.get(data.session_id)
    if (data.token !== options.token) return void socket.close(4004, 'Authentication failed.')
    if (!session) return void socket.send(JSON.stringify({ op: 9, d: false, s: null, t: null }))
    resumes += 1
    session.socket = socket
    for (const frame of session.sent) if (frame.s > data.seq) socket.send(JSON.stringify(frame))
    push(session, 'RESUMED', {})
    return session
  }

  const push = (session: Session, type: string, data: unknown) => {
    session.seq += 1
    const frame = { op: 0 as const, t: type, s: session.seq, d: structuredClone(data) }
    session.sent.push(frame)
    session.socket?.send(JSON.stringify(frame))
  }

  const sockets = () => [...sessions.values()].flatMap(({ socket }) => socket ?? [])

  return {
    url,
    identified,
    get resumes() {
      return resumes
    },
    /** Sends a dispatch to every session that asked for it; sessions that are disconnected get it when they resume. */
    dispatch(type: string, data: unknown, intent = 0) {
      for (const session of sessions.values()) {
        if (intent !== 0 && (session.intents & intent) === 0) continue
        const visible =
          type.startsWith('MESSAGE_') && (session.intents & INTENT.content) === 0 && isMessage(data)
            ? withoutContent(world, data)
            : data
        push(session, type, visible)
      }
    },
    /** Sends one event again as it was, as a reconnect may. */
    redeliver(type: string) {
      for (const session of sessions.values()) {
        const last = session.sent.findLast(({ t }) => t === type)
        if (last) push(session, last.t, last.d)
      }
    },
    connected: () => sockets().length,
    /** Cuts the connection without a word; the session can be resumed. */
    drop() {
      for (const socket of sockets()) socket.terminate()
    },
    /** Op 7: please reconnect and resume. */
    askToReconnect() {
      for (const socket of sockets()) socket.send(JSON.stringify({ op: 7, d: null, s: null, t: null }))
    },
    /** Op 9: forgets the sessions, so that clients have to identify afresh; nothing is replayed. */
    invalidate() {
      const open = sockets()
      sessions.clear()
      for (const socket of open) socket.send(JSON.stringify({ op: 9, d: false, s: null, t: null }))
    },
    /** Every identify from here on is closed with this code. */
    refuse(code: number) {
      refusal = code
    },
    close(code: number) {
      for (const socket of sockets()) socket.close(code)
    },
    stop() {
      sessions.clear()
      for (const client of wss.clients) client.terminate()
      wss.close()
    },
  }
}

export type Gateway = ReturnType<typeof createGateway>

function isMessage(data: unknown): data is Message {
  return typeof data === 'object' && data !== null && 'author' in data && 'content' in data
}
