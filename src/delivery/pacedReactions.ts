import type { ChatPlatform, Reaction } from '../platform/platform.ts'
import type { MessageRef, ThreadRef } from '../shared/thread.ts'
import type { EditScheduler } from './editScheduler.ts'

interface Wanted {
  name: Reaction | null
  cancel(): void
}

/** How many messages it is remembered of that they carry a reaction. */
const REMEMBERED = 5_000

/**
 * The platform with reactions that keep to the limits and that nobody waits for. Of a message only the newest one wanted is
 * set; one that nobody has seen yet when it is over is never set.
 */
export function withPacedReactions(platform: ChatPlatform, edits: EditScheduler): ChatPlatform {
  const waiting = new Map<string, Wanted>()
  const reacted = new Set<string>()

  async function react(thread: ThreadRef, ref: MessageRef, name: Reaction | null): Promise<void> {
    const key = `${ref.channel}:${ref.id}`
    const known = waiting.get(key)
    if (known && (name !== null || reacted.has(key))) {
      known.name = name
      return
    }
    if (name === null && !reacted.has(key)) {
      // What an earlier process left on it, if anything, is taken away.
      known?.cancel()
      waiting.delete(key)
      return platform.react(thread, ref, null)
    }
    const wanted: Wanted = { name, cancel: () => sending.cancel() }
    waiting.set(key, wanted)
    const sending = edits.send({ method: 'react', thread, urgency: 'live' }, () => async () => {
      waiting.delete(key)
      if (wanted.name === null) reacted.delete(key)
      else reacted.add(key)
      if (reacted.size > REMEMBERED) reacted.delete(reacted.keys().next().value!)
      await platform.react(thread, ref, wanted.name)
    })
    // Signs of life are worth no more than that.
    sending.done.catch(() => {})
  }

  return { ...platform, react }
}
