import { webApi } from '@slack/bolt'
import { messageOf, PlatformError, type PlatformErrorKind } from '../../shared/errors.ts'

/** Slack says how long to wait with every 429; where the number is missing, this long. */
const DEFAULT_RETRY_AFTER_MS = 5_000

const KINDS: Record<string, PlatformErrorKind> = {
  ratelimited: 'rateLimited',
  rate_limited: 'rateLimited',

  message_not_found: 'notFound',
  thread_not_found: 'notFound',
  file_not_found: 'notFound',
  user_not_found: 'notFound',
  bot_not_found: 'notFound',
  invalid_thread_ts: 'notFound',
  // What a dialog is opened with has gone: it lives for 3 seconds and opens one.
  expired_trigger_id: 'notFound',
  exchanged_trigger_id: 'notFound',

  cant_update_message: 'notEditable',
  edit_window_closed: 'notEditable',
  streaming_state_conflict: 'notEditable',
  block_mismatch: 'notEditable',
  is_inactive: 'notEditable',
  cant_delete_message: 'notEditable',

  msg_too_long: 'tooLong',
  msg_blocks_too_long: 'tooLong',
  file_upload_size_restricted: 'tooLong',
  view_too_large: 'tooLong',

  internal_error: 'unavailable',
  fatal_error: 'unavailable',
  service_unavailable: 'unavailable',
  request_timeout: 'unavailable',
  update_failed: 'unavailable',
  messaging_processing_failed: 'unavailable',
}

/** Refusals for lack of a right, each with what an admin can do about it. */
const MENDS: Record<string, (bot: string) => string> = {
  not_in_channel: (bot) => `Invite the bot to the channel with \`/invite @${bot}\`.`,
  channel_not_found: (bot) => `Invite the bot to the channel with \`/invite @${bot}\`, if the channel still exists.`,
  user_not_in_channel: () => 'The person has to be a member of the channel.',
  is_archived: () => 'The channel is archived; unarchive it first.',
  not_authed: () => 'Check SLACK_BOT_TOKEN.',
  invalid_auth: () => 'Check SLACK_BOT_TOKEN: the token is not valid any more.',
  account_inactive: () => 'The app was removed from the workspace; install it again and set the new SLACK_BOT_TOKEN.',
  token_revoked: () => 'The token was revoked; install the app again and set the new SLACK_BOT_TOKEN.',
  token_expired: () => 'The token has expired; switch token rotation off in the app settings and set the new token.',
  messages_tab_disabled: () => 'Switch the Messages tab on under App Home in the app settings.',
  file_uploads_disabled: () => 'File uploads are switched off in this workspace.',
  file_uploads_except_images_disabled: () => 'This workspace allows only images to be uploaded.',
  storage_limit_reached: () => 'The workspace has no file storage left.',
  message_limit_exceeded: () => 'The workspace has reached its limit of messages.',
}
const RIGHT_IS_MISSING =
  /^(restricted_action|posting_to_|slack_connect_|no_permission|access_denied|accesslimited|not_allowed|team_access|org_login|enterprise_is|ekm_|no_access|feature_not_enabled|not_authorized|thread_locked|user_not_visible)/

/** Answers that mean that this workspace or app will not get the feature, however often it is asked. */
const NOT_TO_BE_HAD = new Set([
  'unknown_method',
  'method_deprecated',
  'feature_not_enabled',
  'missing_scope',
  'not_allowed_token_type',
  'not_authorized',
  'no_permission',
  'access_denied',
  'team_access_not_granted',
])

export function isNotToBeHad(code: string): boolean {
  return NOT_TO_BE_HAD.has(code)
}

/** Network failures that say for sure that the request never left. */
const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'EHOSTUNREACH'])

export interface CallContext {
  method: string
  /** The bot's name, for mends such as `/invite @name`. */
  bot: string
  /** True for calls that change something: only these can have taken effect although they failed. */
  writes: boolean
}

