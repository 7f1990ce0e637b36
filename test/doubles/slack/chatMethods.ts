import { checkBlocks } from './blocks.ts'
import type { Methods } from './methods.ts'
import { messages, Refusal, required, text } from './request.ts'
import { isStreaming } from './streams.ts'
import { type Fields, type SlackChannel, type SlackMessage, type World, wireMessage } from './world.ts'

const CONTENT = ['text', 'blocks', 'attachments', 'markdown_text', 'metadata', 'mrkdwn', 'parse', 'link_names']

export const chatMethods: Methods = {
  'chat.postMessage': {
    tier: 'post',
    scope: 'chat:write',
    args: [
      'channel',
      ...CONTENT,
      'thread_ts',
      'reply_broadcast',
      'unfurl_links',
      'unfurl_media',
      'username',
      'icon_emoji',
    ],
    run(args, { world }) {
      const channel = writableChannel(world, required(args, 'channel'))
      const threadTs = text(args, 'thread_ts')
      if (threadTs) checkThread(channel, threadTs)
      const content = contentOf(args, 40_000, world)
      const message = world.post(channel, {
        user: world.app.botUserId,
        botId: world.app.botId,
        ...content,
        text: content.text.slice(0, 40_000),
        ...(threadTs && { threadTs }),
        ...(args.metadata ? { metadata: metadataOf(args.metadata) } : {}),
      })
      return { channel: channel.id, ts: message.ts, message: wireMessage(world, message) }
    },
  },

  'chat.update': {
    tier: 3,
    scope: 'chat:write',
    args: ['channel', 'ts', ...CONTENT, 'file_ids', 'reply_broadcast', 'as_user'],
    run(args, { world }) {
      const channel = visibleChannel(world, required(args, 'channel'))
      const message = ownMessage(world, channel, required(args, 'ts'), 'cant_update_message')
      if (isStreaming(world, message)) throw new Refusal('streaming_state_conflict')
      const content = contentOf(args, 4_000, world)
      delete message.stream
      // Text without blocks takes the old blocks away; metadata stays unless given.
      world.change(
        channel,
        message,
        {
          text: content.text,
          blocks: content.blocks ?? [],
          ...(args.metadata ? { metadata: metadataOf(args.metadata) } : {}),
        },
        world.app.botUserId,
      )
      if (!content.blocks) delete message.blocks
      return { channel: channel.id, ts: message.ts, text: message.text, message: wireMessage(world, message) }
    },
  },

  'chat.delete': {
    tier: 3,
    scope: 'chat:write',
    args: ['channel', 'ts', 'as_user'],
    run(args, { world }) {
      const channel = visibleChannel(world, required(args, 'channel'))
      const message = ownMessage(world, channel, required(args, 'ts'), 'cant_delete_message')
      world.remove(channel, message)
      return { channel: channel.id, ts: message.ts }
    },
  },

  'chat.postEphemeral': {
    tier: 4,
    scope: 'chat:write',
    args: ['channel', 'user', ...CONTENT, 'thread_ts', 'username', 'icon_emoji'],
    run(args, { world }) {
      const channel = writableChannel(world, required(args, 'channel'))
      const user = required(args, 'user')
      if (!channel.members.has(user)) throw new Refusal('user_not_in_channel')
      const { text: body, blocks } = contentOf(args, 40_000, world)
      const threadTs = text(args, 'thread_ts')
      const ts = world.nextTs()
      world.ephemerals.push({
        ts,
        channel: channel.id,
        user,
        text: body,
        ...(blocks && { blocks }),
        ...(threadTs && { threadTs }),
      })
      return { message_ts: ts }
    },
  },

  'chat.getPermalink': {
    tier: 'special',
    args: ['channel', 'message_ts'],
    run(args, { world }) {
      const channel = visibleChannel(world, required(args, 'channel'))
      const message = messageIn(channel, required(args, 'message_ts'))
      const query = message.threadTs ? `?thread_ts=${message.threadTs}&cid=${channel.id}` : ''
      const permalink = `https://double.slack.example/archives/${channel.id}/p${message.ts.replace('.', '')}${query}`
      return { channel: channel.id, permalink }
    },
  },
}

/** A channel the bot may see: private ones without it do not exist for it. */
export function visibleChannel(world: World, id: string): SlackChannel {
  const channel = id.startsWith('U') && world.users.has(id) ? world.directChannel(id) : world.channels.get(id)
  const isMember = channel?.members.has(world.app.botUserId)
  if (!channel || (channel.kind !== 'channel' && !isMember)) throw new Refusal('channel_not_found')
  return channel
}

export function writableChannel(world: World, id: string): SlackChannel {
  const channel = visibleChannel(world, id)
  if (channel.archived) throw new Refusal('is_archived')
  if (!channel.members.has(world.app.botUserId)) throw new Refusal('not_in_channel')
  return channel
}

export function messageIn(channel: SlackChannel, ts: string): SlackMessage {
  const message = channel.messages.find((candidate) => candidate.ts === ts)
  if (!message || message.subtype === 'tombstone') throw new Refusal('message_not_found')
  return message
}

/** A thread is addressed by its root, not by one of its replies. */
export function checkThread(channel: SlackChannel, ts: string): void {
  const root = channel.messages.find((candidate) => candidate.ts === ts)
  if (!root || (root.threadTs && root.threadTs !== root.ts)) throw new Refusal('thread_not_found')
}

function ownMessage(world: World, channel: SlackChannel, ts: string, otherwise: string): SlackMessage {
  const message = messageIn(channel, ts)
  if (channel.archived) throw new Refusal('is_archived')
  if (message.botId !== world.app.botId) throw new Refusal(otherwise)
  return message
}

function contentOf(args: Fields, longestText: number, world: World): { text: string; blocks?: Fields[] } {
  const plain = text(args, 'text') ?? ''
  const markdown = text(args, 'markdown_text')
  const blocks = args.blocks
  if (markdown !== undefined) {
    if (plain || blocks) throw new Refusal('markdown_text_conflict')
    if (markdown.length > 12_000) throw new Refusal('msg_too_long')
    return { text: markdown, blocks: [{ type: 'markdown', text: markdown }] }
  }
  if (longestText < 40_000 && plain.length > longestText) throw new Refusal('msg_too_long')
  if (blocks !== undefined) checkBlocks(blocks, world.refusedBlocks)
  if (!plain && !(blocks as Fields[] | undefined)?.length && !args.attachments) throw new Refusal('no_text')
  return { text: plain, ...(blocks ? { blocks: blocks as Fields[] } : {}) }
}

export function metadataOf(value: unknown): Fields {
  const metadata = value as { event_type?: unknown; event_payload?: unknown }
  const flat = Object.values((metadata.event_payload ?? {}) as Fields).every((field) => typeof field !== 'object')
  if (typeof metadata.event_type !== 'string' || typeof metadata.event_payload !== 'object' || !flat) {
    throw new Refusal('invalid_metadata_format', messages('event_type and a flat event_payload are needed'))
  }
  return value as Fields
}
