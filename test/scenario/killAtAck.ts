/**
 * Preloaded into the program under test (`NODE_OPTIONS=--import=…`): the process kills itself with SIGKILL at the moment it
 * is about to acknowledge a Slack event whose text holds KILL_AT_ACK, so that nothing can run after the store has it.
 */
import { WebSocket } from 'undici'

const { send } = WebSocket.prototype
const incoming = new Map<string, string>()
const { addEventListener } = WebSocket.prototype

WebSocket.prototype.addEventListener = function (this: WebSocket, type: string, listener: never, ...rest: never[]) {
  if (type === 'message') {
    addEventListener.call(this, 'message', ((event: MessageEvent) => {
      const envelope = /"envelope_id":"([^"]+)"/.exec(String(event.data))?.[1]
      if (envelope) incoming.set(envelope, String(event.data))
    }) as never)
  }
  return addEventListener.call(this, type, listener, ...rest)
} as typeof addEventListener

WebSocket.prototype.send = function (this: WebSocket, data: never) {
  const envelope = /"envelope_id":"([^"]+)"/.exec(String(data))?.[1]
  const event = envelope === undefined ? undefined : incoming.get(envelope)
  if (event?.includes('KILL_AT_ACK')) process.kill(process.pid, 'SIGKILL')
  return send.call(this, data)
} as typeof send
