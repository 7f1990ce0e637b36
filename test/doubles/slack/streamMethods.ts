import { checkThread, messageIn, writableChannel } from './chatMethods.ts'
import type { Methods } from './methods.ts'
import { Refusal, required, text } from './request.ts'
import { type Fields, type SlackChannel, type SlackMessage, type World, wireMessage } from './world.ts'

/** Streams close by themselves; reports say after about five minutes (facts/slack.md A.2). */
const LIFETIME_MS = 5 * 60_000
/** The least at which the text of a stream was seen refused, in UTF-8 bytes. */
const LONGEST_BYTES = 10_600

/** Native streaming as facts/slack.md A.2 has it. Tasks and plans are shown as lines of text. */
export const streamMethods: Methods = {
  'chat.startStream': {
    tier: 2,
    scope: 'chat:write',
    args: [
      'channel',
      'thread_ts',
      'markdown_text',
      'chunks',
      'recipient_user_id',
      'recipient_team_id',
      'task_display_mode',
    ],
    run(args, { world }) {
      const channel = writableChannel(world, required(args, 'channel'))
      const threadTs = required(args, 'thread_ts')
      checkThread(channel, threadTs)
      if (channel.kind !== 'im') {
        if (!text(args, 'recipient_user_id')) throw new Refusal('missing_recipient_user_id')
        if (!text(args, 'recipient_team_id')) throw new Refusal('missing_recipient_team_id')
      }
      const message = world.post(channel, {
        user: world.app.botUserId,
        botId: world.app.botId,
        text: grown('', args),
        threadTs,
        streamingSince: performance.now(),
      })
      return { channel: channel.id, ts: message.ts }
    },
  },

  'chat.appendStream': {
    tier: 4,
    scope: 'chat:write',
    args: ['channel', 'ts', 'markdown_text', 'chunks'],
    run(args, { world }) {
      const { channel, message } = open(world, args)
      const said = grown(message.text, args)
      if (said === message.text) throw new Refusal('no_text')
      message.text = said
      world.onShown(channel, message)
      return { channel: channel.id, ts: message.ts }
    },
  },

  'chat.stopStream': {
    tier: 2,
    scope: 'chat:write',
    args: ['channel', 'ts', 'markdown_text', 'chunks', 'blocks', 'metadata', 'session_status'],
    run(args, { world }) {
      const { channel, message } = open(world, args)
      const said = grown(message.text, args)
      delete message.streamingSince
      const further = (args.blocks ?? []) as Fields[]
      const blocks = further.length > 0 ? [{ type: 'markdown', text: said }, ...further] : undefined
      world.change(channel, message, { text: said, ...(blocks && { blocks }) }, world.app.botUserId)
      return { channel: channel.id, ts: message.ts, message: wireMessage(world, message) }
    },
  },
}

function open(world: World, args: Fields): { channel: SlackChannel; message: SlackMessage } {
  const channel = writableChannel(world, required(args, 'channel'))
  const message = messageIn(channel, required(args, 'ts'))
  if (message.botId !== world.app.botId) throw new Refusal('message_not_owned_by_app')
  const { streamingSince } = message
  if (streamingSince === undefined || performance.now() - streamingSince > LIFETIME_MS) {
    delete message.streamingSince
    throw new Refusal('message_not_in_streaming_state')
  }
  return { channel, message }
}

/** The text with what the call adds to it. */
function grown(before: string, args: Fields): string {
  const markdown = text(args, 'markdown_text')
  if (markdown !== undefined && args.chunks !== undefined) {
    throw new Refusal('cannot_provide_both_markdown_text_and_chunks')
  }
  const chunks = (args.chunks ?? []) as Fields[]
  const added = markdown ?? chunks.map((chunk) => chunkText(chunk)).join('')
  if (added.length > 12_000 || Buffer.byteLength(before + added) > LONGEST_BYTES) throw new Refusal('msg_too_long')
  return before + added
}

function chunkText(chunk: Fields): string {
  switch (chunk.type) {
    case 'markdown_text':
      return String(chunk.text)
    case 'task_update':
    case 'plan_update':
      return `\n${String(chunk.title)}\n`
    case 'blocks':
      return ''
    default:
      throw new Refusal('invalid_chunks')
  }
}
