import { onTestFinished } from 'vitest'
import { createDiscordPlatform, type DiscordOptions } from '../../src/platform/discord/discordPlatform.ts'
import type { ChatPlatform, MessageBody } from '../../src/platform/platform.ts'
import type { Log } from '../../src/shared/log.ts'
import { type DiscordDouble, type DiscordDoubleOptions, startDiscordDouble } from '../doubles/discord/server.ts'
import { createRecordingInbox, type RecordingInbox } from './recordingInbox.ts'

export interface LogLine {
  level: 'debug' | 'info' | 'warn' | 'error'
  message: string
  fields: object
}

export interface Bot {
  double: DiscordDouble
  inbox: RecordingInbox
  platform: ChatPlatform
  /** What the adapter logged. */
  lines: LogLine[]
}

/** A double without rate limits, unless they are what the test is about. */
export async function double(options: DiscordDoubleOptions = {}): Promise<DiscordDouble> {
  const started = await startDiscordDouble({ rateLimits: false, ...options })
  onTestFinished(() => started.close())
  return started
}

/** An adapter that is not started yet. It is stopped when the test ends. */
export function adapter(of: DiscordDouble, options: Partial<DiscordOptions> = {}) {
  const lines: LogLine[] = []
  const platform = createDiscordPlatform({ token: of.token, apiUrl: of.apiUrl, log: recordingLog(lines), ...options })
  onTestFinished(() => platform.stop())
  return { double: of, inbox: createRecordingInbox(), platform, lines }
}

/** A bot that hears and speaks. With `of`, one more process with the same token, as after a restart. */
export async function startBot(options: Partial<DiscordOptions> = {}, of?: DiscordDouble): Promise<Bot> {
  const bot = adapter(of ?? (await double()), options)
  await bot.platform.start(bot.inbox)
  return bot
}

export const answer = (markdown: string): MessageBody => ({ markdown, kind: 'answer' })

function recordingLog(lines: LogLine[]): Log {
  const at = (level: LogLine['level']) => (fields: object, message: string) =>
    void lines.push({ level, message, fields })
  const log: Log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: () => log }
  return log
}
