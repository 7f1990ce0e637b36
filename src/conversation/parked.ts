import type { ThreadStore } from '../session/thread.ts'
import type { Log } from '../shared/log.ts'
import type { Wording } from '../shared/wording/wording.ts'
import type { Platforms } from './platforms.ts'

/**
 * Tells a thread that it failed again and again and is left alone until somebody writes in it. Best effort: the reason for
 * parking may well be that nothing can be posted there.
 */
export function createParkedNotice(parts: {
  threads: ThreadStore
  platforms: Platforms
  wordingOf(locale: string | undefined): Wording
  log: Log
}): (threadKey: string, error: unknown) => Promise<void> {
  const { threads, platforms, wordingOf, log } = parts
  return async (key, error) => {
    log.error({ thread: key, error }, 'the thread failed again and again and is parked')
    try {
      const { head, nextSeq, nextSlot } = await threads.open(key)
      if (!head || !platforms.has(head.ref.platform)) return
      const body = { markdown: `⚠️ ${wordingOf(undefined).runFailed}`, kind: 'notice' as const }
      await platforms.of(head.ref).post(head.ref, body, { key: `${key}/parked/${nextSeq}.${nextSlot}`, inDoubt: true })
    } catch (failure) {
      log.warn({ thread: key, error: failure }, 'the thread could not be told')
    }
  }
}
