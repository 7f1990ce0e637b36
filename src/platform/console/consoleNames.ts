import type { ConsoleMessage } from '../../shared/consoleView.ts'
import type { ThreadRef } from '../../shared/thread.ts'
import type { Place } from '../platform.ts'

/** Everybody at the console, until there is sign-in; also the name of the console's one account. */
export const LOCAL = 'local'
export const CHANNEL = 'console'
export const BOT_NAME = 'ToyCoder'

export const PLACE: Place = { platform: 'console', account: LOCAL, channel: CHANNEL }

export function threadRefOf(threadId: string): ThreadRef {
  return { ...PLACE, platform: 'console', id: threadId, thread: threadId }
}

export function blankMessage(id: string, at: number): ConsoleMessage {
  const silent = { kind: 'notice' as const, author: BOT_NAME, markdown: '', live: false, state: 'done' as const }
  return { ...silent, id, rev: 0, at, buttons: [], reaction: null }
}
