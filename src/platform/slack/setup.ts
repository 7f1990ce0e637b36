import { webApi } from '@slack/bolt'
import { messageOf, SetupError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { Identity } from './inbound.ts'
import { slackCodeOf } from './slackErrors.ts'

/** What the bot can't do its work without, and what for. `manifest.yml` asks for all of these. */
export const REQUIRED_SCOPES = [
  'app_mentions:read',
  'chat:write',
  'channels:history',
  'groups:history',
  'im:history',
  'mpim:history',
  'commands',
  'files:write',
  'reactions:write',
  'users:read',
] as const

/** Without these something small is missing; that is said once in the log. */
export const WANTED_SCOPES = ['assistant:write', 'files:read', 'im:write', 'reactions:read', 'usergroups:read'] as const

const SCOPES_MEND =
  'Add them under "OAuth & Permissions" (manifest.yml lists them all) and install the app to the workspace again.'
const TOKEN_MEND =
  'Copy the "Bot User OAuth Token" (xoxb-…) from "OAuth & Permissions" of the app at https://api.slack.com/apps.'

/**
 * Asks Slack who the token belongs to and whether it may do what the bot does.
 * Rejects with a `SetupError` that names `SLACK_BOT_TOKEN` or the missing scopes.
 */
export async function identify(client: webApi.WebClient, log: Log): Promise<Identity> {
  const answer = await client.auth.test().catch((error: unknown) => {
    throw new SetupError([botTokenProblem(error, client.slackApiUrl)], { cause: error })
  })
  const { team_id: team, user_id: userId, bot_id: botId, user: name } = answer
  if (!team || !userId || !botId) {
    throw new SetupError([{ problem: 'SLACK_BOT_TOKEN is not the token of a bot.', mend: TOKEN_MEND }])
  }
  checkScopes(answer.response_metadata?.scopes, log)
  return { team, userId, botId, name: name ?? 'toycoder' }
}

function botTokenProblem(error: unknown, apiUrl: string) {
  if (error instanceof webApi.WebAPIPlatformError) {
    return { problem: `Slack does not accept SLACK_BOT_TOKEN (${slackCodeOf(error)}).`, mend: TOKEN_MEND }
  }
  return {
    problem: `Slack could not be reached at ${apiUrl} (${messageOf(error)}).`,
    mend: 'Check the network, a proxy (NODE_USE_ENV_PROXY=1), and SLACK_API_URL if you set it.',
  }
}

/** Slack lists a token's scopes in a header of every answer; where a proxy drops it there is nothing to check. */
function checkScopes(granted: string[] | undefined, log: Log): void {
  if (!granted) return
  const missing = REQUIRED_SCOPES.filter((scope) => !granted.includes(scope))
  if (missing.length) {
    throw new SetupError([
      {
        problem: `The Slack app lacks the scopes ${missing.join(', ')}.`,
        mend: SCOPES_MEND,
      },
    ])
  }
  const wanted = WANTED_SCOPES.filter((scope) => !granted.includes(scope))
  if (!wanted.length) return
  log.warn({ scopes: wanted, mend: SCOPES_MEND }, 'the Slack app lacks optional scopes; some features will be missing')
}

/** Why Slack did not open a Socket Mode connection, if it is for a reason that waiting does not mend. */
export function appTokenProblem(error: unknown) {
  const code = slackCodeOf(error)
  if (code === undefined || TRANSIENT.has(code) || !/^[a-z_]{1,60}$/.test(code)) return undefined
  return {
    problem: `Slack does not accept SLACK_APP_TOKEN (${code}).`,
    mend: 'Make an app-level token (xapp-…) with the scope connections:write under "Basic Information" of the app, and switch Socket Mode on.',
  }
}

const TRANSIENT = new Set([
  'internal_error',
  'fatal_error',
  'service_unavailable',
  'request_timeout',
  'ratelimited',
  'rate_limited',
])
