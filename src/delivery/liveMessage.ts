import type { ChatPlatform, MessageBody } from '../platform/platform.ts'
import { messageOf, PlatformError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import type { MessageRef, ThreadRef } from '../shared/thread.ts'
import type { EditScheduler } from './editScheduler.ts'
import type { Outbox } from './outbox.ts'
import type { Patience } from './patience.ts'

/**
 * One message of ours that may change until its final text stands: created once, edited in order, final text last. All
 * calls for it are made one after another.
 */
export interface LiveMessage {
  /** There is a new frame: `make` gives the newest one whenever it can be sent, `null` when there is nothing to show yet. */
  show(make: () => MessageBody | null): void
  /** The message has this body when it resolves; posted if it is not there yet. It may still change later. */
  put(body: MessageBody): Promise<MessageRef>
  /** The same for the last time. A message that was settled already, by whatever process, is not touched. */
  settle(body: MessageBody): Promise<MessageRef>
  /** Posted with this body unless it is there already, with whatever body. */
  ensure(body: MessageBody): Promise<MessageRef>
  /** Takes the message away; rejects when it stays. */
  remove(): Promise<void>
  /** Drops the frame that waits; resolves when no call is in flight. */
  rest(): Promise<void>
}

export interface LiveMessageParts {
  platform: ChatPlatform
  thread: ThreadRef
  outbox: Outbox
  edits: EditScheduler
  patience: Patience
  /** Runs posts of the thread one after another, in the order of the calls. */
  inOrder<T>(post: () => Promise<T>): Promise<T>
  log: Log
}

export function createLiveMessage(key: string, parts: LiveMessageParts): LiveMessage {
  const { platform, thread, outbox, edits, patience, inOrder } = parts
  const log = parts.log.child({ key })
  const lane = edits.lane({ account: thread.account, channel: thread.channel, frame })
  let ref: MessageRef | null = null
  /** What is known to be shown; `null` after anything that leaves it open. */
  let applied: string | null = null
  let make: (() => MessageBody | null) | null = null
  let creation: Promise<void> | null = null
  /** A frame came up since the one that the message was posted with. */
  let grown = false
  /** Frames are given up: the message is gone or refuses edits. Only a final text is tried again. */
  let frozen = false
  /** Final work, one after another. */
  let work: Promise<unknown> = Promise.resolve()

  /**
   * Finds the message or posts it with `body`. Takes its place among the posts of the thread at once, so that messages
   * stand in the order in which they were asked for.
   */
  function obtain(body: () => MessageBody | null): Promise<'settled' | 'there' | 'nothing'> {
    return inOrder(async () => {
      if (ref) return 'there'
      const entry = await outbox.find(key)
      if (entry && entry.state !== 'intended') {
        ref = entry.ref
        return entry.state === 'settled' ? 'settled' : 'there'
      }
      const first = body()
      if (!first) return 'nothing'
      if (!entry) await outbox.intend(key)
      const made = await patience.persist((inDoubt) =>
        platform.post(thread, first, { key, ...((entry || inDoubt) && { inDoubt: true }) }),
      )
      await outbox.posted(key, made)
      ref = made
      // A message that was found again may show an older text.
      applied = entry ? null : JSON.stringify(first)
      return 'there'
    })
  }

  function frame(): (() => Promise<void>) | null {
    const body = frozen || !ref ? null : make?.()
    if (!body || !ref) return null
    const text = JSON.stringify(body)
    if (text === applied) return null
    const target = ref
    return async () => {
      const before = applied
      applied = null
      try {
        await platform.edit(thread, target, body)
        applied = text
      } catch (error) {
        if (error instanceof PlatformError && error.kind === 'rateLimited') {
          applied = before
          throw error
        }
        frozen = !(error instanceof PlatformError && error.kind === 'unavailable')
        log.debug({ error }, 'a frame of live text was not shown')
      }
    }
  }

  function create(): void {
    creation ??= obtain(() => {
      grown = false
      return make?.() ?? null
    })
      .then((state) => {
        if (state === 'settled') frozen = true
        else if (state === 'there' && make && (grown || applied === null)) lane.touch()
      })
      .catch((error: unknown) => {
        // The final text tries again, and says so if it fails too.
        frozen = true
        log.warn({ error }, 'live text could not be posted')
      })
      .finally(() => {
        creation = null
      })
  }

  /** Brings the message, which is there, to `body`. */
  async function apply(body: MessageBody): Promise<MessageRef> {
    const text = JSON.stringify(body)
    if (applied === text) return ref!
    applied = null
    try {
      await patience.persist(() => lane.final(() => platform.edit(thread, ref!, body)))
      applied = text
    } catch (error) {
      if (!(error instanceof PlatformError) || (error.kind !== 'notFound' && error.kind !== 'notEditable')) throw error
      log.info({ error }, 'the message can no longer be edited and is posted anew')
      if ((await replace(body)) === 'found') return apply(body)
      applied = text
    }
    return ref!
  }

  /** Puts a new message in the place of the one that can't be edited, and takes that one away where it is possible. */
  async function replace(body: MessageBody): Promise<'posted' | 'found'> {
    const stale = ref!
    const { again, entry, latest } = await successor()
    // Posted by a process that ended before it had noted that: it stands for the stale one, with whatever text.
    const found = latest && latest.id !== stale.id
    ref = found
      ? latest
      : await inOrder(async () => {
          if (!entry) await outbox.intend(again)
          const made = await patience.persist((inDoubt) =>
            platform.post(thread, body, { key: again, ...((entry || inDoubt) && { inDoubt: true }) }),
          )
          await outbox.posted(again, made)
          return made
        })
    await outbox.posted(key, ref)
    frozen = false
    await platform.remove(thread, stale).catch((error: unknown) => {
      log.warn({ error }, `a stale message stays in the thread: ${messageOf(error)}`)
    })
    // One that was in doubt may have been found again, with an older text.
    return found || entry ? 'found' : 'posted'
  }

  /** The key of the next message in this one's place, and the latest that was posted there before. */
  async function successor() {
    let latest: MessageRef | null = null
    for (let number = 2; ; number++) {
      const again = `${key}~${number}`
      const entry = await outbox.find(again)
      if (!entry || entry.state === 'intended') return { again, entry, latest }
      latest = entry.ref
    }
  }

  /** Final work, one after another and after the creation; `body` is what is posted if the message is not there yet. */
  function next<T>(body: MessageBody | null, task: () => Promise<T>): Promise<T> {
    make = null
    const ready = ref || !body ? null : obtain(() => body)
    // Whoever waits for `done` hears of a failure; until then nobody does.
    ready?.catch(() => {})
    const done = work.then(async () => {
      while (creation) await creation
      await ready
      return task()
    })
    work = done.catch(() => {})
    return done
  }

  return {
    show(newest) {
      make = newest
      grown = true
      if (frozen) return
      if (ref) lane.touch()
      else if (!creation && newest() !== null) create()
    },
    put: (body) => next(body, () => apply(body)),
    settle: (body) =>
      next(body, async () => {
        const entry = await outbox.find(key)
        if (entry?.state === 'settled') return entry.ref
        const shown = await apply(body)
        await outbox.settled(key)
        return shown
      }),
    ensure: (body) => next(body, async () => ref!),
    remove: () =>
      next(null, async () => {
        await lane.rest()
        const entry = await outbox.find(key)
        if (!entry) return
        // An attempt in doubt may have left a message: posting it again by its key is the way to its reference.
        if (!ref) await obtain(() => ({ markdown: '…', kind: 'answer', live: true }))
        await patience.persist(() => platform.remove(thread, ref!))
        await outbox.forget(key)
        ref = null
        applied = null
        frozen = true
      }),
    async rest() {
      make = null
      await lane.rest()
      while (creation) await creation
      await work
    },
  }
}
