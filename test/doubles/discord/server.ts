import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from './context.ts'
import { createFaults } from './faults.ts'
import { createGateway, INTENT } from './gateway.ts'
import { createHands } from './hands.ts'
import { createInteractions } from './interactions.ts'
import { createPeople } from './people.ts'
import { createRateLimits } from './rateLimits.ts'
import type { RecordedRequest } from './rest.ts'
import { serveApi } from './rest.ts'
import type { Message } from './world.ts'
import { CHANNEL, World } from './world.ts'

export interface DiscordDoubleOptions {
  token?: string
  /** False lets everything through; by default the limits are those that Discord was seen to apply. */
  rateLimits?: boolean
  /** The switches of the application's privileged intents. By default the message content intent is on. */
  messageContentIntent?: boolean
  heartbeatIntervalMs?: number
  /**
   * Lets clients in that are not ours: those that do not name themselves as Discord asks (it may block them, and is not known
   * to always do so), and those whose texts do not say whom they may ring (Discord takes that, and rings everybody).
   */
  anyClient?: boolean
}

/** How long `enforce_nonce` remembers: "a few minutes". */
const NONCE_WINDOW_MS = 3 * 60_000

/** Starts Discord on a free port of 127.0.0.1: give `apiUrl` to the program as `DISCORD_API_URL`. */
export async function startDiscordDouble(options: DiscordDoubleOptions = {}) {
  const { anyClient = false } = options
  const token = options.token ?? 'double-discord-token'
  let ahead = 0
  const now = () => Date.now() + ahead
  const world = new World(now)
  const guild = world.newGuild('Acme Robotics')
  const server = createServer()
  const gateway = createGateway(server, world, {
    token,
    disallowedIntents: options.messageContentIntent === false ? INTENT.content : 0,
    heartbeatIntervalMs: options.heartbeatIntervalMs ?? 41_250,
  })
  let port = 0
  let nonceWindow = NONCE_WINDOW_MS
  const context: Context = {
    world,
    gateway,
    interactions: createInteractions(world),
    origin: () => `http://127.0.0.1:${port}`,
    nonceWindowMs: () => nonceWindow,
    commands: new Map(),
  }
  const people = createPeople(context, guild.id)
  const channelId = people.channel('general')
  const forumId = people.channel('help', CHANNEL.forum)
  const aliceId = people.user('Alice')
  const faults = createFaults()
  const limits = options.rateLimits === false ? undefined : createRateLimits(now)
  const requests: RecordedRequest[] = []
  const underWay: string[] = []
  server.on('request', (request, response) => {
    const cdn = /^\/cdn\/attachments\/\d+\/(\d+)\//.exec(request.url ?? '')
    if (cdn) {
      const file = world.files.get(cdn[1]!)
      response.writeHead(file ? 200 : 404).end(file?.bytes)
      return
    }
    const record = (entry: RecordedRequest) => requests.push(entry)
    void serveApi(request, response, { token, context, faults, limits, anyClient, record, underWay })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port

  const messages = (id: string): Message[] => (world.messages.get(id) ?? []).map(({ message }) => message)

  const apiUrl = `http://127.0.0.1:${port}/api`
  return {
    ...people,
    ...createHands(context),
    /** What a program is set to by its environment, to live in this server. */
    env: { DISCORD_TOKEN: token, DISCORD_API_URL: apiUrl, DISCORD_GUILD_ID: guild.id },
    apiUrl,
    token,
    botId: world.bot.id,
    guildId: guild.id,
    ownerId: guild.owner_id,
    /** A text channel, a forum and a person, ready to use. */
    channelId,
    forumId,
    aliceId,
    world,
    gateway,
    requests,
    fault: faults.add,
    clearFaults: faults.clear,
    commands: (scope: string) => (context.commands.get(scope) ?? []) as { name: string; options?: object[] }[],
    /** Everything in a channel, thread or direct message, oldest first. */
    messages,
    /** One message as a list, empty when there is none. */
    find: (channel: string, id: string): Message[] => messages(channel).filter((message) => message.id === id),
    /** What the bot has said there, without thread starters. */
    botMessages: (id: string) => messages(id).filter(({ author, type }) => author.id === world.bot.id && type !== 21),
    /** A channel or thread as people read it: `NAME: text` a line, starters and system messages left out. */
    text: (id: string) =>
      messages(id)
        .filter(({ type }) => type === 0 || type === 19 || type === 20)
        .map(
          ({ author, content, flags }) =>
            `${author.global_name ?? author.username}: ${(flags & 128) !== 0 ? '…thinking' : content}`,
        )
        .join('\n'),
    /** Whom a message rang at its last create or edit. */
    notified: (channel: string, message: string) => world.find(channel, message)?.notified,
    /** The bot is shown as typing: for 10 seconds, or until it says something. */
    isTyping: (channel: string) => (world.typing.get(channel) ?? 0) > now(),
    requestsOf: (route: string) => requests.filter((request) => request.route === route),
    /** How many requests of the route are not answered yet. */
    underWay: (route: string) => underWay.filter((one) => one === route).length,
    /** Moves the double's clock: tokens, rate limits and nonces age with it. */
    advance(ms: number) {
      ahead += ms
    },
    /** How long nonces are remembered from here on; 0 forgets them all. */
    nonceWindow(ms: number) {
      nonceWindow = ms
    },
    /** Waits until `probe` gives something truthy and returns it; fails with `what` after `timeoutMs`. */
    async waitFor<T>(what: string, probe: () => T | undefined | false | null, timeoutMs = 5_000): Promise<T> {
      const end = Date.now() + timeoutMs
      for (;;) {
        const found = probe()
        if (found) return found
        if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`)
        await sleep(10)
      }
    },
    async close() {
      gateway.stop()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export type DiscordDouble = Awaited<ReturnType<typeof startDiscordDouble>>
