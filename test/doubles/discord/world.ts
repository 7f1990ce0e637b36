/**
 * What the Discord double knows: guilds, channels, threads, people, messages. Payloads are kept in the shape in which the API
 * shows them, so that routes and gateway read from one place.
 */

export const DISCORD_EPOCH = 1_420_070_400_000

/** Permission bits by the names of the documentation. */
export const PERMISSIONS = {
  ADMINISTRATOR: 1n << 3n,
  MANAGE_GUILD: 1n << 5n,
  ADD_REACTIONS: 1n << 6n,
  VIEW_CHANNEL: 1n << 10n,
  SEND_MESSAGES: 1n << 11n,
  MANAGE_MESSAGES: 1n << 13n,
  EMBED_LINKS: 1n << 14n,
  ATTACH_FILES: 1n << 15n,
  READ_MESSAGE_HISTORY: 1n << 16n,
  MANAGE_THREADS: 1n << 34n,
  CREATE_PUBLIC_THREADS: 1n << 35n,
  SEND_MESSAGES_IN_THREADS: 1n << 38n,
} as const
export type PermissionName = keyof typeof PERMISSIONS

/** The rights of the invite link that the documentation of ToyCoder gives. */
export const BOT_PERMISSIONS = 309237763136n
const PEOPLE_PERMISSIONS = PERMISSIONS.ADD_REACTIONS | PERMISSIONS.VIEW_CHANNEL | PERMISSIONS.SEND_MESSAGES

export const CHANNEL = {
  text: 0,
  dm: 1,
  voice: 2,
  announcement: 5,
  publicThread: 11,
  privateThread: 12,
  forum: 15,
} as const
export const FLAG = {
  suppressEmbeds: 4,
  hasThread: 32,
  ephemeral: 64,
  loading: 128,
  suppressNotifications: 4096,
} as const

export interface User {
  id: string
  username: string
  discriminator: '0'
  global_name: string | null
  avatar: null
  bot?: boolean
}

export interface Member {
  user: User
  nick: string | null
  roles: string[]
  joined_at: string
  deaf: boolean
  mute: boolean
  flags: number
}

export interface Role {
  id: string
  name: string
  permissions: string
  position: number
  [field: string]: unknown
}

export interface Channel {
  id: string
  type: number
  name?: string
  guild_id?: string
  parent_id?: string | null
  owner_id?: string
  last_message_id: string | null
  permission_overwrites?: { id: string; type: number; allow: string; deny: string }[]
  recipients?: User[]
  thread_metadata?: {
    archived: boolean
    locked: boolean
    auto_archive_duration: number
    archive_timestamp: string
    create_timestamp: string
  }
  message_count?: number
  [field: string]: unknown
}

export interface Guild {
  id: string
  name: string
  owner_id: string
  roles: Role[]
  members: Map<string, Member>
}

export interface Message {
  id: string
  type: number
  channel_id: string
  author: User
  content: string
  mentions: User[]
  mention_roles: string[]
  mention_everyone: boolean
  attachments: Attachment[]
  embeds: unknown[]
  components: { type: number; components: { custom_id?: string; label?: string; [field: string]: unknown }[] }[]
  timestamp: string
  edited_timestamp: string | null
  flags: number
  tts: boolean
  pinned: boolean
  reactions: { emoji: { id: null; name: string }; count: number; me: boolean }[]
  message_reference?: { message_id: string; channel_id: string; guild_id?: string; type?: number }
  referenced_message?: Message | null
  message_snapshots?: { message: Partial<Message> }[]
  interaction_metadata?: { id: string; type: number; user: User; authorizing_integration_owners: object }
  webhook_id?: string
  application_id?: string
  position?: number
  thread?: Channel
}

export interface Attachment {
  id: string
  filename: string
  size: number
  url: string
  proxy_url: string
  content_type?: string
}

/** A stored message with what only the server knows. */
export interface StoredMessage {
  message: Message
  nonce?: string
  /** Milliseconds of the double's clock before which `GET` does not show it. */
  visibleAt: number
  /** Set for an interaction's ephemeral messages: only this person sees it, and channel routes don't know it. */
  ephemeralFor?: string
  /** What `allowed_mentions` let ring, decided at the last create or edit. */
  notified: { everyone: boolean; users: string[]; roles: string[] }
}

export class World {
  readonly bot: User
  readonly guilds = new Map<string, Guild>()
  readonly channels = new Map<string, Channel>()
  readonly messages = new Map<string, StoredMessage[]>()
  readonly users = new Map<string, User>()
  readonly files = new Map<string, { name: string; bytes: Uint8Array }>()
  /** Until when the bot is shown as typing, by channel; milliseconds of the double's clock. */
  readonly typing = new Map<string, number>()
  readonly deletedNonces = new Set<string>()
  private readonly clock: () => number
  private lastSnowflake = 0n

