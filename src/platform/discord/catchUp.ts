import type { Client, Message } from 'discord.js'
import { PlatformError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { threadKey } from '../../shared/thread.ts'
import type { FollowedThread } from '../platform.ts'
import type { DiscordApi } from './discordApi.ts'
import { channelOf, newestFirst } from './discordHistory.ts'

/** Threads and messages that one catching up reads at most: 200 threads, the newest 300 messages of each. */
export const CAUGHT_UP_THREADS = 200
export const CAUGHT_UP_MESSAGES = 300
/** Threads that are read at the same time; the bot has 50 requests a second for everything. */
const AT_ONCE = 4

/**
 * Reads what was written in the bot's threads while no session was listening: after a start, or when Discord ended the
 * session. It replays nothing then. Mentions in channels outside of these threads are not looked for.
 */
export function createCatchUp(options: { client: Client; api: DiscordApi; log: Log }) {
  const { client, api, log } = options
  const slots = createSlots(AT_ONCE)

  async function read({ thread, lastSeen }: FollowedThread): Promise<Message[]> {
    const channel = await channelOf(thread, client, api)
    // Never opened, or deleted meanwhile.
    if (!channel) return []
    const missed: Message[] = []
    for await (const message of newestFirst(channel, api, { until: lastSeen.id })) {
      if (missed.length === CAUGHT_UP_MESSAGES) {
        log.warn(
          { thread: threadKey(thread), kept: missed.length },
          'more was missed than is caught up; oldest left out',
        )
        break
      }
      missed.push(message)
    }
    return missed.reverse()
  }

  return {
    /** The threads to read, newest first. */
    bounded(followed: readonly FollowedThread[]): FollowedThread[] {
      if (followed.length > CAUGHT_UP_THREADS) {
        log.warn({ threads: followed.length, read: CAUGHT_UP_THREADS }, 'only the newest threads are caught up')
      }
      return followed.slice(0, CAUGHT_UP_THREADS)
    },
    /** What was written since, oldest first. A thread that may not be read any more is skipped with a line in the log. */
    async missed(followed: FollowedThread): Promise<Message[]> {
      try {
        return await slots(() => read(followed))
      } catch (error) {
        if (error instanceof PlatformError && error.kind === 'forbidden') {
          log.warn({ error, thread: threadKey(followed.thread) }, 'a thread can no longer be read')
          return []
        }
        throw error
      }
    },
  }
}

/** Lets `count` tasks run at a time, the others wait in order. */
function createSlots(count: number) {
  let free = count
  const waiting: (() => void)[] = []
  return async <T>(task: () => Promise<T>): Promise<T> => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    }
  }
}
