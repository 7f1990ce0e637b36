import type { MessageBody } from '../platform/platform.ts'
import type { ThreadRef } from '../shared/thread.ts'
import type { ShownCall } from './activity.ts'
import type { EditScheduler } from './editScheduler.ts'
import type { LiveMessage } from './liveMessage.ts'
import type { Outbox } from './outbox.ts'

/** A reply for a call that would have to wait for longer than this is shared with the calls that follow, in milliseconds. */
const LONGEST_WAIT_MS = 2_000
/** So many replies may wait at once: on Slack they are posted one a second. */
const MOST_WAITING = 3
/** So many lines can be taken in at a glance. */
const MOST_CALLS = 10
/** What the end of a call may add to its line (that it failed), in any language. */
const ENDING = ' '.repeat(20)

/**
 * Many calls in a row while the budget is short: they share one reply, a line each, instead of queueing up replies that come
 * when nobody needs them any more. The records have every call whole, as ever.
 */
export interface CallGroups {
  /** A call begins. Resolves when its own reply is there, or when it is taken into a group, whose reply comes later. */
  begin(callKey: string, call: ShownCall): Promise<void>
  /** A call has ended. True when it is shown in a group. */
  end(callKey: string, call: ShownCall): Promise<boolean>
  /** What comes next stands below: calls that follow make a group of their own. */
  cut(): void
  /** Resolves when all groups that were cut off and whose calls have ended are shown, or have failed; never rejects. */
  closed(): Promise<void>
}

export interface CallGroupParts {
  /** Begins the keys in the outbox. */
  base: string
  thread: ThreadRef
  edits: EditScheduler
  outbox: Outbox
  single(key: string): LiveMessage
  fits(markdown: string): boolean
  body(markdown: string, calls: readonly ShownCall[]): MessageBody
  quietly(what: string, task: () => Promise<unknown>): Promise<void>
}

/** A line break within a paragraph. */
const BREAK = '  \n'

interface Group {
  /** The call under whose key the message stands. */
  host: string
  calls: Map<string, ShownCall>
  /** Nothing is added any more. */
  isCut: boolean
}

export function createCallGroups(parts: CallGroupParts): CallGroups {
  const { base, thread, edits, outbox, single, fits, body, quietly } = parts
  const begun = new Map<string, Promise<Group | null>>()
  const closing = new Set<Promise<void>>()
  let group: Group | null = null
  /** Replies of single calls that are not there yet. */
  let waiting = 0
  let turn: Promise<unknown> = Promise.resolve()

  async function groupFor(callKey: string, call: ShownCall): Promise<Group | null> {
    // A process before this one has shown it already.
    if (await outbox.find(`${base}/${callKey}`)) return null
    const waitMs = edits.waitMs({ method: 'post', thread, urgency: 'activity' })
    const isShort = waitMs > LONGEST_WAIT_MS || waiting >= MOST_WAITING
    if (group && (!isShort || group.calls.size >= MOST_CALLS || !fits(linesOf(group, call.line)))) cut()
    if (!isShort) return null
    group ??= { host: callKey, calls: new Map(), isCut: false }
    group.calls.set(callKey, call)
    draw(group)
    return group
  }

  function draw(drawn: Group): void {
    single(drawn.host).show(() => bodyOf(drawn))
  }

  function bodyOf({ calls }: Group): MessageBody {
    const all = [...calls.values()]
    const alone = all.length === 1 && isEnded(all[0]!) ? all[0]!.whole : undefined
    return body(alone ?? all.map(({ line }) => line).join(BREAK), all)
  }

  /** The lines of a group at their longest, with one more. */
  function linesOf({ calls }: Group, more: string): string {
    return [...[...calls.values()].map(({ line }) => line), more].map((line) => line + ENDING).join(BREAK)
  }

  function cut(): void {
    if (!group) return
    group.isCut = true
    finish(group)
    group = null
  }

  /** The last state of a group stands when nothing is added any more and all of its calls have ended. */
  function finish(done: Group): void {
    if (!done.isCut || ![...done.calls.values()].every(isEnded)) return
    const shown = quietly('a group of calls', async () => {
      const ref = await single(done.host).settle(bodyOf(done))
      // After a restart none of them gets a reply of its own as well.
      for (const key of done.calls.keys()) if (key !== done.host) await remember(`${base}/${key}`, ref)
    })
    closing.add(shown)
    shown.then(() => closing.delete(shown))
  }

  async function remember(key: string, ref: Parameters<Outbox['posted']>[1]): Promise<void> {
    await outbox.intend(key)
    await outbox.posted(key, ref)
    await outbox.settled(key)
  }

  return {
    async begin(callKey, call) {
      let ownReply: Promise<unknown> | null = null
      // One after another: each has to know how many wait before it.
      const found = turn.then(async () => {
        const joined = await groupFor(callKey, call)
        if (joined) return joined
        waiting++
        ownReply = single(callKey)
          .ensure(body(call.line, [call]))
          .finally(() => waiting--)
        // Awaited below; a failure before that must not count as unhandled.
        ownReply.catch(() => {})
        return null
      })
      turn = found.catch(() => {})
      begun.set(callKey, found)
      await found
      await ownReply
    },
    async end(callKey, call) {
      const found = await begun.get(callKey)?.catch(() => null)
      begun.delete(callKey)
      if (!found) return false
      found.calls.set(callKey, call)
      draw(found)
      finish(found)
      return true
    },
    cut,
    closed: async () => {
      await Promise.all(closing)
    },
  }
}

function isEnded({ task }: ShownCall): boolean {
  return task.state !== 'running'
}
