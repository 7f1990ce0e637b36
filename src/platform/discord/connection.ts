import {
  Client,
  DiscordAPIError,
  DiscordjsError,
  DiscordjsErrorCodes,
  Events,
  GatewayIntentBits,
  Options,
  Partials,
  type RateLimitData,
} from 'discord.js'
import { messageOf, type Problem, SetupError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { TOKEN_MEND } from './discordErrors.ts'
import { createRequestGate } from './requestGate.ts'
import { createRestAgent } from './restAgent.ts'

/** Messages that discord.js keeps per channel: for replies to them and for edits that add a mention. */
const CACHED_MESSAGES = 100
/** One attempt of a request; an upload of 10 MiB fits on an ordinary line. */
const REQUEST_TIMEOUT_MS = 30_000
const REQUEST_RETRIES = 2

const INTENTS = [
  GatewayIntentBits.Guilds,
  GatewayIntentBits.GuildMessages,
  GatewayIntentBits.GuildMessageReactions,
  GatewayIntentBits.DirectMessages,
  GatewayIntentBits.DirectMessageReactions,
  GatewayIntentBits.MessageContent,
]

/**
 * A client of discord.js as this bot needs it. `Partials.Channel` brings direct messages and threads that are not cached.
 * Edits are rejected instead of queued when the limit is reached: a queued frame would be stale when its turn comes, and it
 * would hold up the next message, which waits in the same queue.
 */
export function createClient(options: { apiUrl: string; log: Log; requestTimeoutMs?: number }): Client {
  const { apiUrl, log, requestTimeoutMs = REQUEST_TIMEOUT_MS } = options
  const client = new Client({
    intents: INTENTS,
    partials: [Partials.Channel],
    allowedMentions: { parse: [], repliedUser: false },
    makeCache: Options.cacheWithLimits({ ...Options.DefaultMakeCacheSettings, MessageManager: CACHED_MESSAGES }),
    rest: {
      api: apiUrl.replace(/\/+$/, ''),
      agent: createRestAgent(),
      makeRequest: createRequestGate(),
      timeout: requestTimeoutMs,
      retries: REQUEST_RETRIES,
      rejectOnRateLimit: isEdit,
      invalidRequestWarningInterval: 500,
    },
  })
  // Without these listeners an error of the connection, or of a listener, would end the process.
  client.on(Events.Error, (error) => log.error({ error }, 'discord.js reported an error'))
  client.on(Events.ShardError, (error) => log.warn({ error }, 'the connection to Discord failed'))
  client.on(Events.Warn, (message) => log.warn({}, message))
  client.on(Events.ShardReconnecting, () => log.debug({}, 'the connection to Discord is gone; it is opened again'))
  client.on(Events.ShardResume, (_, replayed) => log.info({ replayed }, 'the connection to Discord is back'))
  client.on(Events.ShardDisconnect, ({ code }) => {
    if (code !== 1000)
      log.error({ code }, 'Discord ended the connection for good; the bot hears nothing until a restart')
  })
  client.rest.on('rateLimited', ({ method, route, timeToReset }) =>
    log.debug({ method, route, timeToReset }, 'waiting for a rate limit of Discord'),
  )
  client.rest.on('invalidRequestWarning', (data) =>
    log.warn(data, 'many requests were refused; Discord bans the address at 10,000 in 10 minutes'),
  )
  return client
}

function isEdit({ method, route }: RateLimitData): boolean {
  return method.toUpperCase() === 'PATCH' && route === '/channels/:id/messages/:id'
}

/**
 * Logs in and waits until the servers are known. discord.js retries for ever where the gateway can't be reached, so there is
 * a limit.
 *
 * @throws SetupError naming the setting and the mend
 */
export async function connect(client: Client, token: string, apiUrl: string, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const ready = new Promise<void>((resolve) => client.once(Events.ClientReady, () => resolve()))
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no connection within ${limitMs / 1000} s`)), limitMs)
  })
  const login = client.login(token)
  try {
    await Promise.race([Promise.all([login, ready]), tooLate])
  } catch (error) {
    login.catch(() => {})
    await client.destroy()
    throw new SetupError([problemOf(error, apiUrl)], { cause: error })
  } finally {
    clearTimeout(timer)
  }
}

function problemOf(error: unknown, apiUrl: string): Problem {
  const said = messageOf(error)
  if (isTokenInvalid(error)) {
    return { problem: 'Discord does not accept DISCORD_TOKEN.', mend: TOKEN_MEND }
  }
  if (/disallowed intents/i.test(said)) {
    return {
      problem: 'The message content intent is not switched on for the application of DISCORD_TOKEN.',
      mend: 'Switch on "Message Content Intent" on the Bot page of discord.com/developers and restart.',
    }
  }
  if (/not enough sessions/i.test(said)) {
    return {
      problem: 'The application of DISCORD_TOKEN has logged in too often today (1,000 times).',
      mend: 'Find what restarts it over and over, and start it again when 24 hours have passed.',
    }
  }
  return {
    problem: `Discord can't be reached at ${apiUrl} (${said}).`,
    mend: 'Check the network, a proxy on the way, and DISCORD_API_URL if it is set.',
  }
}

function isTokenInvalid(error: unknown): boolean {
  if (error instanceof DiscordjsError) return error.code === DiscordjsErrorCodes.TokenInvalid
  if (error instanceof DiscordAPIError) return error.status === 401
  return /authentication failed/i.test(messageOf(error))
}
