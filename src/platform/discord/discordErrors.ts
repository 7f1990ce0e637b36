import { RESTJSONErrorCodes as Code, DiscordAPIError, HTTPError, RateLimitError } from 'discord.js'
import { messageOf, PlatformError, type PlatformErrorKind } from '../../shared/errors.ts'

/** Discord's names of the rights that a call may lack, as its server settings show them. */
export type Right =
  | 'View Channel'
  | 'Send Messages'
  | 'Send Messages in Threads'
  | 'Create Public Threads'
  | 'Read Message History'
  | 'Attach Files'
  | 'Add Reactions'

/** The mend for a refused token: an admin has to replace it. */
export const TOKEN_MEND = 'Set DISCORD_TOKEN to the token from the Bot page of discord.com/developers and restart.'

const KINDS: Partial<Record<number, PlatformErrorKind>> = {
  [Code.UnknownChannel]: 'notFound',
  [Code.UnknownMessage]: 'notFound',
  [Code.UnknownMember]: 'notFound',
  [Code.UnknownUser]: 'notFound',
  [Code.UnknownGuild]: 'notFound',
  [Code.UnknownWebhook]: 'notFound',
  [Code.UnknownInteraction]: 'notFound',
  [Code.InvalidWebhookToken]: 'notFound',
  [Code.InvalidActionOnArchivedThread]: 'notEditable',
  [Code.CannotEditMessageAuthoredByAnotherUser]: 'notEditable',
  [Code.RequestEntityTooLarge]: 'tooLong',
  [Code.FileUploadedExceedsMaximumSize]: 'tooLong',
  [Code.MissingAccess]: 'forbidden',
  [Code.MissingPermissions]: 'forbidden',
  [Code.CannotReplyWithoutPermissionToReadMessageHistory]: 'forbidden',
  [Code.ThreadLocked]: 'forbidden',
  [Code.MaximumActiveThreads]: 'forbidden',
  [Code.CannotSendMessagesToThisUser]: 'forbidden',
}

/**
 * What a failed call means for the callers above. `doing` is a few words for the log, `rights` are those that the call
 * needs: a refusal for lack of rights names them, since Discord itself does not say which one is missing.
 */
export function toPlatformError(error: unknown, doing: string, rights: readonly Right[] = []): PlatformError {
  if (error instanceof PlatformError) return error
  const said = `${doing}: ${messageOf(error)}`
  // Also 30046, the tighter limit for messages older than an hour: discord.js reads no body of a 429, and waiting is right.
  if (error instanceof RateLimitError) {
    const retryAfterMs = Math.ceil(error.retryAfter)
    return new PlatformError('rateLimited', '429', `${doing}: rate limited`, { retryAfterMs, cause: error })
  }
  if (error instanceof DiscordAPIError) {
    const code = String(error.code ?? error.status)
    if (error.status === 401 && error.code !== Code.InvalidWebhookToken) {
      return new PlatformError('forbidden', code, said, { mend: TOKEN_MEND, cause: error })
    }
    const kind = kindOf(error)
    const mend = kind === 'forbidden' ? mendFor(error, rights) : undefined
    return new PlatformError(kind, code, said, { ...(mend ? { mend } : {}), cause: error })
  }
  // After discord.js' own retries: a 5xx may have come after the message was stored, and so may a time-out.
  const uncertain = error instanceof HTTPError || !neverSent(error)
  const code = error instanceof HTTPError ? String(error.status) : codeOf(error)
  return new PlatformError('unavailable', code, said, { uncertain, cause: error })
}

function kindOf(error: DiscordAPIError): PlatformErrorKind {
  // Cloudflare in front of Discord answers with a page instead of a code.
  if (error.code === undefined) return 'unavailable'
  const known = KINDS[Number(error.code)]
  if (known) return known
  if (error.code === Code.InvalidFormBodyOrContentType) {
    return /^content\[BASE_TYPE_MAX_LENGTH\]/m.test(error.message) ? 'tooLong' : 'invalid'
  }
  return error.status === 403 ? 'forbidden' : 'invalid'
}

function mendFor(error: DiscordAPIError, rights: readonly Right[]): string {
  switch (error.code) {
    case Code.CannotSendMessagesToThisUser:
      return 'the person has to allow direct messages from this server.'
    case Code.CannotReplyWithoutPermissionToReadMessageHistory:
      return 'I need the permission "Read Message History" in this channel.'
    case Code.ThreadLocked:
      return 'the thread has to be unlocked, or I need the permission "Manage Threads".'
    case Code.MaximumActiveThreads:
      return 'the server has too many active threads; some have to be archived.'
    default:
      return `I need the permission ${rights.map((right) => `"${right}"`).join(' and ') || '"View Channel"'} in this channel.`
  }
}

/** True for errors of the connection that rule out that the request reached Discord. */
function neverSent(error: unknown): boolean {
  return ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'].includes(codeOf(error))
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'network'
}
