import type { IncomingCommand, IncomingMessage } from '../platform/platform.ts'
import type { Person } from '../shared/thread.ts'

/** Who may use the bot and where. An empty list means everybody, or everywhere, that the installation reaches. */
export interface AccessRules {
  /** Channel ids. */
  channels: readonly string[]
  /** Person ids. */
  people: readonly string[]
  /** Discord role ids or Slack user group ids. */
  roles: readonly string[]
  /** Guests of the workspace may. */
  guests: boolean
  /** People of other organisations (Slack Connect) may. */
  external: boolean
  /** Person ids that administer the bot; empty: whoever administers the workspace or server. */
  admins: readonly string[]
}

/**
 * The part of the question that the event itself answers, asked before it is stored: bots never start runs, and a channel
 * that is not on the list does not exist for the bot.
 */
export function maySend(rules: AccessRules, event: IncomingMessage | IncomingCommand): boolean {
  const { author } = event
  const channel = 'place' in event ? event.place.channel : event.thread.channel
  if (author.isBot) return false
  if (author.isExternal && !rules.external) return false
  const isDirect = 'addressed' in event && event.addressed === 'direct'
  return isDirect || rules.channels.length === 0 || rules.channels.includes(channel)
}

/** The part that needs the platform's word on the person. Deny by default: every rule has to let the person through. */
export function mayUse(rules: AccessRules, person: Person): boolean {
  if (person.isBot) return false
  if (isAdmin(rules, person)) return true
  if (person.isGuest && !rules.guests) return false
  if (person.isExternal && !rules.external) return false
  if (rules.people.length === 0 && rules.roles.length === 0) return true
  return rules.people.includes(person.id) || person.roles.some((role) => rules.roles.includes(role))
}

export function isAdmin(rules: AccessRules, person: Person): boolean {
  if (person.isBot) return false
  return rules.admins.length > 0 ? rules.admins.includes(person.id) : person.isAdmin
}
