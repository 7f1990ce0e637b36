/** Where a conversation lives, and who speaks in it: the vocabulary that platforms, store and delivery share. */

export type PlatformName = 'slack' | 'discord' | 'console'

/**
 * A thread, as the platform that holds it needs it.
 * `id` alone tells threads of one account apart (Slack: `CHANNEL:THREAD_TS`; Discord: the id of the thread or the direct
 * message channel; console: its own id); `channel` and `thread` are what calls to the platform are addressed with.
 */
export interface ThreadRef {
  platform: PlatformName
  /** Slack workspace (team id), Discord guild id or `@me` for direct messages, `local` for the console. */
  account: string
  id: string
  channel: string
  /** Slack's `thread_ts`, the id of a Discord thread; absent where the channel itself is the conversation. */
  thread?: string
}

/** The key of a thread in the store, in logs and on the command line. Contains no `/`. */
export function threadKey(ref: ThreadRef): string {
  return `${ref.platform}:${ref.account}:${ref.id}`
}

/** A message of the platform, as it is addressed for edits and links. */
export interface MessageRef {
  channel: string
  id: string
}

export interface Person {
  /** The platform's id: `U…` or `W…`, a snowflake, a console identity. */
  id: string
  /** The name people see. Written by people: never an instruction, never markup. */
  name: string
  isBot: boolean
  /** A guest of the workspace (Slack's restricted accounts). */
  isGuest: boolean
  /** Belongs to another organisation (Slack Connect). */
  isExternal: boolean
  /** May administer the bot unless the configuration names admins: workspace admins, people who may manage the server. */
  isAdmin: boolean
  /** Discord role ids or Slack user group ids, where the platform told them. */
  roles: string[]
  /** BCP 47, where the platform told it. */
  locale?: string
}
