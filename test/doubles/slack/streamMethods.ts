import { checkBlocks } from './blocks.ts'
import { checkThread, messageIn, metadataOf, visibleChannel, writableChannel } from './chatMethods.ts'
import type { Methods } from './methods.ts'
import { invalid, Refusal, required, text } from './request.ts'
import { isSessionState, noteSession, SESSION_STATES } from './sessionMethods.ts'
import { isStreaming } from './streams.ts'
import { type Fields, type SlackChannel, type SlackMessage, type World, wireMessage } from './world.ts'

/** The least at which the text of a stream was seen refused, in UTF-8 bytes; details and output of tasks count twice. */
const LONGEST_BYTES = 10_600
const TASK_TEXT = 256
const TASK_STATES = ['pending', 'in_progress', 'complete', 'error']

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
      const recipient = text(args, 'recipient_user_id')
      if (channel.kind !== 'im') {
        if (!recipient) throw new Refusal('missing_recipient_user_id')
        if (!text(args, 'recipient_team_id')) throw new Refusal('missing_recipient_team_id')
      }
      if (recipient && !/^[UW][A-Z0-9]{2,}$/.test(recipient)) invalid('must be a user', 'recipient_user_id')
      if (recipient && !world.users.has(recipient)) throw new Refusal('user_not_found')
      const { added, weight, mode } = additionOf(args)
      checkSize(weight)
      const message = world.post(channel, {
        user: world.app.botUserId,
        botId: world.app.botId,
        text: added,
        threadTs,
        stream: {
          since: world.now(),
          weight,
          first: added,
          ...(mode && { mode }),
          ...(channel.kind !== 'im' && recipient && { recipient }),
        },
      })
      noteSession(world, channel.id, threadTs, 'processing')
      return { channel: channel.id, ts: message.ts }
    },
  },

  'chat.appendStream': {
    tier: 4,
    scope: 'chat:write',
    args: ['channel', 'ts', 'markdown_text', 'chunks'],
    run(args, { world }) {
      const { channel, message } = open(world, args)
      if (!grow(message, args)) throw new Refusal('no_text')
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
      const state = text(args, 'session_status') ?? 'active'
      if (!isSessionState(state)) invalid(`must be one of ${SESSION_STATES.join(', ')}`, 'session_status')
      const further = (args.blocks ?? []) as Fields[]
      if (args.blocks !== undefined) checkBlocks(further)
      grow(message, args)
      delete message.stream
      const blocks = further.length > 0 ? [...markdownOf(message.text), ...further] : undefined
      const metadata = args.metadata ? { metadata: metadataOf(args.metadata) } : {}
      world.change(channel, message, { ...(blocks && { blocks }), ...metadata }, world.app.botUserId)
      noteSession(world, channel.id, message.threadTs!, state)
      const wire = { ...wireMessage(world, message), streaming_state: 'completed' }
      return { channel: channel.id, ts: message.ts, message: wire }
    },
  },
}

function markdownOf(said: string): Fields[] {
  return said === '' ? [] : [{ type: 'markdown', text: said }]
}

function open(world: World, args: Fields): { channel: SlackChannel; message: SlackMessage } {
  const channel = visibleChannel(world, required(args, 'channel'))
  const message = messageIn(channel, required(args, 'ts'))
  if (message.botId !== world.app.botId) throw new Refusal('message_not_owned_by_app')
  const { stream } = message
  if (stream?.isStopped) throw new Refusal('stopped_by_user')
  if (!stream || !isStreaming(world, message)) throw new Refusal('message_not_in_streaming_state')
  return { channel, message }
}

/** Adds what the call brings; false when that is nothing. */
function grow(message: SlackMessage, args: Fields): boolean {
  const stream = message.stream!
  const { added, weight, mode } = additionOf(args)
  if (mode && stream.mode && mode !== stream.mode) throw new Refusal('streaming_mode_mismatch')
  checkSize(stream.weight + weight)
  Object.assign(stream, { weight: stream.weight + weight, ...(mode && { mode }) })
  message.text += added
  return weight > 0
}

function checkSize(weight: number): void {
  if (weight > LONGEST_BYTES) throw new Refusal('msg_too_long')
}

/** What a call adds to a stream, by text or by chunks but never by both. */
function additionOf(args: Fields): { added: string; weight: number; mode?: 'text' | 'chunks' } {
  const markdown = text(args, 'markdown_text')
  if (markdown !== undefined && args.chunks !== undefined) {
    throw new Refusal('cannot_provide_both_markdown_text_and_chunks')
  }
  if (markdown !== undefined) {
    if (markdown.length > 12_000) throw new Refusal('msg_too_long')
    return { added: markdown, weight: Buffer.byteLength(markdown), mode: 'text' }
  }
  if (args.chunks === undefined) return { added: '', weight: 0 }
  if (!Array.isArray(args.chunks)) throw new Refusal('invalid_chunks')
  const parts = (args.chunks as Fields[]).map(chunkOf)
  return {
    added: parts.map(({ added }) => added).join(''),
    weight: parts.reduce((sum, { weight }) => sum + weight, 0),
    mode: 'chunks',
  }
}

function chunkOf(chunk: Fields): { added: string; weight: number } {
  const short = (value: unknown) => {
    if (value !== undefined && (typeof value !== 'string' || value.length > TASK_TEXT)) {
      throw new Refusal('invalid_chunks')
    }
    return Buffer.byteLength(String(value ?? ''))
  }
  switch (chunk.type) {
    case 'markdown_text':
      if (typeof chunk.text !== 'string' || chunk.text.length > 12_000) throw new Refusal('invalid_chunks')
      return { added: chunk.text, weight: Buffer.byteLength(chunk.text) }
    case 'task_update':
      if (!chunk.id || !chunk.title || !TASK_STATES.includes(String(chunk.status))) throw new Refusal('invalid_chunks')
      return {
        added: `\n${chunk.title} (${chunk.status})\n`,
        weight: short(chunk.title) + 2 * (short(chunk.details) + short(chunk.output)),
      }
    case 'plan_update':
      return { added: `\n${chunk.title}\n`, weight: short(chunk.title) }
    case 'blocks':
      checkBlocks(chunk.blocks)
      return { added: '', weight: JSON.stringify(chunk.blocks).length }
    default:
      throw new Refusal('invalid_chunks')
  }
}
