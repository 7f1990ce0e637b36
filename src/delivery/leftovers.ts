import type { ChatPlatform } from '../platform/platform.ts'
import { PlatformError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import type { ThreadRef } from '../shared/thread.ts'
import type { EditScheduler } from './editScheduler.ts'
import type { Leftover, Outbox } from './outbox.ts'

/**
 * What is done with messages when there is time: a message whose text goes on below loses its live mark and its buttons, and
 * one that was posted anew goes. Each is noted before, so that the next process does what this one did not come to.
 */
export interface TidyParts {
  outbox: Outbox
  edits: EditScheduler
  log: Log
}

/**
 * Carries it out after everything more urgent: what stands in the thread twice goes first, what only looks live has time.
 * Never rejects: while the platform is out of order it waits for the next start.
 */
export async function tidy(leftover: Leftover, platform: ChatPlatform, parts: TidyParts): Promise<void> {
  const { outbox, edits, log } = parts
  const { key, thread, ref, body, isTwice = false } = leftover
  const urgency = isTwice || !body ? 'activity' : 'later'
  const lane = edits.lane({ thread, frame: () => null })
  const attempt = (): Promise<unknown> =>
    body
      ? lane.final(() => platform.edit(thread, ref, body), urgency)
      : edits.send({ method: 'remove', thread, urgency }, () => () => platform.remove(thread, ref)).done
  try {
    await edits.patience.persist(attempt, { paced: true })
  } catch (error) {
    if (error instanceof PlatformError && error.code === 'stopped') return
    log.warn({ key, error }, body ? 'a message goes on looking live' : 'a stale message stays in the thread')
    if (error instanceof PlatformError && (error.kind === 'unavailable' || error.kind === 'rateLimited')) return
  }
  await outbox.tidied(key).catch((error: unknown) => log.warn({ key, error }, 'what was tidied up was not noted'))
}

/** Carries out what earlier processes left over, in the background. Resolves when it is known what that is. */
export async function tidyUp(
  platformOf: (thread: ThreadRef) => { platform: ChatPlatform; edits: EditScheduler } | undefined,
  { outbox, log }: Omit<TidyParts, 'edits'>,
): Promise<void> {
  for (const leftover of await outbox.leftovers()) {
    const there = platformOf(leftover.thread)
    if (there) void tidy(leftover, there.platform, { outbox, edits: there.edits, log })
  }
}