  constructor(clock: () => number) {
    this.clock = clock
    this.bot = { ...this.newUser('toycoder'), bot: true }
    this.users.set(this.bot.id, this.bot)
  }

  now(): number {
    return this.clock()
  }

  timestamp(): string {
    return new Date(this.now()).toISOString().replace('Z', '000+00:00')
  }

  /** 17 to 19 digits, strictly increasing: time in the upper bits, as Discord makes them. */
  snowflake(): string {
    const byTime = BigInt(this.now() - DISCORD_EPOCH) << 22n
    this.lastSnowflake = byTime > this.lastSnowflake ? byTime : this.lastSnowflake + 1n
    return String(this.lastSnowflake)
  }

  newUser(name: string, bot = false): User {
    const user: User = {
      id: this.snowflake(),
      username: name.toLowerCase().replaceAll(/\W/g, '_'),
      discriminator: '0',
      global_name: bot ? null : name,
      avatar: null,
      ...(bot ? { bot: true } : {}),
    }
    this.users.set(user.id, user)
    return user
  }

  newGuild(name: string): Guild {
    const id = this.snowflake()
    const botRole = this.newRole('toycoder', BOT_PERMISSIONS)
    const everyone: Role = { ...this.newRole('@everyone', PEOPLE_PERMISSIONS), id, position: 0 }
    const owner = this.newUser(`Owner of ${name}`)
    const guild: Guild = { id, name, owner_id: owner.id, roles: [everyone, botRole], members: new Map() }
    this.guilds.set(id, guild)
    this.join(guild, owner, [])
    this.join(guild, this.bot, [botRole.id])
    return guild
  }

  newRole(name: string, permissions: bigint): Role {
    return {
      id: this.snowflake(),
      name,
      permissions: String(permissions),
      position: 1,
      color: 0,
      hoist: false,
      managed: false,
      mentionable: true,
      flags: 0,
    }
  }

  join(guild: Guild, user: User, roles: string[]): Member {
    const joined_at = this.timestamp()
    const member: Member = { user, nick: null, roles, joined_at, deaf: false, mute: false, flags: 0 }
    guild.members.set(user.id, member)
    return member
  }

  newChannel(fields: { type: number; id?: string; [field: string]: unknown }): Channel {
    const channel: Channel = { ...fields, id: fields.id ?? this.snowflake(), last_message_id: null }
    if (!isThread(channel) && channel.type !== CHANNEL.dm) channel.permission_overwrites ??= []
    this.channels.set(channel.id, channel)
    this.messages.set(channel.id, [])
    return channel
  }

  newThread(parent: Channel, ownerId: string, name: string, options: { id?: string; archiveAfter?: number }): Channel {
    const thread = this.newChannel({
      ...(options.id ? { id: options.id } : {}),
      type: CHANNEL.publicThread,
      name,
      ...(parent.guild_id ? { guild_id: parent.guild_id } : {}),
      parent_id: parent.id,
      owner_id: ownerId,
      message_count: 0,
      member_count: 1,
      total_message_sent: 0,
      rate_limit_per_user: 0,
      flags: 0,
      thread_metadata: {
        archived: false,
        locked: false,
        auto_archive_duration: options.archiveAfter ?? 1440,
        archive_timestamp: this.timestamp(),
        create_timestamp: this.timestamp(),
      },
    })
    return thread
  }

  find(channelId: string, messageId: string): StoredMessage | undefined {
    return this.messages.get(channelId)?.find(({ message }) => message.id === messageId)
  }

  member(guildId: string | undefined, userId: string): Member | undefined {
    return guildId === undefined ? undefined : this.guilds.get(guildId)?.members.get(userId)
  }

  /** What somebody may do in a channel: roles, then the channel's (for a thread, its parent's) overwrites. */
  permissions(channel: Channel, userId: string): bigint {
    const guild = channel.guild_id === undefined ? undefined : this.guilds.get(channel.guild_id)
    if (!guild) return ~0n
    const member = guild.members.get(userId)
    if (!member) return 0n
    const roles = guild.roles.filter(({ id }) => id === guild.id || member.roles.includes(id))
    const base = roles.reduce((all, role) => all | BigInt(role.permissions), 0n)
    if (guild.owner_id === userId || base & PERMISSIONS.ADMINISTRATOR) return ~0n
    const home = isThread(channel) ? this.channels.get(channel.parent_id ?? '') : channel
    const overwrites = home?.permission_overwrites?.filter(({ id }) => id === userId || id === guild.id) ?? []
    return overwrites.reduce((all, { allow, deny }) => (all & ~BigInt(deny)) | BigInt(allow), base)
  }

  may(channel: Channel, userId: string, ...names: PermissionName[]): boolean {
    const has = this.permissions(channel, userId)
    return names.every((name) => (has & PERMISSIONS[name]) !== 0n)
  }
}

export function isThread(channel: Channel): boolean {
  return channel.type === CHANNEL.publicThread || channel.type === CHANNEL.privateThread || channel.type === 10
}
