import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { answerJson, readBody } from './request.ts'
import type { Ephemeral, Fields, SlackMessage, World } from './world.ts'

/** Slack takes five answers within half an hour. */
const USES = 5
const LIFETIME_MS = 30 * 60_000

export interface ResponseUrls {
  /** An address at which the app may answer what somebody did; `message` is what a button stood on. */
  create(channel: string, user: string, message?: SlackMessage | Ephemeral): string
  handle(request: IncomingMessage, response: ServerResponse, id: string): Promise<void>
  /** Makes every address that was given out so far a dead one. */
  expire(): void
}

export function createResponseUrls(world: World, url: () => string): ResponseUrls {
  const open = new Map<
    string,
    { channel: string; user: string; message?: SlackMessage | Ephemeral; uses: number; until: number }
  >()
  return {
    create(channel, user, message) {
      const id = randomUUID()
      open.set(id, { channel, user, uses: USES, until: Date.now() + LIFETIME_MS, ...(message && { message }) })
      return `${url()}/response/${id}`
    },
    expire: () => open.clear(),
    async handle(request, response, id) {
      const body = JSON.parse(String(await readBody(request))) as Fields
      const entry = open.get(id)
      if (!entry || entry.uses === 0 || Date.now() > entry.until) {
        response.writeHead(404, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ ok: false, error: 'expired_url' }))
        return
      }
      entry.uses--
      const channel = world.channels.get(entry.channel)!
      const content = { text: String(body.text ?? ''), ...(body.blocks ? { blocks: body.blocks as Fields[] } : {}) }
      const threadTs = typeof body.thread_ts === 'string' ? { threadTs: body.thread_ts } : {}
      const { message } = entry
      if (body.replace_original === true && message) {
        if ('reactions' in message) world.change(channel, message, content, world.app.botUserId)
        else Object.assign(message, { blocks: undefined }, content)
      } else if (body.delete_original === true && message) {
        if ('reactions' in message) world.remove(channel, message)
        else world.ephemerals.splice(world.ephemerals.indexOf(message), 1)
      } else if (body.response_type === 'in_channel') {
        world.post(channel, { user: world.app.botUserId, botId: world.app.botId, ...content, ...threadTs })
      } else {
        world.ephemerals.push({ ts: world.nextTs(), channel: entry.channel, user: entry.user, ...content, ...threadTs })
      }
      answerJson(response, { ok: true })
    },
  }
}
