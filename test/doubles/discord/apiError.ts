/** A refusal in the shape of Discord's API: status, numeric code, message and, for forms, the tree of what is wrong. */
export class ApiError extends Error {
  readonly status: number
  readonly code: number
  readonly errors: object | undefined
  constructor(status: number, code: number, message: string, errors?: object) {
    super(message)
    this.status = status
    this.code = code
    this.errors = errors
  }

  body(): object {
    return { message: this.message, code: this.code, ...(this.errors ? { errors: this.errors } : {}) }
  }
}

/** 50035 with one leaf, for example `formError('content', 'BASE_TYPE_MAX_LENGTH', …)`. */
export function formError(path: string, code: string, message: string): ApiError {
  const leaf = { _errors: [{ code, message }] }
  const tree = path.split('.').reduceRight<object>((inner, name) => ({ [name]: inner }), leaf)
  return new ApiError(400, 50035, 'Invalid Form Body', tree)
}

export const refusals = {
  unauthorized: () => new ApiError(401, 0, '401: Unauthorized'),
  unknownRoute: () => new ApiError(404, 0, '404: Not Found'),
  unknownChannel: () => new ApiError(404, 10003, 'Unknown Channel'),
  unknownGuild: () => new ApiError(404, 10004, 'Unknown Guild'),
  unknownMember: () => new ApiError(404, 10007, 'Unknown Member'),
  unknownMessage: () => new ApiError(404, 10008, 'Unknown Message'),
  unknownUser: () => new ApiError(404, 10013, 'Unknown User'),
  unknownWebhook: () => new ApiError(404, 10015, 'Unknown Webhook'),
  unknownInteraction: () => new ApiError(404, 10062, 'Unknown interaction'),
  alreadyAcknowledged: () => new ApiError(400, 40060, 'Interaction has already been acknowledged.'),
  tokenExpired: () => new ApiError(401, 50027, 'Invalid Webhook Token'),
  missingAccess: () => new ApiError(403, 50001, 'Missing Access'),
  missingPermissions: () => new ApiError(403, 50013, 'Missing Permissions'),
  notOwnMessage: () => new ApiError(403, 50005, 'Cannot edit a message authored by another user'),
  empty: () => new ApiError(400, 50006, 'Cannot send an empty message'),
  notHere: () => new ApiError(400, 50008, 'Cannot send messages in a non-text channel'),
  archived: () => new ApiError(400, 50083, 'Thread is archived'),
  locked: () => new ApiError(403, 160005, 'Thread is locked'),
  threadExists: () => new ApiError(400, 160004, 'A thread has already been created for this message'),
  noReplyWithoutHistory: () => new ApiError(400, 160002, 'You cannot reply without permission to read message history'),
  tooLarge: () => new ApiError(413, 40005, 'Request entity too large'),
}
