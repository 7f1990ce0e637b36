import { randomUUID } from 'node:crypto'

/** Arguments and payloads as they travel: anything JSON can hold. */
export type Fields = Record<string, unknown>

export interface SlackUser {
  id: string
  name: string
  displayName: string
  team: string
  isAdmin: boolean
  isOwner: boolean
  isGuest: boolean
  isStranger: boolean
  isBot: boolean
  botId?: string
  locale: string
}

export interface SlackChannel {
  id: string
  name: string
  kind: 'channel' | 'group' | 'im' | 'mpim'
  members: Set<string>
  archived: boolean
  messages: SlackMessage[]
}

export interface SlackMessage {
  ts: string
  user?: string
  botId?: string
  subtype?: string
  text: string
  threadTs?: string
  blocks?: Fields[]
  metadata?: Fields
  edited?: { user: string; ts: string }
  files?: SlackFile[]
  clientMsgId?: string
  /** It was begun by `chat.startStream` and not stopped by `chat.stopStream`. */
  stream?: Stream
  reactions: { name: string; users: string[] }[]
}

export interface Stream {
  /** On the clock of `World.now`. */
  since: number
  /** What it holds, in bytes as Slack weighs them. */
  weight: number
  /** Whether it grows by `markdown_text` or by chunks; it can't change. */
  mode?: 'text' | 'chunks'
  /** In channels: the one person who sees it grow. Others see what it began with until it is stopped. */
  recipient?: string
  first: string
  /** Somebody pressed Stop. */
  isStopped?: true
}

export interface SlackFile {
  id: string
  name: string
  title: string
  mimetype: string
  size: number
  user: string
  content: Buffer
}

export interface Ephemeral {
  ts: string
  channel: string
  user: string
  text: string
  blocks?: Fields[]
  threadTs?: string
}

/** Who the app is in this workspace. */
export interface AppIdentity {
  teamId: string
  appId: string
  botId: string
  botUserId: string
  botName: string
}

/** What somebody said; the world gives it its `ts`. */
export type NewMessage = Omit<SlackMessage, 'ts' | 'reactions'>

export interface World {
  readonly app: AppIdentity
  readonly users: Map<string, SlackUser>
  readonly channels: Map<string, SlackChannel>
  readonly ephemerals: Ephemeral[]
  /** The people in each user group, by its id. */
  readonly userGroups: Map<string, Set<string>>
  /** What `assistant.threads.setStatus` shows now, by `CHANNEL:THREAD_TS`. */
  readonly statuses: Map<string, string>
  /** The state of each agent session, by `CHANNEL:THREAD_TS`. */
  readonly sessions: Map<string, string>
  /** Whether the app is declared as an agent, and subscribed to `agent_session_stopped`. */
  readonly agent: { isDeclared: boolean; hearsStop: boolean }
  /** Types of blocks that this app may not use here, although Slack documents them. */
  readonly refusedBlocks: Set<string>
  /** Milliseconds on a clock that tests can put forward. */
  now(): number
  /** Lets so many milliseconds pass for streams. */
  passTime(ms: number): void
  /** Everybody the bot's messages have notified by a mention. */
  readonly notified: { channel: string; thread: string; who: string }[]
  /** Called with each event of the Events API that the app is to hear of. */
  onEvent: (event: Fields) => void
  /** Called after whatever changes what people see of a message; a message that was taken away, too. */
  onShown: (channel: SlackChannel, message: SlackMessage) => void
  addUser(user: Partial<SlackUser> & { id: string }): SlackUser
  addChannel(channel: Partial<Omit<SlackChannel, 'members'>> & { id: string; members?: string[] }): SlackChannel
  /** The direct channel of a person with the bot; opened when asked for. */
  directChannel(user: string): SlackChannel
  nextTs(): string
  post(channel: SlackChannel, message: NewMessage): SlackMessage
  change(channel: SlackChannel, message: SlackMessage, change: Partial<SlackMessage>, by: string): void
  remove(channel: SlackChannel, message: SlackMessage): void
  /** The root and its replies, oldest first. */
  thread(channel: string, ts: string): SlackMessage[]
}

