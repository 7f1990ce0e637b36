import type { ConsoleBackend } from '../../shared/consoleView.ts'
import { messageOf, PlatformError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { MessageRef, Person, ThreadRef } from '../../shared/thread.ts'
import type { ChatPlatform, MessageBody, PlatformLimits } from '../platform.ts'
import { createBoard } from './consoleBoard.ts'
import { createIdSource, keyHash } from './consoleIds.ts'
import { createIntake } from './consoleIntake.ts'
import { BOT_NAME, blankMessage, CHANNEL, LOCAL, threadRefOf } from './consoleNames.ts'
import { type ConsoleStorage, createShelf } from './consoleShelf.ts'

export interface ConsoleOptions {
  /** The program's store. */
  storage: ConsoleStorage
  log: Log
  /** Without sign-in everybody at the console is this one person, an admin of the bot. */
  adminName: string
  /** BCP 47, if that person's language is configured. */
  locale?: string
  /** Where the pages can be reached, such as `http://127.0.0.1:3000`; permalinks need it. */
  pageUrl?: () => string | null
  /** Milliseconds since the epoch; default `Date.now`. */
  now?: () => number
}

/** The platform for the conversation, and `pages` for the web server. */
export type ConsolePlatform = ChatPlatform & { readonly pages: ConsoleBackend }

const LIMITS: PlatformLimits = {
  // Our own pages set no limit; this one keeps a message readable and a frame of it light.
  text: 40_000,
  unit: 'utf16',
  calls: [],
  editIntervalMs: 100,
  fileBytes: 8 * 1024 * 1024,
  dialog: { fields: 50, characters: 1_000_000 },
}

/**
 * The local console: a platform whose threads live in our own store and whose people look on through web pages.
 *
 * Changes reach the pages that this process serves. Another process with the same store shows them when its pages load.
 */
export function createConsolePlatform(options: ConsoleOptions): ConsolePlatform {
  const { log, adminName, now = Date.now } = options
  const shelf = createShelf(failuresNamed(options.storage))
  const newId = createIdSource(now)
  const board = createBoard(shelf, now)
  const sender = { id: LOCAL, name: adminName, isBot: false, isExternal: false }
  const intake = createIntake({ shelf, board, sender, newId, now })

  /** Posts under an id that the idempotency key alone decides, so that a repeated post makes nothing new. */
  async function postAs(threadId: string, id: string, body: MessageBody): Promise<MessageRef> {
    await board.place(threadId, { ...blankMessage(id, now()), ...shown(body) })
    return { channel: CHANNEL, id }
  }

  const platform: ChatPlatform = {
    name: 'console',
    limits: LIMITS,
    streaming: null,
    start: (inbox) => intake.start(inbox),
    stop: async () => intake.stop(),
    size: (markdown) => markdown.length,

    async open(_place, body, { key }) {
      checkSize(body.markdown)
      const { threadId, messageId } = await shelf.openedAs(keyHash(key), { threadId: newId(), messageId: newId() })
      return { thread: threadRefOf(threadId), ref: await postAs(threadId, messageId, body) }
    },

    async post(thread, body, { key }) {
      checkSize(body.markdown)
      return postAs(thread.id, await shelf.postedAs(thread.id, keyHash(key), newId()), body)
    },

    async edit(thread, ref, body) {
      checkSize(body.markdown)
      const edited = await board.change(thread.id, ref.id, ({ footer: _, ...kept }) => ({ ...kept, ...shown(body) }))
      if (!edited) throw new PlatformError('notFound', 'no_message', `there is no message ${ref.id}`)
    },

    remove: (thread, ref) => board.remove(thread.id, ref.id),

    async upload(thread, { name, content, comment = '' }, { key }) {
      const bytes = Buffer.from(content)
      if (bytes.length > LIMITS.fileBytes) {
        throw new PlatformError('tooLong', 'file_too_large', `${name} has ${bytes.length} bytes`)
      }
      const id = await shelf.postedAs(thread.id, keyHash(key), newId())
      await shelf.putFile(thread.id, id, { name, base64: bytes.toString('base64') })
      const body = shown({ markdown: comment, kind: 'notice' })
      await board.place(thread.id, { ...blankMessage(id, now()), ...body, file: { name, bytes: bytes.length } })
      return { channel: CHANNEL, id }
    },

    async react(thread, ref, reaction) {
      try {
        await board.change(thread.id, ref.id, (message) => ({ ...message, reaction }))
      } catch (error) {
        log.warn({ error, thread: thread.id }, 'a reaction could not be kept')
      }
    },

    status: async (thread, text) => board.setStatus(thread.id, text),

    async whisper(to, personId, markdown, { buttons = [] } = {}) {
      const threadId = 'id' in to ? to.id : null
      // A press belongs to a thread; beyond all threads there is nothing to press.
      const whisper = { id: newId(), markdown, buttons: threadId === null ? [] : buttons }
      return personId === LOCAL && board.whisper(threadId, whisper)
    },

    async history(thread, before, limit) {
      // Two more than asked for tell "only the first message is left out" from "others are, too".
      const found = await shelf.messages(thread.id, before?.id, limit + 2)
      const messages = found.slice(0, limit).reverse()
      return {
        cut: found.length === limit + 2,
        messages: messages.map(({ id, kind, author: name, markdown, at }) => {
          const isSelf = kind !== 'person'
          const author = { id: isSelf ? 'bot' : LOCAL, name, isBot: isSelf, isSelf }
          return { ref: { channel: CHANNEL, id }, author, text: markdown, at }
        }),
      }
    },

    async permalink(thread: ThreadRef, ref: MessageRef) {
      const base = options.pageUrl?.()
      return base ? `${base.replace(/\/$/, '')}/console/t/${thread.id}#m-${ref.id}` : null
    },

    async person(_account, id): Promise<Person> {
      const isBot = id !== LOCAL
      const locale = options.locale === undefined ? {} : { locale: options.locale }
      const name = isBot ? BOT_NAME : adminName
      return { id, name, isBot, isAdmin: !isBot, isGuest: false, isExternal: false, roles: [], ...locale }
    },
  }

  const pages: ConsoleBackend = {
    threads: ({ before, limit }) => shelf.threads(before, limit),
    thread: (threadId) => shelf.thread(threadId),
    async messages(threadId, { before, limit }) {
      const found = await shelf.messages(threadId, before, limit + 1)
      return { messages: found.slice(0, limit).reverse(), more: found.length > limit }
    },
    status: (threadId) => board.status(threadId),
    whispers: (threadId) => board.whispers(threadId),
    async file(threadId, messageId) {
      const file = await shelf.file(threadId, messageId)
      return file && { name: file.name, content: Buffer.from(file.base64, 'base64') }
    },
    submit: (submission) => intake.submit(submission),
    click: (click) => intake.click(click),
    submitDialog: (submission) => intake.submitDialog(submission),
    subscribe: (listener) => board.subscribe(listener),
  }

  return { ...platform, pages }
}

function shown({ markdown, kind, live = false, state = 'done', footer, buttons = [] }: MessageBody) {
  return { markdown, kind, live, state, buttons, ...(footer === undefined ? {} : { footer }) }
}

function checkSize(markdown: string): void {
  if (markdown.length <= LIMITS.text) return
  throw new PlatformError('tooLong', 'text_too_long', `${markdown.length} characters are more than ${LIMITS.text}`)
}

/** A platform's calls reject with a `PlatformError`; here it is the store that can fail. */
function failuresNamed(storage: ConsoleStorage): ConsoleStorage {
  async function named<T>(call: Promise<T>): Promise<T> {
    try {
      return await call
    } catch (error) {
      throw new PlatformError('unavailable', 'store', messageOf(error), { uncertain: true, cause: error })
    }
  }
  return {
    get: (key) => named(storage.get(key)),
    getMany: (keys) => named(storage.getMany(keys)),
    set: (key, value, ttlMs) => named(storage.set(key, value, ttlMs)),
    putIfAbsent: (key, value, ttlMs) => named(storage.putIfAbsent(key, value, ttlMs)),
    delete: (key) => named(storage.delete(key)),
    list: (prefix, options) => named(storage.list(prefix, options)),
  }
}
