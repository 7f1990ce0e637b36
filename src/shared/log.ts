import { pino } from 'pino'

/** Structured log with the few levels we use. `child` adds fields such as the thread to every line. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  child(fields: object): Log
}

/** Levels of `LOG_LEVEL`, quiet to talkative. */
export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** JSON lines on standard error, so that standard output stays for what a person asked to see. */
export function createLog(level: LogLevel): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      errorKey: 'error',
      serializers: { error: pino.stdSerializers.err },
    },
    pino.destination({ dest: 2, sync: true }),
  )
}

export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLog,
}
