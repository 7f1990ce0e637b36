import type { IncomingMessage as HttpRequest, ServerResponse } from 'node:http'
import { HTTPReceiver, type Receiver } from '@slack/bolt'
import { SLACK_LIMITS, slackSize } from '../../render/slack.ts'
import { messageOf, PlatformError, SetupError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { createRecent } from '../../shared/recent.ts'
import { type Wording, wordingFor } from '../../shared/wording/wording.ts'
import type { CallLimit, ChatPlatform, PlatformInbox, PlatformLimits, Rate } from '../platform.ts'
import { boltLogger } from './boltLogger.ts'
import { createCalls } from './calls.ts'
import { viewOf } from './dialog.ts'
import { type Hearing, hear } from './hearing.ts'
import { readHistory } from './history.ts'
import type { Identity, InboundContext } from './inbound.ts'
import { createPeople } from './people.ts'
import { createPosting } from './posting.ts'
import { identify } from './setup.ts'
import { createSignals } from './signals.ts'
import { createSocket, type SlackSocket } from './socket.ts'
import { createThreads } from './stops.ts'
import { createStreaming, type SlackStreaming } from './streaming.ts'
import { uploadFile } from './uploading.ts'
import { createUserGroups } from './userGroups.ts'
import { whisper } from './whisper.ts'

/** How often what may be called, where that is not what Slack documents: a share of it, for a bot that runs several times. */
export interface SlackRates {
  /** `chat.update` in a workspace. Default 50 a minute. */
  edits: Rate
  /** `chat.delete` in a workspace. Default 50 a minute. */
  removals: Rate
  /** `chat.postMessage` in a workspace. Default 300 a minute. */
  posts: Rate
  /** `chat.postMessage` in a channel. Default 2 in 2 seconds. */
  channelPosts: Rate
}

const RATES: SlackRates = {
  edits: { most: 50, perMs: 60_000 },
  removals: { most: 50, perMs: 60_000 },
  posts: { most: 300, perMs: 60_000 },
  channelPosts: { most: 2, perMs: 2_000 },
}

/** `chat.startStream` and `chat.stopStream`, each, in a workspace. */
const STREAM_ENDS: Rate = { most: 20, perMs: 60_000 }
/** `chat.appendStream` in a workspace. */
const STREAM_ADDITIONS: Rate = { most: 100, perMs: 60_000 }

export interface SlackOptions {
  /** `xoxb-…`. */
  botToken: string
  /** `xapp-…` with `connections:write`: events come by Socket Mode. */
  appToken?: string
  /** Without an app token: events come by HTTP, signed with this. */
  signingSecret?: string
  /** Default `https://slack.com/api/`. */
  apiUrl?: string
  log: Log
  /** What the platform says by itself; default: in the language of the person, where Slack has told it. */
  wording?: Wording
  /** Milliseconds since the epoch; default `Date.now`. */
  now?: () => number
  /** How long one call to Slack may take, in milliseconds; default 15,000. */
  callTimeoutMs?: number
  /** How long `start` waits for a Socket Mode connection, in milliseconds; default 30,000. */
  startTimeoutMs?: number
  rates?: Partial<SlackRates>
  /** Where texts are streamed instead of edited. Default `dm`. */
  streaming?: SlackStreaming
}

export type SlackPlatform = ChatPlatform & {
  /** HTTP mode only: takes Slack's requests to `/slack/events`. Answers 503 unless the platform is started. */
  httpHandler?: (request: HttpRequest, response: ServerResponse) => void
}

/**
 * - `text`: what `chat.update` takes as `text`. The `markdown` block, which is what people see, could hold 12,000
 *   characters, but then notifications, screen readers and search would get less than the whole.
 * - `calls`: `chat.update` and `chat.delete` are tier 3 methods, 50 a minute for all threads of the workspace together.
 *   `chat.postMessage` takes one a second in a channel, with short bursts, and several hundred a minute in a workspace.
 * - `editIntervalMs`: one live message could be edited so often for half a minute; where several are live, they share.
 * - `fileBytes`: Slack's limit for a file.
 * - `dialog`: a view holds 100 blocks, an input 3,000 characters.
 */
const LIMITS: Omit<PlatformLimits, 'calls'> = {
  text: SLACK_LIMITS.text,
  unit: 'utf16',
  editIntervalMs: 1_200,
  fileBytes: 1_000_000_000,
  dialog: { fields: 90, characters: 3_000 },
}

function callLimits({ edits, removals, posts, channelPosts }: SlackRates): CallLimit[] {
  return [
    { calls: ['edit'], ...edits, scope: 'account', burst: share(edits, 0.2), reserve: share(edits, 0.06) },
    { calls: ['remove'], ...removals, scope: 'account', burst: share(removals, 0.2) },
    // The tier of taking one away.
    { calls: ['react'], most: 20, perMs: 60_000, scope: 'account', burst: 6 },
    // A thread at work is one change of its agent session, and its end is another: 50 changes a minute (tier 3).
    { calls: ['status'], most: 24, perMs: 60_000, scope: 'account', burst: 8 },
    { calls: ['startStream'], ...STREAM_ENDS, scope: 'account', burst: 7, reserve: 2 },
    { calls: ['endStream'], ...STREAM_ENDS, scope: 'account', burst: 7 },
    { calls: ['addToStream'], ...STREAM_ADDITIONS, scope: 'account', burst: 30, reserve: 10 },
    { calls: ['post'], ...channelPosts, scope: 'channel' },
    { calls: ['post'], ...posts, scope: 'account', burst: share(posts, 0.33), reserve: share(posts, 0.03) },
  ]
}

/** A part of a limit, at least one call. */
function share({ most }: Rate, part: number): number {
  return Math.max(1, Math.floor(most * part))
}

/** Where Slack's requests arrive in HTTP mode. */
export const EVENTS_PATH = '/slack/events'

/**
 * Slack behind `ChatPlatform`, by Bolt. With an app token events come by Socket Mode, else by HTTP through `httpHandler`.
 * `start` rejects with a `SetupError` if a token is refused, scopes are missing, or no connection opens in time.
 */
export function createSlackPlatform(options: SlackOptions): SlackPlatform {
  const { botToken, appToken, signingSecret, log, now = Date.now } = options
  const apiUrl = options.apiUrl ?? 'https://slack.com/api/'
  const logger = boltLogger(log)
  let identity: Identity | undefined
  let hearing: Hearing | undefined
  let socket: SlackSocket | undefined
  let http: HTTPReceiver | undefined

  function self(): Identity {
    if (!identity) throw new PlatformError('unavailable', 'not_started', 'the Slack platform is not started')
    return identity
  }
  const calls = createCalls({
    token: botToken,
    apiUrl,
    logger,
    timeoutMs: options.callTimeoutMs ?? 15_000,
    botName: () => identity?.name ?? 'toycoder',
  })
  const groups = createUserGroups(calls, log, now)
  const people = createPeople(calls.reader, self, now, groups.of)
  const posting = createPosting(calls, self, log)
  const signals = createSignals(calls, log)
  const threads = createThreads(calls, () => self().team)
  /** Who spoke last in a thread. */
  const readers = createRecent<string>(2_000)
  const streaming = createStreaming({
    ...{ calls, self, log, sessions: signals.sessions, mode: options.streaming ?? 'dm' },
    readerOf: (thread) => readers.get(thread.id),
  })

  /** Opens the way in: a socket that is not connected yet, or the handler that the web server calls. */
  function entrance(): Receiver {
    if (!appToken) {
      http = new HTTPReceiver({ signingSecret: signingSecret!, endpoints: EVENTS_PATH, logger })
      return http
    }
    socket = createSocket({ appToken, apiUrl, log, logger, startTimeoutMs: options.startTimeoutMs ?? 30_000 })
    return socket.receiver
  }

  function listen(inbox: PlatformInbox): void {
    const context: InboundContext = { self: self(), nameOf: people.nameOf, now }
    hearing = hear({
      token: botToken,
      receiver: entrance(),
      clientOptions: { slackApiUrl: apiUrl, retryConfig: { retries: 0 }, timeout: options.callTimeoutMs ?? 15_000 },
      context,
      inbox,
      log,
      logger,
      onMessage({ ref, thread, author }) {
        signals.fresh(ref)
        threads.note(ref, thread)
        if (!author.isBot && !author.isExternal) readers.set(thread.id, author.id)
      },
      threads,
      wordsFor: (personId) => options.wording ?? wordingFor(people.localeOf(personId)),
      tell: (thread, personId, text, token) => whisper(calls, log, thread, personId, text, { ...(token && { token }) }),
      async openDialog(triggerId, dialog, thread) {
        const view = viewOf(dialog, thread)
        await calls.write('views.open', (client) => client.views.open({ trigger_id: triggerId, view }))
      },
    })
  }

  return {
    name: 'slack',
    limits: { ...LIMITS, calls: callLimits({ ...RATES, ...options.rates }) },
    streaming: {
      ...streaming,
      async start(thread, text) {
        const ref = await streaming.start(thread, text)
        threads.note(ref, thread)
        return ref
      },
    },
    size: slackSize,

    async start(inbox) {
      if (!appToken && !signingSecret) throw new SetupError([NO_WAY_IN])
      identity = await identify(calls.reader, log)
      listen(inbox)
      await socket?.open()
      log.info({ team: identity.team, bot: identity.name, mode: appToken ? 'socket' : 'http' }, 'connected to Slack')
    },

    async stop() {
      http = undefined
      await hearing?.stop()
      await socket?.close()
    },

    async open(place, body, postOptions) {
      const { thread, ref } = await posting.open(place, body, postOptions)
      threads.note(ref, thread)
      return { thread, ref }
    },
    async post(thread, body, postOptions) {
      const ref = await posting.post(thread, body, postOptions)
      threads.note(ref, thread)
      return ref
    },
    edit: (_thread, ref, body) => posting.edit(ref, body),
    remove: (_thread, ref) => posting.remove(ref),
    upload: (thread, file, postOptions) => uploadFile(calls, self().userId, thread, file, postOptions),
    react: signals.react,
    status: signals.status,
    whisper: (where, personId, markdown, options) => whisper(calls, log, where, personId, markdown, options),
    history: (thread, before, limit) =>
      readHistory({ calls, log, self: self(), person: people.person }, thread, before, limit),
    async permalink(_thread, ref) {
      try {
        const answer = await calls.read('chat.getPermalink', (client) =>
          client.chat.getPermalink({ channel: ref.channel, message_ts: ref.id }),
        )
        return answer.permalink ?? null
      } catch (error) {
        if (error instanceof PlatformError && error.kind !== 'unavailable') return null
        throw error
      }
    },
    person: (_account, id) => people.person(id),

    ...(!appToken && {
      httpHandler(request: HttpRequest, response: ServerResponse) {
        if (!http) return refuse(response, 503)
        try {
          http.requestListener(request, response)
        } catch (error) {
          // Another path or method than Slack uses.
          log.debug({ reason: messageOf(error) }, 'a request that is not from Slack')
          refuse(response, 404)
        }
      },
    }),
  }
}

const NO_WAY_IN = {
  problem: 'SLACK_BOT_TOKEN is set, but neither SLACK_APP_TOKEN nor SLACK_SIGNING_SECRET.',
  mend: 'Set SLACK_APP_TOKEN (xapp-…, for Socket Mode), or SLACK_SIGNING_SECRET if Slack reaches this server by HTTP.',
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status)
  response.end()
}
