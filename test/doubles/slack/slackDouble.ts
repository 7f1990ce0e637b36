import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createDeliveries, type Deliveries, type Delivery } from './deliveries.ts'
import type { Fault, LimitMode } from './faults.ts'
import { createUploads } from './fileMethods.ts'
import { createHttpTransport } from './httpEvents.ts'
import { clickPayload, commandPayload, eventEnvelope } from './payloads.ts'
import { readBody } from './request.ts'
import { createResponseUrls } from './responseUrls.ts'
import { createSocketMode, type SocketControl } from './socketMode.ts'
import { renderThreadHtml } from './threadHtml.ts'
import { buttonsOf, threadText } from './threadText.ts'
import { createViews, type OpenView } from './views.ts'
import { type Call, createWebApi } from './webApi.ts'
import { clientMsgId, createWorld, type Fields, type SlackChannel, type SlackMessage, type World } from './world.ts'

/** Scopes of the bot token unless a test takes some away: those of manifest.yml. */
export const ALL_SCOPES = [
  'app_mentions:read',
  'assistant:write',
  'channels:history',
  'chat:write',
  'commands',
  'files:read',
  'files:write',
  'groups:history',
  'im:history',
  'im:write',
  'mpim:history',
  'reactions:read',
  'reactions:write',
  'usergroups:read',
  'users:read',
]

export interface SayOptions {
  /** Root of the thread to write into. */
  threadTs?: string
  /** True: the text holds Slack's own tokens and entities. Else it is what somebody types, and is escaped. */
  raw?: boolean
  files?: { name: string; mimetype: string; content: string }[]
}

export interface SlackDouble {
  /** What a program is set to by its environment, to live in this Slack by Socket Mode. */
  readonly env: Record<string, string>
  /** For `SLACK_API_URL`. */
  readonly apiUrl: string
  readonly botToken: string
  readonly appToken: string
  readonly signingSecret: string
  readonly world: World
  readonly socket: SocketControl
  readonly deliveries: Deliveries
  /** Every call of the Web API so far, or those of one method. */
  calls(method?: string): Call[]
  /** The next `times` calls of a method go wrong; `upload` stands for the bytes of a file. */
  fail(method: string, fault: Fault, times?: number): void
  /** Slack's documented rate limits, as true by window; off unless switched on. */
  rateLimits(mode: boolean | LimitMode): void
  setScopes(scopes: string[]): void
  /** Events, commands and clicks go to this address, signed, instead of to sockets. */
  deliverTo(eventsUrl: string): void

  /** Somebody writes a message. Returns its `ts`. */
  say(user: string, channel: string, text: string, options?: SayOptions): string
  /** Somebody writes a message that names the bot. */
  mention(user: string, channel: string, text: string, options?: SayOptions): string
  /** Somebody writes to the bot alone. */
  direct(user: string, text: string, options?: SayOptions): { channel: string; ts: string }
  /** Somebody types a slash command. Resolves when it is acknowledged, or is not within 3 seconds. */
  command(user: string, channel: string, command: string, text: string): Promise<Delivery>
  /**
   * Somebody presses the button with this label (or action id) on a message, or on words that only they see. Resolves when
   * that is acknowledged, or is not within 3 seconds. With `forged`, the payload says this as the button's value.
   */
  click(user: string, channel: string, ts: string, label: string, forged?: string): Promise<Delivery>
  /** The modal that stands open before somebody. */
  openView(user: string): OpenView | undefined
  /** Somebody types into the open modal, by block id, and sends it off. It closes if it is acknowledged without errors. */
  submitView(user: string, typed: Record<string, string>): Promise<Delivery>
  /** Somebody puts a reaction on a message. The app hears of it if it may read reactions. */
  react(user: string, channel: string, ts: string, name: string): void
  /** Somebody presses Slack's own Stop in a thread: its streams end, and the app hears of it if it is subscribed. */
  pressStop(user: string, channel: string, threadTs: string): void
  /** Lets so many milliseconds pass for triggers and streams. */
  passTime(ms: number): void
  /** Somebody changes a message of theirs. `text` is raw. */
  editMessage(channel: string, ts: string, text: string): void
  deleteMessage(channel: string, ts: string): void
  /** Delivers any event of the Events API; give a whole outer envelope as `payload` to deliver just that. */
  emit(event: Fields | { payload: Fields }): Promise<Delivery>
  /** Every address for answers that was given out so far stops working. */
  expireResponseUrls(): void

  thread(channel: string, ts: string): SlackMessage[]
  /** With `viewer`: as this person sees it. */
  threadText(channel: string, ts: string, viewer?: string): string
  /** A page that looks like Slack's thread view; with `viewer`, also what only this person sees. */
  renderThreadHtml(channel: string, ts: string, viewer?: string): string
  close(): Promise<void>
}

