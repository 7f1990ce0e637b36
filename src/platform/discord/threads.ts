import {
  type APIMessage,
  type Client,
  RESTJSONErrorCodes as Code,
  DiscordAPIError,
  MessageFlags,
  PermissionFlagsBits,
  Routes,
  ThreadAutoArchiveDuration,
} from 'discord.js'
import { renderDiscord } from '../../render/discord.ts'
import { PlatformError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { createRecent } from '../../shared/recent.ts'
import type { ThreadRef } from '../../shared/thread.ts'
import type { Wording } from '../../shared/wording/wording.ts'
import type { DiscordApi } from './discordApi.ts'
import type { Right } from './discordErrors.ts'
import { inboundText } from './inboundText.ts'
import { nonceOf } from './payload.ts'
import { threadName } from './threadName.ts'

/** Where a call about a thread goes: into the thread, or as a reply into its channel where no thread may be opened. */
export interface Destination {
  channel: string
  replyTo?: string
}

/** How many threads a process remembers; the rest it asks Discord for. */
const REMEMBERED = 5_000
const BITS = {
  'Create Public Threads': PermissionFlagsBits.CreatePublicThreads,
  'Send Messages in Threads': PermissionFlagsBits.SendMessagesInThreads,
}
const THREAD_RIGHTS = ['Create Public Threads', 'Send Messages in Threads'] as const

/** Opens threads when they are first written into, and finds the way where they can't be opened. */
export interface Threads {
  /** A mention in a channel was heard: its thread does not exist yet and is to be named after this text. */
  announced(messageId: string, text: string): void
  /** Runs `send` where the thread is, opening it before. Where the rights for threads are missing: in its channel. */
  within<T>(thread: ThreadRef, send: (to: Destination) => Promise<T>): Promise<T>
  /** Opens the thread on a message; one that is there already is fine. Without the right, answers go into the channel. */
  openOn(thread: ThreadRef, text: string): Promise<void>
}

export function createThreads(options: { client: Client; api: DiscordApi; log: Log; wording: Wording }): Threads {
  const { client, api, log, wording } = options
  const names = createRecent<string>(REMEMBERED)
  const opened = createRecent<true>(REMEMBERED)
  const inChannel = createRecent<true>(REMEMBERED)
  const closed = createRecent<true>(REMEMBERED)
  const opening = new Map<string, Promise<void>>()

  /** In the channel itself (a direct message, a voice channel) or in a thread whose channel is not known. */
  const needsNoThread = ({ thread, channel }: ThreadRef) => thread === undefined || thread === channel
  /** Opened by us on a message in its channel. */
  const isOurs = ({ id }: ThreadRef) => names.has(id) || isOwn(client, id)
  const isOpen = ({ id }: ThreadRef) => opened.has(id) || client.channels.cache.has(id)

  async function ensure(thread: ThreadRef): Promise<Destination> {
    if (needsNoThread(thread)) return { channel: thread.channel }
    if (!inChannel.has(thread.id) && !isOpen(thread)) {
      // A status and a first text may want the same thread at the same time.
      const running = opening.get(thread.id) ?? open(thread).finally(() => opening.delete(thread.id))
      opening.set(thread.id, running)
      await running
    }
    return inChannel.has(thread.id) ? { channel: thread.channel, replyTo: thread.id } : { channel: thread.id }
  }

  async function open(thread: ThreadRef): Promise<void> {
    const name = names.get(thread.id)
    // After a restart only Discord knows whether the thread was opened before.
    if (name === undefined && (await exists(thread.id))) return opened.set(thread.id, true)
    if (name !== undefined) return create(thread, name)
    const message = await readRoot(thread)
    if (((message.flags ?? 0) & MessageFlags.HasThread) === 0) return create(thread, nameOf(message))
    // It had one: another instance has opened it just now, or people have deleted it, and then it stays deleted.
    if (!(await exists(thread.id))) throw threadIsGone()
    opened.set(thread.id, true)
  }

  async function create(thread: ThreadRef, name: string): Promise<void> {
    try {
      const body = { name, auto_archive_duration: ThreadAutoArchiveDuration.OneDay }
      await api.call('open a thread', THREAD_RIGHTS, (rest) =>
        rest.post(Routes.threads(thread.channel, thread.id), { body }),
      )
    } catch (error) {
      if (isRightMissing(error)) return stayInChannel(thread, error)
      // Another instance, or an attempt whose answer was lost, opened it: there is one thread a message, with its id.
      if (!isAlreadyThere(error)) throw error
    }
    opened.set(thread.id, true)
  }

  /** Answers in the channel from here on, and says once which right is missing. */
  async function stayInChannel(thread: ThreadRef, refusal: PlatformError): Promise<void> {
    const mend = wording.needPermissions(missingRights(client, thread.channel))
    log.warn({ thread: thread.id, channel: thread.channel, error: refusal }, `answers go into the channel: ${mend}`)
    await replyInChannel(thread, wording.cannotOpenThread(mend), 'no thread')
    inChannel.set(thread.id, true)
  }

  /** People closed the thread on purpose, so the answer does not go elsewhere; whoever asked is told why it is missing. */
  async function tellOfLock(thread: ThreadRef, refusal: PlatformError): Promise<void> {
    if (closed.has(thread.id)) return
    closed.set(thread.id, true)
    const text = wording.cannotGoOnInThread(refusal.mend ?? refusal.message)
    await replyInChannel(thread, text, 'locked').catch((error: unknown) =>
      log.warn({ thread: thread.id, error }, 'nobody could be told that the thread is locked'),
    )
  }

  /** A sentence below the message that the thread was opened on, once for each `about`. */
  async function replyInChannel(thread: ThreadRef, markdown: string, about: string): Promise<void> {
    const body = {
      ...renderDiscord({ markdown, kind: 'notice' }),
      message_reference: { message_id: thread.id, fail_if_not_exists: false },
      nonce: nonceOf(`${about}:${thread.id}`),
      enforce_nonce: true,
    }
    await api.call('reply in the channel', ['Send Messages'], (rest) =>
      rest.post(Routes.channelMessages(thread.channel), { body }),
    )
  }

  async function exists(id: string): Promise<boolean> {
    try {
      await api.call('look for a thread', ['View Channel'], (rest) => rest.get(Routes.channel(id)))
      return true
    } catch (error) {
      if (error instanceof PlatformError && error.kind === 'notFound') return false
      throw error
    }
  }

  const readRoot = (thread: ThreadRef) =>
    api.call<APIMessage>('read a message', ['Read Message History'], (rest) =>
      rest.get(Routes.channelMessage(thread.channel, thread.id)),
    )

  function nameOf(message: APIMessage): string {
    const user = (id: string) => message.mentions.find((one) => one.id === id)?.username
    const nameless = () => undefined
    const botId = client.user?.id ?? ''
    return threadName(inboundText(message.content, { botId, user, role: nameless, channel: nameless }))
  }

  return {
    announced(messageId, text) {
      names.set(messageId, threadName(text))
    },

    async within(thread, send) {
      const to = await ensure(thread)
      try {
        const sent = await send(to)
        closed.delete(thread.id)
        return sent
      } catch (error) {
        // A thread of ours that we may not write into: its message stands in the channel, so the answer can go there.
        if (to.channel !== thread.id || needsNoThread(thread) || !isOurs(thread)) throw error
        if (isLocked(error)) await tellOfLock(thread, error)
        if (!isRightMissing(error)) throw error
        await stayInChannel(thread, error)
        return send({ channel: thread.channel, replyTo: thread.id })
      }
    },

    async openOn(thread, text) {
      names.set(thread.id, threadName(text))
      if (isOpen(thread) || inChannel.has(thread.id)) return
      await create(thread, threadName(text))
    },
  }
}

/** Which of the rights for threads the bot lacks in a channel, by its cached roles; all of them where that can't be told. */
function missingRights(client: Client, channelId: string): Right[] {
  const channel = client.channels.cache.get(channelId)
  const has = channel && 'permissionsFor' in channel && client.user ? channel.permissionsFor(client.user) : null
  const missing = has ? THREAD_RIGHTS.filter((right) => !has.has(BITS[right])) : []
  return missing.length > 0 ? missing : [...THREAD_RIGHTS]
}

function isOwn(client: Client, threadId: string): boolean {
  const channel = client.channels.cache.get(threadId)
  return channel?.isThread() ? channel.ownerId === client.user?.id : false
}

function threadIsGone(): PlatformError {
  return new PlatformError('notFound', String(Code.UnknownChannel), 'open a thread: it was deleted')
}

function isRightMissing(error: unknown): error is PlatformError {
  if (!(error instanceof PlatformError) || error.kind !== 'forbidden') return false
  return error.code === String(Code.MissingAccess) || error.code === String(Code.MissingPermissions)
}

function isLocked(error: unknown): error is PlatformError {
  return error instanceof PlatformError && error.code === String(Code.ThreadLocked)
}

function isAlreadyThere(error: unknown): boolean {
  const cause = error instanceof PlatformError ? error.cause : undefined
  return cause instanceof DiscordAPIError && cause.code === Code.ThreadAlreadyCreatedForMessage
}
