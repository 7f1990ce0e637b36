import type { MessageRef, ThreadRef } from '../../shared/thread.ts'
import type { Attachment, IncomingCommand, IncomingMessage, Place, Sender } from '../platform.ts'
import { decodeText, type InboundNames, mentions } from './inboundText.ts'

/** What the bot knows of itself: from `auth.test`, once at the start. */
export interface Identity {
  team: string
  userId: string
  botId: string
  name: string
}

export interface InboundContext {
  self: Identity
  /** The name of a person if it is known without asking Slack. */
  nameOf(id: string): string | undefined
  now(): number
}

/** The parts of Slack's `message` and `app_mention` events that matter here. */
export interface SlackMessageEvent {
  type: string
  subtype?: string
  channel: string
  channel_type?: string
  user?: string
  bot_id?: string
  username?: string
  text?: string
  ts: string
  thread_ts?: string
  client_msg_id?: string
  team?: string
  user_team?: string
  source_team?: string
  user_profile?: { display_name?: string; real_name?: string }
  bot_profile?: { name?: string }
  edited?: unknown
  files?: SlackFile[]
}

interface SlackFile {
  name?: string
  title?: string
  mimetype?: string
  size?: number
  url_private?: string
  url_private_download?: string
}

/** Kinds of messages that somebody wrote; all others are notices of Slack (joins, topics) or echoes of changes. */
const WRITTEN = new Set([undefined, 'file_share', 'thread_broadcast', 'bot_message'])

/**
 * A message event as the inbox takes it, or null for what concerns nobody: our own posts, changes and deletions (our own
 * edits come back as those), and notices. Other bots' messages pass with `isBot`; the door decides about them.
 */
export function incomingMessage(
  event: SlackMessageEvent,
  eventId: string | undefined,
  context: InboundContext,
): IncomingMessage | null {
  const { self } = context
  if (!WRITTEN.has(event.subtype) || !event.channel || !event.ts) return null
  if (event.user === self.userId || (event.bot_id !== undefined && event.bot_id === self.botId)) return null
  const author = senderOf(event, context)
  if (!author) return null
  const raw = event.text ?? ''
  const direct = event.channel_type === 'im' || (event.channel_type === undefined && event.channel.startsWith('D'))
  const named = event.type === 'app_mention' || mentions(raw, self.userId)
  const inThread = event.thread_ts !== undefined && event.thread_ts !== event.ts
  // A root message that does not name the bot is talk among others.
  if (!direct && !named && !inThread) return null
  const addressed = direct ? 'direct' : named ? 'mention' : 'thread'
  return {
    id: `${self.team}:${event.channel}:${event.ts}`,
    aliases: [
      ...(eventId ? [`${self.team}:${eventId}`] : []),
      ...(event.client_msg_id ? [`${self.team}:${event.channel}:${event.client_msg_id}`] : []),
    ],
    thread: threadRef(self.team, event.channel, event.thread_ts ?? event.ts),
    ref: { channel: event.channel, id: event.ts },
    author,
    text: decodeText(raw, namesOf(context)),
    at: millisOf(event.ts),
    addressed,
    // Slack hands over direct messages and the threads the bot follows message by message; only somebody who names the
    // bot in the middle of a thread can point it to talk it has not heard.
    hasEarlier: inThread && addressed === 'mention',
    edited: event.edited !== undefined,
    attachments: (event.files ?? []).flatMap(attachmentOf),
  }
}

/** Slack's slash command payload; all values are strings. */
export interface SlackCommand {
  command: string
  text?: string
  channel_id: string
  user_id: string
  user_name?: string
  team_id?: string
  trigger_id: string
  response_url: string
}

/** A slash command. Slack tells no thread with it, and none can be typed in a thread. */
export function incomingCommand(command: SlackCommand, context: InboundContext): IncomingCommand {
  const { self } = context
  const place: Place = { platform: 'slack', account: self.team, channel: command.channel_id }
  return {
    id: `${self.team}:command:${command.trigger_id}`,
    place,
    author: {
      id: command.user_id,
      name: context.nameOf(command.user_id) ?? command.user_name ?? command.user_id,
      isBot: false,
      isExternal: command.team_id !== undefined && command.team_id !== self.team,
    },
    name: command.command.replace(/^\//, ''),
    text: decodeText(command.text ?? '', namesOf(context)),
    at: context.now(),
    token: command.response_url,
  }
}

/** A thread is a channel and the `ts` of its root message; in direct messages alike. */
export function threadRef(team: string, channel: string, rootTs: string): ThreadRef {
  return { platform: 'slack', account: team, id: `${channel}:${rootTs}`, channel, thread: rootTs }
}

/** The `ts` that posts into a thread are addressed with. */
export function rootOf(thread: ThreadRef): string {
  return thread.thread ?? thread.id.slice(thread.id.indexOf(':') + 1)
}

export function refOf(channel: string, ts: string): MessageRef {
  return { channel, id: ts }
}

/** Slack's `ts` is seconds with six digits behind the point, the last ones only for order. */
export function millisOf(ts: string): number {
  return Math.floor(Number(ts) * 1000)
}

function senderOf(event: SlackMessageEvent, { self, nameOf }: InboundContext): Sender | null {
  const isBot = event.bot_id !== undefined || event.subtype === 'bot_message'
  const id = event.user ?? event.bot_id
  if (!id) return null
  const profile = event.user_profile
  const told = isBot ? (event.bot_profile?.name ?? event.username) : profile?.display_name || profile?.real_name
  const team = event.user_team ?? event.source_team ?? event.team
  return { id, name: nameOf(id) ?? (told || id), isBot, isExternal: team !== undefined && team !== self.team }
}

function namesOf({ self, nameOf }: InboundContext): InboundNames {
  return { bot: self.userId, nameOf }
}

function attachmentOf(file: SlackFile): Attachment[] {
  // A file of another workspace comes without its address until it is asked for (`check_file_info`); there is nothing to fetch.
  const url = file.url_private_download ?? file.url_private
  if (!url) return []
  return [
    {
      name: file.name ?? file.title ?? 'file',
      mimeType: file.mimetype ?? 'application/octet-stream',
      bytes: file.size ?? 0,
      url,
    },
  ]
}
