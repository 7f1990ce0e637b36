import { type Client, Routes } from 'discord.js'
import { discordSize } from '../../render/discord.ts'
import { PlatformError, SetupError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { MessageRef, ThreadRef } from '../../shared/thread.ts'
import { type Wording, wordingFor } from '../../shared/wording/wording.ts'
import type { CallLimit, ChatPlatform, MessageBody, Place, PlatformLimits, PostOptions, Rate } from '../platform.ts'
import { type CommandSpec, notInGuild, registerCommands } from './commands.ts'
import { connect, createClient } from './connection.ts'
import { createDiscordApi } from './discordApi.ts'
import { TOKEN_MEND } from './discordErrors.ts'
import { readHistory } from './discordHistory.ts'
import { createInbound } from './inbound.ts'
import { DM_ACCOUNT } from './incoming.ts'
import { createPeople } from './people.ts'
import { createPlaceholders } from './placeholders.ts'
import { createPosts, FILE_BYTES } from './posts.ts'
import { warnOfMissingRights } from './preflight.ts'
import { createReactions } from './reactions.ts'
import { createThreads } from './threads.ts'

const START_LIMIT_MS = 30_000

/** How often what may be called, where that is not what Discord was seen to take: a share, for a bot that runs several times. */
export interface DiscordRates {
  /** Edits in a thread, which is a channel of its own. Default 4 in 5 seconds. */
  edits: Rate
  /** Posts in a thread. Default 4 in 5 seconds. */
  posts: Rate
  /** All calls of the bot that are counted here. Default 46 a second. */
  all: Rate
}

/**
 * Of the 5 edits and 5 posts in 5 s that a channel was seen to have, one slot each stays free: at zero, discord.js holds back
 * the next call of both kinds. Of the 50 calls a second that a bot has, some stay free for what is not counted here.
 */
const RATES: DiscordRates = {
  edits: { most: 4, perMs: 5_000 },
  posts: { most: 4, perMs: 5_000 },
  all: { most: 46, perMs: 1_000 },
}

const LIMITS: Omit<PlatformLimits, 'calls'> = {
  text: 2_000,
  unit: 'codePoints',
  editIntervalMs: 1_300,
  fileBytes: FILE_BYTES,
  // A modal takes five inputs of 4,000 characters (facts/discord.md, components).
  dialog: { fields: 5, characters: 4_000 },
}

function callLimits({ edits, posts, all }: DiscordRates): CallLimit[] {
  return [
    { calls: ['edit'], ...edits, scope: 'thread', reserve: 1 },
    { calls: ['post'], ...posts, scope: 'thread' },
    { calls: ['post', 'edit', 'remove', 'react', 'status'], ...all, scope: 'bot', reserve: Math.floor(all.most / 10) },
  ]
}

export interface DiscordOptions {
  token: string
  /** Registers the commands in this server only; without it, everywhere. */
  guildId?: string
  /** Default `https://discord.com/api`. */
  apiUrl?: string
  log: Log
  /** Slash commands to register; none are touched where this is absent. */
  commands?: readonly CommandSpec[]
  /** The few sentences that the adapter says itself. English by default. */
  wording?: Wording
  now?: () => number
  /** Milliseconds until a start without a connection is given up; 30 s. */
  startLimitMs?: number
  /** Milliseconds for one attempt of a request; 30 s. */
  requestTimeoutMs?: number
  /** Milliseconds until the person who clicked is told that it takes longer; 2 s, of the 3 s that Discord gives. */
  answerWithinMs?: number
  rates?: Partial<DiscordRates>
}

/** Discord as a chat platform, on discord.js. */
export function createDiscordPlatform(options: DiscordOptions): ChatPlatform {
  const { guildId, apiUrl = 'https://discord.com/api', now = Date.now } = options
  const log = options.log.child({ platform: 'discord' })
  const token = options.token.trim().replace(/^Bot\s+/i, '')
  const wording = options.wording ?? wordingFor('en')
  const { requestTimeoutMs, answerWithinMs } = options
  const client = createClient({ apiUrl, log, ...(requestTimeoutMs ? { requestTimeoutMs } : {}) })
  const api = createDiscordApi({ rest: client.rest, token, log, now })
  const botId = () => client.user?.id ?? ''
  const threads = createThreads({ client, api, log, wording })
  const posts = createPosts({ api, threads, botId })
  const people = createPeople({ client, api, now, homeGuild: () => guildId ?? onlyGuild(client) })
  const reactions = createReactions(api, log)
  const placeholders = createPlaceholders({ client, api })
  const inbound = createInbound({
    ...{ client, api, log, now, wording, threads, posts, people, placeholders },
    ...(answerWithinMs === undefined ? {} : { answerWithinMs }),
  })

  /** The message that a thread is opened on: a command's placeholder if there is one, else a new message. */
  async function firstMessage(place: Place, body: MessageBody, post: PostOptions): Promise<MessageRef> {
    const interactionId = /^command:(\d+)$/.exec(post.key)?.[1]
    const placeholder = interactionId ? await placeholders.find(interactionId, place.channel) : undefined
    if (!interactionId || !placeholder) return posts.send({ channel: place.channel }, body, post)
    try {
      await posts.edit(placeholder, body)
      placeholders.used(interactionId)
      return placeholder
    } catch (error) {
      // Somebody has deleted it meanwhile.
      if (!(error instanceof PlatformError) || error.kind !== 'notFound') throw error
      return posts.send({ channel: place.channel }, body, post)
    }
  }

  return {
    name: 'discord',
    limits: { ...LIMITS, calls: callLimits({ ...RATES, ...options.rates }) },
    streaming: null,
    size: discordSize,

    async start(inbox) {
      if (token === '') throw new SetupError([{ problem: 'DISCORD_TOKEN is empty.', mend: TOKEN_MEND }])
      inbound.listen(inbox)
      await connect(client, token, apiUrl, options.startLimitMs ?? START_LIMIT_MS)
      const applicationId = client.application?.id ?? botId()
      try {
        if (guildId && !client.guilds.cache.has(guildId)) throw notInGuild(guildId, applicationId)
        if (options.commands) await registerCommands(options.commands, { api, applicationId, guildId, log })
      } catch (error) {
        await client.destroy()
        throw error
      }
      warnOfMissingRights(client, log)
    },

    async stop() {
      await inbound.stop()
      await client.destroy()
      // The connection is closed, but answers may still be finished: discord.js has just forgotten the token.
      client.rest.setToken(token)
    },

    async open(place, body, post) {
      const ref = await firstMessage(place, body, post)
      const { account, channel } = place
      if (account === DM_ACCOUNT) return { thread: { platform: 'discord', account, id: channel, channel }, ref }
      const thread: ThreadRef = { platform: 'discord', account, id: ref.id, channel, thread: ref.id }
      await threads.openOn(thread, body.markdown)
      return { thread, ref }
    },

    post: posts.post,
    edit: (_, ref, body) => posts.edit(ref, body),
    remove: (_, ref) => posts.remove(ref),
    upload: posts.upload,
    react: (_, ref, name) => reactions.react(ref, name),

    async status(thread, text) {
      // Typing ends by itself after 10 seconds, or with the next message.
      if (text === null) return
      try {
        await threads.within(thread, ({ channel }) =>
          api.call('show that I am typing', ['Send Messages'], (rest) => rest.post(Routes.channelTyping(channel))),
        )
      } catch (error) {
        log.debug({ error, thread: thread.id }, 'typing could not be shown')
      }
    },

    async whisper(_, __, markdown, { token, buttons } = {}) {
      // Discord shows something to one person only as the answer to what that person did.
      return token === undefined ? false : placeholders.whisper(token, markdown, buttons)
    },

    history: (thread, before, limit) => readHistory(thread, before, limit, { client, api }),

    async permalink(thread, ref) {
      return `https://discord.com/channels/${thread.account}/${ref.channel}/${ref.id}`
    },

    person: people.person,
  }
}

function onlyGuild(client: Client): string | undefined {
  return client.guilds.cache.size === 1 ? client.guilds.cache.firstKey() : undefined
}
