import { type Client, type Guild, type GuildMember, GuildMemberFlags, PermissionFlagsBits, type User } from 'discord.js'
import { PlatformError } from '../../shared/errors.ts'
import { createRecent } from '../../shared/recent.ts'
import type { Person } from '../../shared/thread.ts'
import type { DiscordApi } from './discordApi.ts'
import { DM_ACCOUNT } from './incoming.ts'

/** How long what is known of somebody counts as fresh. Events refresh it. */
const FRESH_MS = 5 * 60_000
const REMEMBERED = 2_000

export interface People {
  /** Takes over what an event told of its sender. */
  heard(account: string, member: GuildMember | null): void
  person(account: string, id: string): Promise<Person>
}

/**
 * Who somebody is. In direct messages there is no server; rights and roles are then those of `homeGuild`, and somebody who
 * is not in it counts as external.
 */
export function createPeople(options: {
  client: Client
  api: DiscordApi
  now: () => number
  homeGuild: () => string | undefined
}): People {
  const { client, api, now, homeGuild } = options
  const known = createRecent<{ person: Person; at: number }>(REMEMBERED)

  async function look(guildId: string | undefined, id: string): Promise<Person> {
    const guild = guildId === undefined ? undefined : client.guilds.cache.get(guildId)
    if (guild) {
      const member = await memberOf(guild, id)
      if (member) return ofMember(member)
    }
    try {
      const user = await api.call<User>('look up a person', [], () => client.users.fetch(id, { force: true }))
      return { ...ofUser(user), isExternal: true }
    } catch (error) {
      if (!(error instanceof PlatformError) || error.kind !== 'notFound') throw error
      return { id, name: id, isBot: false, isGuest: true, isExternal: true, isAdmin: false, roles: [] }
    }
  }

  async function memberOf(guild: Guild, id: string): Promise<GuildMember | undefined> {
    try {
      return await api.call<GuildMember>('look up a member', ['View Channel'], () =>
        guild.members.fetch({ user: id, force: true }),
      )
    } catch (error) {
      if (error instanceof PlatformError && error.kind === 'notFound') return undefined
      throw error
    }
  }

  return {
    heard(account, member) {
      if (!member) return
      known.set(`${account}:${member.id}`, { person: ofMember(member), at: now() })
    },

    async person(account, id) {
      const key = `${account}:${id}`
      const cached = known.get(key)
      if (cached && now() - cached.at < FRESH_MS) return cached.person
      const person = await look(account === DM_ACCOUNT ? homeGuild() : account, id)
      known.set(key, { person, at: now() })
      return person
    },
  }
}

function ofMember(member: GuildMember): Person {
  const roles = member.roles.cache.filter(({ id }) => id !== member.guild.id)
  return {
    ...ofUser(member.user),
    name: member.displayName,
    isGuest: member.flags.has(GuildMemberFlags.IsGuest),
    isAdmin: !member.user.bot && member.permissions.has(PermissionFlagsBits.ManageGuild),
    roles: [...roles.keys()],
  }
}

function ofUser(user: User): Person {
  return {
    id: user.id,
    name: user.displayName,
    isBot: user.bot,
    isGuest: false,
    isExternal: false,
    isAdmin: false,
    roles: [],
  }
}