/** A workspace: people, channels, messages, and the events that follow from what happens in it. */
export function createWorld(app: AppIdentity): World {
  let lastMicros = 0
  let passed = 0

  const world: World = {
    app,
    users: new Map(),
    channels: new Map(),
    ephemerals: [],
    userGroups: new Map(),
    statuses: new Map(),
    sessions: new Map(),
    agent: { isDeclared: true, hearsStop: true },
    refusedBlocks: new Set(),
    now: () => performance.now() + passed,
    passTime(ms) {
      passed += ms
    },
    notified: [],
    onEvent: () => {},
    onShown: () => {},

    addUser(user) {
      const full: SlackUser = {
        name: user.id.toLowerCase(),
        displayName: user.name ?? user.id,
        team: app.teamId,
        isAdmin: false,
        isOwner: false,
        isGuest: false,
        isStranger: false,
        isBot: false,
        locale: 'en-US',
        ...user,
      }
      world.users.set(full.id, full)
      return full
    },

    addChannel({ members = [], ...channel }) {
      const full: SlackChannel = {
        name: channel.id.toLowerCase(),
        kind: 'channel',
        archived: false,
        messages: [],
        ...channel,
        members: new Set(members),
      }
      world.channels.set(full.id, full)
      return full
    },

    directChannel(user) {
      const id = `D${user.slice(1)}`
      return (
        world.channels.get(id) ??
        world.addChannel({ id, name: 'directmessage', kind: 'im', members: [user, app.botUserId] })
      )
    },

    nextTs() {
      lastMicros = Math.max(Date.now() * 1000, lastMicros + 1)
      const micros = String(lastMicros)
      return `${micros.slice(0, -6)}.${micros.slice(-6)}`
    },

    post(channel, message) {
      const posted: SlackMessage = { ...message, ts: world.nextTs(), reactions: [] }
      channel.messages.push(posted)
      if (posted.user === app.botUserId) {
        notePings(channel, posted)
        if (posted.threadTs) world.statuses.delete(`${channel.id}:${posted.threadTs}`)
      }
      world.onShown(channel, posted)
      announce(channel, posted)
      return posted
    },

    change(channel, message, change, by) {
      const previous = { ...message }
      Object.assign(message, change, { edited: { user: by, ts: world.nextTs() } })
      if (message.user === app.botUserId) notePings(channel, message)
      world.onShown(channel, message)
      emitChange(channel, message, previous)
      // Editing a message that names the app fires the mention again, with `edited`.
      if (by !== app.botUserId && namesApp(message) && channel.kind !== 'im') {
        world.onEvent({ ...messageEvent(channel, message), type: 'app_mention', edited: message.edited })
      }
    },

    remove(channel, message) {
      const hasReplies = channel.messages.some(({ threadTs, ts }) => threadTs === message.ts && ts !== message.ts)
      const previous = { ...message }
      if (hasReplies) {
        Object.assign(message, { subtype: 'tombstone', text: 'This message was deleted.', user: 'USLACKBOT' })
        delete message.blocks
        delete message.files
        world.onShown(channel, message)
        return emitChange(channel, message, previous)
      }
      channel.messages.splice(channel.messages.indexOf(message), 1)
      world.onShown(channel, message)
      if (!hearsMessages(channel)) return
      world.onEvent({
        type: 'message',
        subtype: 'message_deleted',
        hidden: true,
        deleted_ts: message.ts,
        previous_message: wireMessage(world, previous),
        channel: channel.id,
        channel_type: channel.kind,
        ts: world.nextTs(),
        event_ts: world.nextTs(),
      })
    },

    thread(channelId, ts) {
      const messages = world.channels.get(channelId)?.messages ?? []
      return messages.filter((message) => message.ts === ts || message.threadTs === ts)
    },
  }

  /** A message goes to the app as `message` if it is in the channel, and as `app_mention` if it is named. */
  function announce(channel: SlackChannel, message: SlackMessage): void {
    const event = messageEvent(channel, message)
    if (hearsMessages(channel)) world.onEvent({ ...event, channel_type: channel.kind })
    if (namesApp(message) && channel.kind !== 'im' && message.user !== app.botUserId) {
      world.onEvent({ ...event, type: 'app_mention' })
    }
  }

  function emitChange(channel: SlackChannel, message: SlackMessage, previous: SlackMessage): void {
    if (!hearsMessages(channel)) return
    world.onEvent({
      type: 'message',
      subtype: 'message_changed',
      hidden: true,
      channel: channel.id,
      channel_type: channel.kind,
      ts: world.nextTs(),
      event_ts: world.nextTs(),
      message: wireMessage(world, message),
      previous_message: wireMessage(world, previous),
    })
  }

  function messageEvent(channel: SlackChannel, message: SlackMessage): Fields {
    return { ...wireMessage(world, message), channel: channel.id, event_ts: message.ts }
  }

  function hearsMessages(channel: SlackChannel): boolean {
    return channel.members.has(app.botUserId)
  }

  function namesApp({ text }: SlackMessage): boolean {
    return text.includes(`<@${app.botUserId}>`) || text.includes(`<@${app.botUserId}|`)
  }

  /** Slack resolves mention tokens in all text but plain text objects; a token in code counts here, to be safe. */
  function notePings(channel: SlackChannel, message: SlackMessage): void {
    const shown = message.blocks?.length ? textsIn(message.blocks) : []
    for (const text of [message.text, ...shown]) {
      for (const [token, id] of text.matchAll(
        /<(?:!(?:here|channel|everyone|subteam\^\w+)|@([UW][A-Z0-9]+))(?:\|[^>]*)?>/g,
      )) {
        world.notified.push({
          channel: channel.id,
          thread: message.threadTs ?? message.ts,
          who: id ?? (token.startsWith('<!subteam') ? 'subteam' : 'everyone'),
        })
      }
    }
  }

  return world
}