/**
 * A small Slack on 127.0.0.1: Web API, Socket Mode, signed HTTP events. It has one workspace with the people `U0ANNA`
 * (admin), `U0BEN` (member), `U0GUEST` and `U0OTHER` (another organisation), the bots `U0BOT` (ours) and `U0CI`, the
 * channels `C0DEV` (the bot is in it), `C0OPS` (it is not) and the private `C0SECRET` (it is not), and the user groups `S0OPS`
 * (Anna) and `S0ALL` (Anna and Ben).
 */
export async function startSlackDouble(): Promise<SlackDouble> {
  const app = { teamId: 'T0DOUBLE', appId: 'A0DOUBLE', botId: 'B0BOT', botUserId: 'U0BOT', botName: 'toycoder' }
  const tokens = { bot: 'xoxb-double', app: 'xapp-double', scopes: new Set(ALL_SCOPES) }
  const signingSecret = 'a-signing-secret-of-the-double'
  const world = createWorld(app)
  populate(world)

  const server = createServer((request, response) => {
    route(request, response).catch((error) => {
      console.error('the Slack double failed:', error)
      response.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const uploads = createUploads(world)
  const views = createViews(world)
  const responseUrls = createResponseUrls(world, () => url)
  const socketMode = createSocketMode(
    server,
    () => url,
    () => deliveries.reachable(),
  )
  const deliveries = createDeliveries(socketMode.transport)
  const api = createWebApi(world, tokens, { ...uploads.methods, ...views.methods }, () => url, socketMode.ticket)
  world.onEvent = (event) => void deliveries.event(eventEnvelope(world, event))

  async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, area, rest = ''] = (request.url ?? '').split(/[/?]/)
    if (area === 'api') return api.handle(request, response, rest)
    if (area === 'response') return responseUrls.handle(request, response, rest)
    if (area === 'upload') return receiveUpload(request, response, rest)
    response.writeHead(404)
    response.end()
  }

  async function receiveUpload(request: IncomingMessage, response: ServerResponse, id: string): Promise<void> {
    const body = await readBody(request)
    const type = request.headers['content-type'] ?? ''
    const content = type.startsWith('multipart/') ? await firstPart(type, body) : body
    const fault = api.faults.next('upload')
    const taken = fault === undefined && uploads.receive(id, content)
    response.writeHead(taken ? 200 : fault?.kind === 'http' ? fault.status : 400)
    response.end(taken ? `OK - ${content.length}` : 'failed')
  }

  function channelOf(id: string): SlackChannel {
    const channel = world.channels.get(id)
    if (!channel) throw new Error(`the double has no channel ${id}`)
    return channel
  }
  function messageOf(channel: string, ts: string): SlackMessage {
    const message = channelOf(channel).messages.find((candidate) => candidate.ts === ts)
    if (!message) throw new Error(`the double has no message ${ts} in ${channel}`)
    return message
  }
  function userOf(id: string) {
    const user = world.users.get(id)
    if (!user) throw new Error(`the double has no user ${id}`)
    return user
  }

  const double: SlackDouble = {
    env: { SLACK_BOT_TOKEN: tokens.bot, SLACK_APP_TOKEN: tokens.app, SLACK_API_URL: `${url}/api/` },
    apiUrl: `${url}/api/`,
    botToken: tokens.bot,
    appToken: tokens.app,
    signingSecret,
    world,
    socket: socketMode.control,
    deliveries,
    calls: (method) => (method ? api.calls.filter((call) => call.method === method) : api.calls),
    fail: (method, fault, times) => api.faults.add(method, fault, times),
    rateLimits(mode) {
      api.limits.mode = mode === true ? 'window' : mode || 'off'
    },
    setScopes(scopes) {
      tokens.scopes = new Set(scopes)
    },
    deliverTo(eventsUrl) {
      deliveries.transport = createHttpTransport(eventsUrl, signingSecret)
      deliveries.reachable()
    },

    say(user, channel, text, { threadTs, raw = false, files } = {}) {
      const author = userOf(user)
      const message = world.post(channelOf(channel), {
        user,
        ...(author.botId ? { botId: author.botId } : { clientMsgId: clientMsgId() }),
        text: raw ? text : escapeText(text),
        ...(threadTs && { threadTs }),
        ...(files && {
          subtype: 'file_share',
          files: files.map(({ name, mimetype, content }, index) => ({
            id: `F0USER${index}`,
            name,
            title: name,
            mimetype,
            size: content.length,
            user,
            content: Buffer.from(content),
          })),
        }),
      })
      return message.ts
    },
    mention(user, channel, text, options = {}) {
      const words = options.raw ? text : escapeText(text)
      return double.say(user, channel, `<@${app.botUserId}> ${words}`, { ...options, raw: true })
    },
    direct(user, text, options) {
      const { id } = world.directChannel(user)
      return { channel: id, ts: double.say(user, id, text, options) }
    },
    command(user, channel, command, text) {
      const responseUrl = responseUrls.create(channel, user)
      const payload = commandPayload(
        world,
        userOf(user),
        channelOf(channel),
        command,
        escapeText(text),
        responseUrl,
        views.trigger(user),
      )
      return deliveries.interaction('slash_commands', payload)
    },
    async click(user, channel, ts, label, forged) {
      const privately = world.ephemerals.find((words) => words.ts === ts && words.user === user)
      const message = privately ?? messageOf(channel, ts)
      const button = buttonsOf(message.blocks).find(
        (candidate) => candidate.action_id === label || (candidate.text as Fields).text === label,
      )
      if (!button) throw new Error(`no button ${label} on: ${message.text}`)
      const responseUrl = responseUrls.create(channel, user, message)
      const payload = clickPayload(
        world,
        userOf(user),
        channelOf(channel),
        message,
        forged === undefined ? button : { ...button, value: forged },
        responseUrl,
        views.trigger(user),
      )
      return deliveries.interaction('interactive', payload)
    },
    openView: views.of,
    async submitView(user, typed) {
      const delivery = await deliveries.interaction('interactive', views.submit(userOf(user), typed))
      views.answered(user, delivery.acknowledged, delivery.response)
      return delivery
    },
    react(user, channel, ts, name) {
      const message = messageOf(channel, ts)
      userOf(user)
      const reaction = message.reactions.find((one) => one.name === name)
      if (reaction) reaction.users.push(user)
      else message.reactions.push({ name, users: [user] })
      if (!tokens.scopes.has('reactions:read')) return
      const item = { type: 'message', channel, ts }
      const authorship = message.user ? { item_user: message.user } : {}
      world.onEvent({ type: 'reaction_added', user, reaction: name, ...authorship, item, event_ts: world.nextTs() })
    },
    pressStop(user, channel, threadTs) {
      const streams = world.thread(channel, threadTs).flatMap(({ ts, stream }) => (stream ? [{ ts, stream }] : []))
      for (const { stream } of streams) stream.isStopped = true
      if (!world.agent.hearsStop) return
      world.onEvent({
        type: 'agent_session_stopped',
        ...{ channel, user, thread_ts: threadTs },
        streaming_message_ts: streams.map(({ ts }) => ts),
        event_ts: world.nextTs(),
      })
    },
    passTime(ms) {
      views.passTime(ms)
      world.passTime(ms)
    },
    editMessage(channel, ts, text) {
      const message = messageOf(channel, ts)
      world.change(channelOf(channel), message, { text }, message.user ?? '')
    },
    deleteMessage: (channel, ts) => world.remove(channelOf(channel), messageOf(channel, ts)),
    emit: (event) => deliveries.event('payload' in event ? (event.payload as Fields) : eventEnvelope(world, event)),
    expireResponseUrls: responseUrls.expire,

    thread: world.thread,
    threadText: (channel, ts, viewer) => threadText(world, channel, ts, viewer),
    renderThreadHtml: (channel, ts, viewer) =>
      renderThreadHtml(world, channel, ts, viewer === undefined ? undefined : { user: viewer, view: views.of(viewer) }),
    async close() {
      deliveries.close()
      socketMode.close()
      api.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return double
}

function populate(world: World): void {
  const { botUserId, botId, botName } = world.app
  world.addUser({ id: botUserId, botId, name: botName, displayName: botName, isBot: true })
  world.addUser({ id: 'U0ANNA', name: 'anna', displayName: 'Anna', isAdmin: true, isOwner: true })
  world.addUser({ id: 'U0BEN', name: 'ben', displayName: 'Ben', locale: 'zh-CN' })
  world.addUser({ id: 'U0GUEST', name: 'gus', displayName: 'Gus', isGuest: true })
  world.addUser({ id: 'U0OTHER', name: 'olga', displayName: 'Olga', team: 'T0OTHER', isStranger: true })
  world.addUser({ id: 'U0CI', botId: 'B0CI', name: 'ci', displayName: 'CI', isBot: true })
  const people = ['U0ANNA', 'U0BEN', 'U0GUEST', 'U0OTHER', 'U0CI']
  world.addChannel({ id: 'C0DEV', name: 'dev', members: [...people, botUserId] })
  world.addChannel({ id: 'C0OPS', name: 'ops', members: people })
  world.userGroups.set('S0OPS', new Set(['U0ANNA'])).set('S0ALL', new Set(['U0ANNA', 'U0BEN']))
  world.addChannel({ id: 'C0SECRET', name: 'secret', kind: 'group', members: people })
}

async function firstPart(type: string, body: Buffer): Promise<Buffer> {
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData()
  for (const value of form.values()) if (typeof value !== 'string') return Buffer.from(await value.arrayBuffer())
  return Buffer.alloc(0)
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
