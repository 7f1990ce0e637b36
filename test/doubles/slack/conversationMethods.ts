import { checkThread, messageIn, visibleChannel, writableChannel } from './chatMethods.ts'
import type { Methods } from './methods.ts'
import { Refusal, required, text } from './request.ts'
import { type Fields, type SlackChannel, type SlackMessage, type World, wireMessage } from './world.ts'

const HISTORY_SCOPE = { channel: 'channels:history', group: 'groups:history', im: 'im:history', mpim: 'mpim:history' }
const PAGING = ['channel', 'cursor', 'limit', 'oldest', 'latest', 'inclusive', 'include_all_metadata']

function historyScope(args: Fields, world: World): string | undefined {
  const channel = world.channels.get(String(args.channel))
  return channel && HISTORY_SCOPE[channel.kind]
}

export const conversationMethods: Methods = {
  'conversations.replies': {
    tier: 3,
    scope: historyScope,
    args: [...PAGING, 'ts'],
    run(args, { world }) {
      const channel = readableChannel(world, required(args, 'channel'))
      const asked = channel.messages.find(({ ts }) => ts === args.ts)
      const rootTs = asked?.threadTs ?? required(args, 'ts')
      const [root, ...replies] = world.thread(channel.id, rootTs)
      if (!root || root.ts !== rootTs) throw new Refusal('thread_not_found')
      const { page, rest } = pageOf(within(replies, args), args)
      // The root opens the answer, whatever the bounds are.
      const shown = args.cursor ? page : [root, ...page]
      return paged(world, shown, rest, args)
    },
  },

  'conversations.history': {
    tier: 3,
    scope: historyScope,
    args: PAGING,
    run(args, { world }) {
      const channel = readableChannel(world, required(args, 'channel'))
      const roots = channel.messages.filter(({ threadTs, ts }) => !threadTs || threadTs === ts)
      const { page, rest } = pageOf(within(roots, args).reverse(), args)
      return paged(world, page, rest, args)
    },
  },

  'conversations.open': {
    tier: 3,
    scope: 'im:write',
    args: ['users', 'channel', 'return_im', 'prevent_creation'],
    run(args, { world }) {
      const user = required(args, 'users')
      if (!world.users.has(user)) throw new Refusal('user_not_found')
      return { channel: { id: world.directChannel(user).id } }
    },
  },

  'users.info': {
    tier: 4,
    scope: 'users:read',
    args: ['user', 'include_locale'],
    run(args, { world }) {
      const user = world.users.get(required(args, 'user'))
      if (!user) throw new Refusal('user_not_found')
      return {
        user: {
          id: user.id,
          team_id: user.team,
          name: user.name,
          real_name: user.displayName,
          deleted: false,
          is_bot: user.isBot,
          is_admin: user.isAdmin,
          is_owner: user.isOwner,
          is_restricted: user.isGuest,
          is_ultra_restricted: false,
          ...(user.isStranger && { is_stranger: true }),
          ...(args.include_locale ? { locale: user.locale } : {}),
          profile: { display_name: user.displayName, real_name: user.displayName },
        },
      }
    },
  },

  'bots.info': {
    tier: 3,
    scope: 'users:read',
    args: ['bot'],
    run(args, { world }) {
      const id = required(args, 'bot')
      const user = [...world.users.values()].find(({ botId }) => botId === id)
      if (!user) throw new Refusal('bot_not_found')
      return { bot: { id, user_id: user.id, name: user.displayName, deleted: false } }
    },
  },

  'reactions.add': {
    tier: 3,
    scope: 'reactions:write',
    args: ['channel', 'timestamp', 'name'],
    run(args, { world }) {
      const { message, name } = reactionOf(world, args)
      const reaction = message.reactions.find((candidate) => candidate.name === name)
      if (reaction?.users.includes(world.app.botUserId)) throw new Refusal('already_reacted')
      if (reaction) reaction.users.push(world.app.botUserId)
      else message.reactions.push({ name, users: [world.app.botUserId] })
      return {}
    },
  },

  'reactions.remove': {
    tier: 2,
    scope: 'reactions:write',
    args: ['channel', 'timestamp', 'name'],
    run(args, { world }) {
      const { message, name } = reactionOf(world, args)
      const reaction = message.reactions.find((candidate) => candidate.name === name)
      if (!reaction?.users.includes(world.app.botUserId)) throw new Refusal('no_reaction')
      reaction.users = reaction.users.filter((user) => user !== world.app.botUserId)
      message.reactions = message.reactions.filter(({ users }) => users.length)
      return {}
    },
  },

  'assistant.threads.setStatus': {
    tier: 'special',
    scope: 'chat:write',
    args: ['channel_id', 'thread_ts', 'status', 'loading_messages', 'icon_emoji', 'username'],
    run(args, { world }) {
      const channel = visibleChannel(world, required(args, 'channel_id'))
      const ts = required(args, 'thread_ts')
      try {
        checkThread(channel, ts)
      } catch {
        throw new Refusal('invalid_thread_ts')
      }
      const status = text(args, 'status')
      if (status) world.statuses.set(`${channel.id}:${ts}`, status)
      else world.statuses.delete(`${channel.id}:${ts}`)
      return {}
    },
  },
}

function readableChannel(world: World, id: string): SlackChannel {
  const channel = visibleChannel(world, id)
  if (!channel.members.has(world.app.botUserId)) throw new Refusal('not_in_channel')
  return channel
}

function reactionOf(world: World, args: Fields): { message: SlackMessage; name: string } {
  const channel = writableChannel(world, required(args, 'channel'))
  const timestamp = required(args, 'timestamp')
  if (!/^\d+\.\d{6}$/.test(timestamp)) throw new Refusal('bad_timestamp')
  const name = required(args, 'name')
  if (!/^[a-z0-9_+'-]+$/.test(name)) throw new Refusal('invalid_name')
  return { message: messageIn(channel, timestamp), name }
}

function within(list: SlackMessage[], args: Fields): SlackMessage[] {
  const oldest = text(args, 'oldest') ?? '0'
  const latest = text(args, 'latest') ?? '9999999999.999999'
  const inclusive = args.inclusive === true
  return list.filter(({ ts }) => (ts > oldest && ts < latest) || (inclusive && (ts === oldest || ts === latest)))
}

function pageOf(list: SlackMessage[], args: Fields): { page: SlackMessage[]; rest: SlackMessage[] } {
  const limit = Number(args.limit ?? 100)
  if (!Number.isInteger(limit) || limit < 1 || limit > 999) throw new Refusal('invalid_limit')
  let start = 0
  const cursor = text(args, 'cursor')
  if (cursor) {
    const next = Buffer.from(cursor, 'base64')
      .toString()
      .replace(/^next_ts:/, '')
    start = list.findIndex(({ ts }) => ts === next)
    if (start < 0) throw new Refusal('invalid_cursor')
  }
  return { page: list.slice(start, start + limit), rest: list.slice(start + limit) }
}

function paged(world: World, page: SlackMessage[], rest: SlackMessage[], args: Fields): Fields {
  const next = rest[0] ? Buffer.from(`next_ts:${rest[0].ts}`).toString('base64') : ''
  const metadata = args.include_all_metadata === true
  return {
    messages: page.map((message) => wireMessage(world, message, { metadata })),
    has_more: rest.length > 0,
    response_metadata: { next_cursor: next },
  }
}
