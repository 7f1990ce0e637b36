import type { MessageBody } from '../platform/platform.ts'
import { PlatformError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import type { MessageRef } from '../shared/thread.ts'
import { type Sending, stoppedError } from './editScheduler.ts'
import { tidy } from './leftovers.ts'
import type { OutboxEntry } from './outbox.ts'
import { createPostOnce, type PostParts, successorOf } from './postOnce.ts'
import { urgencyOf } from './urgency.ts'

/**
 * One message of ours that may change until its final text stands: created once, edited in order, final text last. All
 * calls for it are made one after another.
 */
export interface LiveMessage {
  /** There is a new frame: `make` gives the newest one whenever it can be sent, `null` when there is nothing to show yet. */
  show(make: () => MessageBody | null): void
  /** The message has this body when it resolves; posted if it is not there yet. It may still change later. */
  put(body: MessageBody, way?: Exclude<Way, 'later'>): Promise<MessageRef>
  /** The same for the last time. A message that was settled already, by whatever process, is not touched. */
  settle(body: MessageBody, way?: Way): Promise<MessageRef>
  /** Posted with this body unless it is there already, with whatever body. */
  ensure(body: MessageBody): Promise<MessageRef>
  /** Drops the frame that waits, and resolves to what is known to be shown; `null` when that is nothing or in doubt. */
  shown(): Promise<MessageBody | null>
  /** The same without waiting: `null`, too, while a call is in flight. */
  shownNow(): MessageBody | null
  /** Takes the message away; rejects when it stays. */
  remove(): Promise<void>
  /** Drops the frame that waits; resolves when no call is in flight. */
  rest(): Promise<void>
}

/**
 * How a message that is there gets its body:
 * - `edit`, the default
 * - `anew`: by a new message at the end of the thread; the old one is taken away when there is time
 * - `later`: its text is visible already, and what else changes (the live mark, buttons) comes when there is time
 */
export type Way = 'edit' | 'anew' | 'later'

export interface LiveMessageParts extends PostParts {
  /** Runs posts of the thread one after another, in the order of the calls. */
  inOrder<T>(post: () => Promise<T>): Promise<T>
  log: Log
}

export function createLiveMessage(key: string, parts: LiveMessageParts): LiveMessage {
  const { platform, thread, outbox, edits, patience, inOrder } = parts
  const log = parts.log.child({ key })
  const lane = edits.lane({ thread, frame })
  const postOnce = createPostOnce(parts)
  let ref: MessageRef | null = null
  /** What is known to be shown; `null` after anything that leaves it open. */
  let applied: MessageBody | null = null
  let make: (() => MessageBody | null) | null = null
  let creation: Promise<void> | null = null
  /** The post that waits for its turn or is under way. */
  let posting: Sending<MessageRef> | null = null
  /** That post is of live text. */
  let isPreview = false
  /** Another process posted it, so there may be more that it noted. */
  let isInherited = false
  /** A frame came up since the one that the message was posted with. */
  let grown = false
  /** Frames are given up: the message is gone or refuses edits. Only a final text is tried again. */
  let frozen = false
  /** Final work, one after another. */
  let work: Promise<unknown> = Promise.resolve()
  let pending = 0

  /**
   * Finds the message or posts it with `body`, which is asked when the budget allows the post. Takes its place among the
   * posts of the thread at once, so that messages stand in the order in which they were asked for.
   */
  function obtain(body: () => MessageBody | null, preview = false): Promise<'settled' | 'there' | 'nothing'> {
    return inOrder(async () => {
      if (ref) return 'there'
      const entry = await outbox.find(key)
      if (entry && entry.state !== 'intended') {
        isInherited = true
        if (entry.state === 'settled') {
          ref = entry.ref
          return 'settled'
        }
        return (await adopt(entry.ref, body)) ? 'there' : 'nothing'
      }
      isPreview = preview
      const made = await post(key, entry, body)
      isPreview = false
      if (!made) return 'nothing'
      ref = made.ref
      lane.posted()
      // A message that was found again may show an older text.
      applied = made.isNew ? made.body : null
      return 'there'
    })
  }

  async function post(key: string, entry: OutboxEntry | undefined, body: () => MessageBody | null) {
    try {
      return await postOnce(key, entry, body, (sending) => {
        posting = sending
      })
    } finally {
      posting = null
    }
  }

  /**
   * A process that ended may have posted another message in place of this one, or begun to, without having noted that.
   * False when nothing is to be posted any more, so that it stays open what is there.
   */
  async function adopt(known: MessageRef, body: () => MessageBody | null): Promise<boolean> {
    const { again, entry, latest, latestKey } = await successorOf(key, outbox)
    if (entry) {
      const made = await post(again, entry, body)
      if (!made) return false
      ref = made.ref
      await replaced(again, latest ?? known)
      return true
    }
    ref = latest ?? known
    if (ref.id !== known.id) await replaced(latestKey, known)
    return true
  }

  function frame(): (() => Promise<void>) | null {
    const body = frozen || !ref ? null : make?.()
    if (!body || !ref || isSame(body, applied)) return null
    const target = ref
    return async () => {
      const before = applied
      applied = null
      try {
        await platform.edit(thread, target, body)
        applied = body
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
    }, true)
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
    if (isSame(body, applied)) return ref!
    applied = null
    try {
      await patience.persist(() => lane.final(() => platform.edit(thread, ref!, body), urgencyOf(body)), PACED)
      applied = body
    } catch (error) {
      if (!(error instanceof PlatformError) || (error.kind !== 'notFound' && error.kind !== 'notEditable')) throw error
      log.info({ error }, 'the message can no longer be edited and is posted anew')
      if ((await inOrder(() => replace(body))) === 'found') return apply(body)
      applied = body
    }
    return ref!
  }

  /** Puts a new message in the place of this one, which then goes away where it is possible. */
  async function replace(body: MessageBody): Promise<'posted' | 'found'> {
    const stale = ref!
    const { again, entry, latest, latestKey } = await successorOf(key, outbox)
    // Posted by a process that ended before it had noted that: it stands for the stale one, with whatever text.
    if (latest && latest.id !== stale.id) {
      ref = latest
      await replaced(latestKey, stale)
      return 'found'
    }
    const made = (await post(again, entry, () => body))!
    ref = made.ref
    await replaced(again, stale)
    // One that was in doubt may have been found again, with an older text.
    return made.isNew ? 'posted' : 'found'
  }

  /** `ref` stands in the place of `stale` from here on. */
  async function replaced(newKey: string, stale: MessageRef): Promise<void> {
    const leftover = { key: newKey, thread, ref: stale, body: null }
    // What an earlier process has noted is carried out since the start.
    const isNoted = isInherited && (await outbox.leftover(newKey)) !== undefined
    if (!isNoted) await outbox.leave(leftover)
    await outbox.posted(key, ref!)
    frozen = false
    applied = null
    if (!isNoted) void tidy(leftover, platform, parts)
  }

  /** No frame comes any more; a post of live text that waits for its turn is taken back. */
  function endPreview(): void {
    make = null
    if (isPreview) posting?.cancel()
  }

  /** Final work, one after another and after the creation; `body` is what is posted if the message is not there yet. */
  function next<T>(body: MessageBody | null, task: () => Promise<T>): Promise<T> {
    endPreview()
    const ready = ref || !body ? null : obtain(() => body)
    // Whoever waits for `done` hears of a failure; until then nobody does.
    ready?.catch(() => {})
    pending++
    const done = work
      .then(async () => {
        while (creation) await creation
        await ready
        return task()
      })
      .finally(() => {
        pending--
      })
    work = done.catch(() => {})
    return done
  }

  /** What brings the message to `body`. With `anew` it takes its place among the posts of the thread now. */
  function taskFor(body: MessageBody, way: Way): () => Promise<MessageRef> {
    if (way === 'anew' && ref && pending === 0) {
      const anew = inOrder(async () => {
        await lane.quiet()
        return isSame(body, applied) ? 'there' : replace(body)
      })
      anew.catch(() => {})
      return async () => {
        if ((await anew) === 'posted') applied = body
        return apply(body)
      }
    }
    return way === 'later' ? () => applyLater(body) : () => apply(body)
  }

  async function applyLater(body: MessageBody): Promise<MessageRef> {
    await lane.quiet()
    if (!applied || isSame(body, applied)) return apply(body)
    const isTwice = applied.markdown.length > body.markdown.length
    const leftover = { key, thread, ref: ref!, body, isTwice }
    await outbox.leave(leftover)
    void tidy(leftover, platform, parts)
    return ref!
  }

  return {
    show(newest) {
      make = newest
      grown = true
      if (frozen) return
      if (ref) lane.touch()
      else if (!creation && newest() !== null) create()
    },
    put: (body, way = 'edit') => next(body, taskFor(body, way)),
    settle(body, way = 'edit') {
      const task = taskFor(body, way)
      return next(body, async () => {
        const entry = await outbox.find(key)
        if (entry?.state === 'settled') return entry.ref
        // A process that ended had settled it but for the note.
        const isDone = isInherited && (await outbox.leftover(key)) !== undefined
        const shown = isDone ? ref! : await task()
        await outbox.settled(key)
        return shown
      })
    },
    ensure: (body) => next(body, async () => ref!),
    async shown() {
      endPreview()
      while (creation) await creation
      await lane.quiet()
      return ref ? applied : null
    },
    shownNow: () => (ref ? applied : null),
    remove: () =>
      next(null, async () => {
        await lane.rest()
        const entry = await outbox.find(key)
        if (!entry) return
        // An attempt in doubt may have left a message: posting it again by its key is the way to its reference.
        if (!ref) await obtain(() => ({ markdown: '…', kind: 'answer', live: true }))
        const call = { method: 'remove', thread, urgency: 'final' } as const
        await patience.persist(() => edits.send(call, () => () => platform.remove(thread, ref!)).done, PACED)
        await outbox.forget(key)
        ref = null
        applied = null
        frozen = true
      }),
    async rest() {
      endPreview()
      posting?.cancel(stoppedError())
      await lane.rest()
      while (creation) await creation
      await work
    },
  }
}

const PACED = { paced: true }

function isSame(body: MessageBody, other: MessageBody | null): boolean {
  return other !== null && (body === other || JSON.stringify(body) === JSON.stringify(other))
}
