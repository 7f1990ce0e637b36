import { RESTJSONErrorCodes as Code, DiscordAPIError, type REST } from 'discord.js'
import { PlatformError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { type Right, TOKEN_MEND, toPlatformError } from './discordErrors.ts'

/** After a 401 nothing is sent for this long: refused requests count towards a ban of the address. */
const PAUSE_AFTER_401_MS = 60_000

/** Runs calls to Discord's API so that every failure is a `PlatformError`. */
export interface DiscordApi {
  rest: REST
  /** `doing` names the call in errors and logs; `rights` are those it needs, for the mend of a refusal. */
  call<T>(doing: string, rights: readonly Right[], run: (rest: REST) => Promise<unknown>): Promise<T>
}

export interface ApiOptions {
  rest: REST
  token: string
  log: Log
  now: () => number
}

/**
 * discord.js forgets the token after the first 401, for good. One stray 401 must not silence a bot that runs for months, so
 * the token is set again after a minute; until then calls fail at once.
 */
export function createDiscordApi({ rest, token, log, now }: ApiOptions): DiscordApi {
  let refusedAt: number | undefined
  return {
    rest,
    async call<T>(doing: string, rights: readonly Right[], run: (rest: REST) => Promise<unknown>): Promise<T> {
      if (refusedAt !== undefined) {
        if (now() - refusedAt < PAUSE_AFTER_401_MS) {
          throw new PlatformError('forbidden', '401', `${doing}: the token was refused`, { mend: TOKEN_MEND })
        }
        refusedAt = undefined
        rest.setToken(token)
      }
      try {
        return (await run(rest)) as T
      } catch (error) {
        if (isTokenRefusal(error)) {
          refusedAt = now()
          log.error({ doing, error }, `Discord no longer accepts the bot's token. ${TOKEN_MEND}`)
        }
        throw toPlatformError(error, doing, rights)
      }
    },
  }
}

function isTokenRefusal(error: unknown): boolean {
  return error instanceof DiscordAPIError && error.status === 401 && error.code !== Code.InvalidWebhookToken
}
