import { messageOf, PlatformError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { SlackCalls } from './calls.ts'
import { slackCodeOf } from './slackErrors.ts'

/** How long memberships are believed, in milliseconds. */
const FRESH_MS = 5 * 60_000
/** After a failure that may pass, Slack is asked again after this long. */
const RETRY_MS = 30_000

export interface UserGroups {
  /**
   * Ids of the user groups somebody is in. Empty where Slack does not tell (no scope, no plan with user groups); after a
   * failure that may pass, what was known before. Never rejects.
   */
  of(personId: string): Promise<string[]>
}

/** Slack's user groups by `usergroups.list`: one call for all people, kept for 5 minutes. */
export function createUserGroups(calls: SlackCalls, log: Log, now: () => number): UserGroups {
  let known = new Map<string, string[]>()
  let freshUntil = Number.NEGATIVE_INFINITY
  let asking: Promise<void> | undefined
  let isRefused = false

  async function ask(): Promise<void> {
    try {
      const { usergroups = [] } = await calls.read('usergroups.list', (client) =>
        client.usergroups.list({ include_users: true }),
      )
      known = new Map()
      for (const { id, users = [] } of usergroups) {
        if (id) for (const user of users) known.set(user, [...(known.get(user) ?? []), id])
      }
      freshUntil = now() + FRESH_MS
      isRefused = false
    } catch (error) {
      noteFailure(error)
    }
  }

  function noteFailure(error: unknown): void {
    const mayPass = error instanceof PlatformError && (error.kind === 'unavailable' || error.kind === 'rateLimited')
    freshUntil = now() + (mayPass ? RETRY_MS : FRESH_MS)
    if (mayPass) {
      log.info({ reason: messageOf(error) }, 'Slack does not tell the user groups now')
      return
    }
    known = new Map()
    // Said once, not every five minutes.
    if (!isRefused) {
      const { mend } = error as PlatformError
      log.warn({ code: slackCodeOf(error), ...(mend && { mend }) }, 'Slack does not tell who is in which user group')
    }
    isRefused = true
  }

  return {
    async of(personId) {
      if (now() >= freshUntil) {
        asking ??= ask().finally(() => {
          asking = undefined
        })
        await asking
      }
      return known.get(personId) ?? []
    },
  }
}