/** Every text of a block kit value that Slack would look for mentions in. */
export function textsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsIn)
  if (typeof value !== 'object' || value === null) return []
  const fields = value as Fields
  if (fields.type === 'plain_text') return []
  if (fields.type === 'user' && typeof fields.user_id === 'string') return [`<@${fields.user_id}>`]
  if (fields.type === 'broadcast') return [`<!${fields.range}>`]
  // Text elements of rich text are literal.
  if (fields.type === 'text' || fields.type === 'raw_text') return []
  return Object.entries(fields).flatMap(([key, inner]) =>
    (key === 'text' || key === 'title') && typeof inner === 'string' ? [inner] : textsIn(inner),
  )
}

/** A message in Slack's own field names. */
export function wireMessage(world: World, message: SlackMessage, options: { metadata?: boolean } = {}): Fields {
  const { app } = world
  const root = message.threadTs
    ? [...world.channels.values()].flatMap(({ messages }) => messages).find(({ ts }) => ts === message.threadTs)
    : undefined
  return {
    type: 'message',
    ...(message.subtype && { subtype: message.subtype }),
    ...(message.user && { user: message.user }),
    ...(message.botId && {
      bot_id: message.botId,
      ...(message.botId === app.botId && {
        app_id: app.appId,
        bot_profile: { id: app.botId, app_id: app.appId, name: app.botName, team_id: app.teamId, deleted: false },
      }),
    }),
    text: message.text,
    ts: message.ts,
    team: world.users.get(message.user ?? '')?.team ?? app.teamId,
    ...(message.threadTs && { thread_ts: message.threadTs }),
    ...(root && root.ts !== message.ts && root.user && { parent_user_id: root.user }),
    ...(message.clientMsgId && { client_msg_id: message.clientMsgId }),
    ...(message.blocks?.length ? { blocks: message.blocks } : {}),
    ...(options.metadata && message.metadata && { metadata: message.metadata }),
    ...(message.edited && { edited: message.edited }),
    ...(message.files && { files: message.files.map(wireFile), upload: false, display_as_bot: false }),
    ...(message.reactions.length && {
      reactions: message.reactions.map(({ name, users }) => ({ name, users, count: users.length })),
    }),
  }
}

export function wireFile(file: SlackFile): Fields {
  const { id, name, title, mimetype, size, user } = file
  const url = `https://files.slack.example/files-pri/${id}/${encodeURIComponent(name)}`
  return { id, name, title, mimetype, size, user, mode: 'hosted', url_private: url, url_private_download: url }
}

export function clientMsgId(): string {
  return randomUUID()
}