/** What a failed call of the Slack client means to the rest of the program. */
export function platformErrorOf(error: unknown, context: CallContext): PlatformError {
  if (error instanceof PlatformError) return error
  const { method, writes } = context
  if (error instanceof webApi.WebAPIRateLimitedError) {
    return new PlatformError('rateLimited', 'ratelimited', `Slack limits ${method}`, {
      retryAfterMs: error.retryAfter * 1000,
      cause: error,
    })
  }
  if (error instanceof webApi.WebAPIPlatformError) return refusalOf(error, context)
  if (error instanceof webApi.WebAPIHTTPError) {
    return new PlatformError('unavailable', `http_${error.statusCode}`, `Slack answered ${method} with an HTTP error`, {
      uncertain: writes && error.statusCode >= 500,
      cause: error,
    })
  }
  if (error instanceof webApi.WebAPIRequestError) {
    const code = networkCodeOf(error) ?? 'network'
    return new PlatformError('unavailable', code, `${method} did not reach Slack: ${messageOf(error)}`, {
      uncertain: writes && !NOT_SENT.has(code),
      cause: error,
    })
  }
  // The client reports a 429 that has no Retry-After as a plain error.
  if (error instanceof Error && error.message.startsWith('Retry header did not contain')) {
    return new PlatformError('rateLimited', 'ratelimited', `Slack limits ${method} and does not say for how long`, {
      retryAfterMs: DEFAULT_RETRY_AFTER_MS,
      cause: error,
    })
  }
  return new PlatformError('unavailable', 'unknown', `${method} failed: ${messageOf(error)}`, {
    uncertain: writes,
    cause: error,
  })
}

/** The `error` code of a refused call (`ok: false`), or undefined for every other failure. */
export function slackCodeOf(error: unknown): string | undefined {
  if (error instanceof webApi.WebAPIPlatformError) return String(error.data.error)
  return error instanceof PlatformError ? error.code : undefined
}

function refusalOf(error: webApi.WebAPIPlatformError, { method, bot, writes }: CallContext): PlatformError {
  const data = error.data as { error: string; needed?: string; response_metadata?: { retryAfter?: number } }
  const code = data.error
  // A body that is no JSON (an HTML page of a proxy) reaches us as the "code".
  if (!/^[a-z0-9_.-]{1,80}$/i.test(code)) {
    return new PlatformError('unavailable', 'no_json', `Slack answered ${method} with something that is not JSON`, {
      uncertain: writes,
      cause: error,
    })
  }
  if (code === 'missing_scope') {
    const needed = data.needed ?? 'unknown'
    return new PlatformError('forbidden', code, `${method} needs the scope ${needed}`, {
      mend: `Add the scope ${needed} under "OAuth & Permissions" in the app settings and install the app again.`,
      cause: error,
    })
  }
  // An archived channel refuses posts for lack of a right, but for a message in it the same code means "no longer editable".
  if (code === 'is_archived' && (method === 'chat.update' || method === 'chat.delete')) {
    return new PlatformError('notEditable', code, `${method}: the channel is archived`, { cause: error })
  }
  const mend = MENDS[code]
  if (mend || RIGHT_IS_MISSING.test(code)) {
    return new PlatformError('forbidden', code, `Slack refused ${method}: ${code}`, {
      mend: mend?.(bot) ?? `Slack refuses this for a rule of the channel or workspace (${code}).`,
      cause: error,
    })
  }
  const kind = saysTooLong(error.data.response_metadata) ? 'tooLong' : (KINDS[code] ?? 'invalid')
  const retryAfterMs = (data.response_metadata?.retryAfter ?? DEFAULT_RETRY_AFTER_MS / 1000) * 1000
  return new PlatformError(kind, code, `Slack refused ${method}: ${code}`, {
    ...(kind === 'rateLimited' && { retryAfterMs }),
    // Slack says of its internal errors that the operation may have succeeded in part.
    uncertain: writes && kind === 'unavailable',
    cause: error,
  })
}

/** Of a block that is too long Slack says `invalid_blocks`, and only the details tell why. */
function saysTooLong(metadata: { messages?: string[] } | undefined): boolean {
  return metadata?.messages?.some((message) => /must be less than \d+ characters/.test(message)) ?? false
}

function networkCodeOf(error: unknown): string | undefined {
  for (
    let cause: unknown = error;
    cause instanceof Error;
    cause = cause.cause ?? (cause as { original?: unknown }).original
  ) {
    const { code } = cause as { code?: unknown }
    if (typeof code === 'string' && /^E[A-Z_]+$/.test(code)) return code
  }
  return undefined
}
