import { type Logger, webApi } from '@slack/bolt'
import { platformErrorOf } from './slackErrors.ts'

/** Slack's Web API as the rest of the adapter calls it: every failure is a `PlatformError`. */
export interface SlackCalls {
  /** A call that changes something: sent once, never repeated by itself. */
  write<T>(method: string, call: (client: webApi.WebClient) => Promise<T>): Promise<T>
  /** A call that only reads: repeated after network failures, and a rate limit is waited out. */
  read<T>(method: string, call: (client: webApi.WebClient) => Promise<T>): Promise<T>
  /** The client that reads, for what wants a client. */
  reader: webApi.WebClient
}

export interface CallOptions {
  token: string
  apiUrl: string
  logger: Logger
  /** How long one call may take, in milliseconds. */
  timeoutMs: number
  /** The bot's name, for mends. */
  botName(): string
}

/**
 * Two clients. The one that writes never retries (a post that timed out would be made twice), hands a rate limit over at
 * once (a client that waits for one pauses its whole queue, so that an edit would hold up every post) and has no queue at
 * all: what goes first is decided in the edit scheduler, and a call that it lets go is never behind others. So edits need no
 * client of their own. The one that reads may wait, since only reads queue behind it.
 */
export function createCalls({ token, apiUrl, logger, timeoutMs, botName }: CallOptions): SlackCalls {
  const common = { slackApiUrl: apiUrl, logger, timeout: timeoutMs }
  const writer = new webApi.WebClient(token, {
    ...common,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    maxRequestConcurrency: Number.POSITIVE_INFINITY,
  })
  const reader = new webApi.WebClient(token, {
    ...common,
    retryConfig: { retries: 2, minTimeout: 300, maxTimeout: 2_000 },
  })
  async function run<T>(method: string, writes: boolean, call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (error) {
      throw platformErrorOf(error, { method, bot: botName(), writes })
    }
  }
  return {
    reader,
    write: (method, call) => run(method, true, () => call(writer)),
    read: (method, call) => run(method, false, () => call(reader)),
  }
}
