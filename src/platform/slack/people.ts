import type { webApi } from '@slack/bolt'
import type { Person } from '../../shared/thread.ts'
import type { Identity } from './inbound.ts'
import { platformErrorOf, slackCodeOf } from './slackErrors.ts'

/** How long somebody's rights are believed, in milliseconds. */
const FRESH_MS = 5 * 60_000
/** A name changes seldom: it may be shown longer than rights are believed. */
const MOST_PEOPLE = 5_000

/** Slack has nothing to tell about somebody, and won't have later. */
const UNKNOWN = new Set(['user_not_found', 'user_not_visible', 'bot_not_found'])

export interface People {
  person(id: string): Promise<Person>
  /** The last known name, without asking Slack. */
  nameOf(id: string): string | undefined
  /** The last known language, without asking Slack. */
  localeOf(id: string): string | undefined
}

/** Who people are, by `users.info`; one request at a time for each, kept for 5 minutes. `groupsOf` tells their groups. */
export function createPeople(
  client: webApi.WebClient,
  self: () => Identity,
  now: () => number,
  groupsOf: (id: string) => Promise<string[]>,
): People {
  const known = new Map<string, { at: number; person: Person }>()
  const asking = new Map<string, Promise<Person>>()

  async function ask(id: string): Promise<Person> {
    try {
      const asked = id.startsWith('B') ? askBot(client, id) : askUser(client, id, self())
      const person = await asked.catch((error: unknown) => {
        if (UNKNOWN.has(slackCodeOf(error) ?? '')) return stranger(id)
        throw error
      })
      known.delete(id)
      known.set(id, { at: now(), person })
      if (known.size > MOST_PEOPLE) known.delete(known.keys().next().value!)
      return person
    } catch (error) {
      throw platformErrorOf(error, { method: 'users.info', bot: self().name, writes: false })
    }
  }

  async function look(id: string): Promise<Person> {
    const entry = known.get(id)
    if (entry && now() - entry.at < FRESH_MS) return entry.person
    let answer = asking.get(id)
    if (!answer) {
      answer = ask(id).finally(() => asking.delete(id))
      asking.set(id, answer)
    }
    return answer
  }

  return {
    async person(id) {
      const [person, roles] = await Promise.all([look(id), groupsOf(id)])
      return { ...person, roles }
    },
    nameOf: (id) => known.get(id)?.person.name,
    localeOf: (id) => known.get(id)?.person.locale,
  }
}

/** Somebody whom Slack does not show: with the fewest rights there are, so that nobody waits for what never comes. */
function stranger(id: string): Person {
  return { id, name: id, isBot: id.startsWith('B'), isGuest: true, isExternal: true, isAdmin: false, roles: [] }
}

async function askUser(client: webApi.WebClient, id: string, self: Identity): Promise<Person> {
  const { user = {} } = await client.users.info({ user: id, include_locale: true })
  const { profile, locale } = user
  // In an Enterprise Grid people belong to several workspaces of one organisation.
  const teams = [user.team_id, ...(user.enterprise_user?.teams ?? [])]
  const isExternal = user.is_stranger === true || (user.team_id !== undefined && !teams.includes(self.team))
  return {
    id,
    name: profile?.display_name || profile?.real_name || user.real_name || user.name || id,
    isBot: user.is_bot === true || id === 'USLACKBOT',
    isGuest: user.is_restricted === true || user.is_ultra_restricted === true,
    isExternal,
    isAdmin:
      !isExternal &&
      user.deleted !== true &&
      (user.is_admin === true || user.is_owner === true || user.is_primary_owner === true),
    roles: [],
    ...(locale && { locale }),
  }
}

async function askBot(client: webApi.WebClient, id: string): Promise<Person> {
  const { bot } = await client.bots.info({ bot: id })
  return {
    id,
    name: bot?.name || id,
    isBot: true,
    isGuest: false,
    isExternal: false,
    isAdmin: false,
    roles: [],
  }
}
