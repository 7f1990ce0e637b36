import { type Logger, LogLevel } from '@slack/bolt'
import type { Log } from '../../shared/log.ts'

/**
 * Bolt's log lines in ours. Its debug lines are dropped: they hold whole payloads, and so people's messages.
 * Its errors become warnings: what is an error for the program is logged where it is handled.
 */
export function boltLogger(log: Log): Logger {
  const line = (parts: unknown[]) =>
    parts.map((part) => (part instanceof Error ? part.message : String(part))).join(' ')
  return {
    debug() {},
    info: (...parts: unknown[]) => log.debug({}, line(parts)),
    warn: (...parts: unknown[]) => log.info({}, line(parts)),
    error: (...parts: unknown[]) => log.warn({}, line(parts)),
    setLevel() {},
    getLevel: () => LogLevel.INFO,
    setName() {},
  }
}
