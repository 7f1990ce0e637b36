import { type APIMessage, RESTJSONErrorCodes as Code, MessageFlags, Routes } from 'discord.js'
import { type DiscordMessage, renderDiscord } from '../../render/discord.ts'
import { PlatformError } from '../../shared/errors.ts'
import { createRecent } from '../../shared/recent.ts'
import type { MessageRef, ThreadRef } from '../../shared/thread.ts'
import type { MessageBody, OutgoingFile, PostOptions } from '../platform.ts'
import type { DiscordApi } from './discordApi.ts'
import type { Right } from './discordErrors.ts'
import { nonceOf, toEdit } from './payload.ts'
import type { Destination, Threads } from './threads.ts'

/** Discord's limit for a file of an application that nobody boosted. */
export const FILE_BYTES = 10 * 1024 * 1024
/** How many of a channel's newest messages are read to find one whose answer was lost. */
const LOOK_BACK = 100
const REMEMBERED = 5_000
/** How often a message that people deleted can be sent anew within the minutes that Discord remembers its nonces. */
const MOST_COPIES = 3

/**
 * Sends, edits and removes messages. The same key makes one message:
 * 1. every message is sent with a nonce made from its key, which Discord remembers for some minutes;
 * 2. the gateway tells us our own messages with their nonce, so an answer that was lost is found in memory;
 * 3. in doubt, the newest 100 messages are read for one of ours with the same content that no other key has claimed.
 *
 * The window that stays: in doubt after a restart, minutes after the first attempt, an earlier message of the same words is
 * taken for ours, and one that was sent with other words (a preview) is not found; Discord never tells a nonce again.
 */
export interface Posts {
  post(thread: ThreadRef, body: MessageBody, options: PostOptions): Promise<MessageRef>
  /** Sends a message into a channel itself. */
  send(to: Destination, body: MessageBody, options: PostOptions): Promise<MessageRef>
  edit(ref: MessageRef, body: MessageBody): Promise<void>
  remove(ref: MessageRef): Promise<void>
  upload(thread: ThreadRef, file: OutgoingFile, options: PostOptions): Promise<MessageRef>
  /** The gateway told one of our own messages, with the nonce it was sent with. */
  heardOwn(nonce: string, ref: MessageRef, content: string): void
  /** The gateway told that a message is gone. */
  heardDeleted(id: string): void
}

