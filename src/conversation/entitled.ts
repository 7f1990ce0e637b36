import type { Person } from '../shared/thread.ts'
import { type AccessRules, mayUse } from './access.ts'

/** Who may decide: anyone who may use the bot, the person who asked, somebody else, or people, roles and groups by id. */
export type Deciders = 'anyone' | 'requester' | 'not_requester' | readonly string[]

/** All whose messages entered since the last answer; the last one is the requester. */
type Requesters = readonly { id: string }[]

/** Whether the person may say yes to a call (or answer a question). `person` is the platform's word, asked at the click. */
export function mayDecide(who: Deciders, requesters: Requesters, person: Person, access: AccessRules): boolean {
  if (!mayUse(access, person)) return false
  if (who === 'anyone') return true
  if (who === 'requester') return requesters.at(-1)?.id === person.id
  if (who === 'not_requester') return !requesters.some(({ id }) => id === person.id)
  return who.includes(person.id) || person.roles.some((role) => who.includes(role))
}

/** Whether the person may say no: whoever may say yes, and whoever asked, since taking a wish back harms nobody. */
export function mayDeny(who: Deciders, requesters: Requesters, person: Person, access: AccessRules): boolean {
  const asked = requesters.some(({ id }) => id === person.id)
  return mayDecide(who, requesters, person, access) || (asked && mayUse(access, person))
}