export function createPosts(options: { api: DiscordApi; threads: Threads; botId: () => string }): Posts {
  const { api, threads, botId } = options
  /** What was sent with a nonce: where it stands and what it said then. */
  const sent = createRecent<{ ref: MessageRef; content: string }>(REMEMBERED)
  const nonceOfMessage = createRecent<string>(REMEMBERED)

  function remember(nonce: string, ref: MessageRef, content: string) {
    sent.set(nonce, { ref, content })
    nonceOfMessage.set(ref.id, nonce)
    return { ref, content }
  }

  function forget(id: string): void {
    const nonce = nonceOfMessage.get(id)
    if (nonce !== undefined) sent.delete(nonce)
    nonceOfMessage.delete(id)
  }

  async function sendOnce(
    to: Destination,
    payload: DiscordMessage,
    { key, inDoubt }: PostOptions,
    files: { name: string; data: Buffer }[] = [],
  ): Promise<MessageRef> {
    const found = inDoubt ? await findEarlier(to.channel, nonceOf(key), payload, files[0]?.name) : undefined
    const reply = to.replyTo ? { message_reference: { message_id: to.replyTo, fail_if_not_exists: false } } : {}
    const { ref, content } = found ?? (await create(to.channel, key, { ...payload, ...reply }, files))
    // Memory, or the nonce, brought back the message of an earlier attempt, which may have said something else.
    if (content !== payload.content.trim()) await patch(ref, { ...payload, flags: MessageFlags.SuppressEmbeds })
    return ref
  }

  /** Sends with the key's nonce. Discord remembers nonces of deleted messages, too, and refuses them: then a next one is used. */
  async function create(channel: string, key: string, payload: object, files: { name: string; data: Buffer }[]) {
    for (let copy = 0; ; copy++) {
      const nonce = nonceOf(copy === 0 ? key : `${key}\n${copy}`)
      const body = { ...payload, nonce, enforce_nonce: true }
      try {
        const message = await api.call<APIMessage>('send a message', rightsFor(files), (rest) =>
          rest.post(Routes.channelMessages(channel), files.length > 0 ? { body, files } : { body }),
        )
        return remember(nonceOf(key), { channel: message.channel_id, id: message.id }, message.content)
      } catch (error) {
        if (copy === MOST_COPIES || !isDeleted(error)) throw error
      }
    }
  }

  /** What an earlier attempt sent: by memory, else the newest message of ours that looks like it. */
  async function findEarlier(channel: string, nonce: string, payload: DiscordMessage, fileName: string | undefined) {
    const remembered = sent.get(nonce)
    if (remembered) return remembered
    const query = new URLSearchParams({ limit: String(LOOK_BACK) })
    const messages = await api.call<APIMessage[]>('read a thread', ['Read Message History'], (rest) =>
      rest.get(Routes.channelMessages(channel), { query }),
    )
    const found = messages.find(
      (message) =>
        message.author.id === botId() &&
        message.content === payload.content.trim() &&
        message.attachments[0]?.filename === fileName &&
        (nonceOfMessage.get(message.id) ?? nonce) === nonce,
    )
    return found ? remember(nonce, { channel, id: found.id }, found.content) : undefined
  }

  async function patch(ref: MessageRef, payload: DiscordMessage): Promise<void> {
    try {
      await api.call('edit a message', ['View Channel'], (rest) =>
        rest.patch(Routes.channelMessage(ref.channel, ref.id), { body: payload }),
      )
    } catch (error) {
      if (isDeleted(error)) forget(ref.id)
      throw error
    }
  }

  /** A thread falls asleep after a day; a card in it is settled all the same. A locked one stays as it is. */
  async function awake(ref: MessageRef, change: () => Promise<unknown>): Promise<void> {
    try {
      await change()
    } catch (error) {
      if (!(error instanceof PlatformError) || error.kind !== 'notEditable') throw error
      const woken = await api
        .call('wake a thread', [], (rest) => rest.patch(Routes.channel(ref.channel), { body: { archived: false } }))
        .catch(() => undefined)
      if (woken === undefined) throw error
      await change()
    }
  }

  return {
    post: (thread, body, options) => threads.within(thread, (to) => sendOnce(to, renderDiscord(body), options)),

    send: (to, body, options) => sendOnce(to, renderDiscord(body), options),

    edit: (ref, body) => awake(ref, () => patch(ref, toEdit(body))),

    async remove(ref) {
      try {
        await awake(ref, () =>
          api.call('remove a message', ['View Channel'], (rest) =>
            rest.delete(Routes.channelMessage(ref.channel, ref.id)),
          ),
        )
      } catch (error) {
        if (!(error instanceof PlatformError) || error.kind !== 'notFound') throw error
      }
    },

    async upload(thread, file, options) {
      const data = typeof file.content === 'string' ? Buffer.from(file.content) : Buffer.from(file.content)
      if (data.byteLength > FILE_BYTES) {
        throw new PlatformError(
          'tooLong',
          '40005',
          `the file has ${data.byteLength} bytes, Discord takes ${FILE_BYTES}`,
        )
      }
      const payload = renderDiscord({ markdown: file.comment ?? '', kind: 'notice' })
      // A file can stand without words.
      if (!file.comment) payload.content = ''
      return threads.within(thread, (to) => sendOnce(to, payload, options, [{ name: file.name, data }]))
    },

    heardOwn: remember,
    heardDeleted: forget,
  }
}

function isDeleted(error: unknown): boolean {
  return error instanceof PlatformError && error.code === String(Code.UnknownMessage)
}

function rightsFor(files: readonly unknown[]): Right[] {
  return files.length > 0
    ? ['Send Messages', 'Send Messages in Threads', 'Attach Files']
    : ['Send Messages', 'Send Messages in Threads']
}
