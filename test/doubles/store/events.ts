import type { IncomingMessage } from '../../../src/platform/platform.ts'
import type { InboxEvent } from '../../../src/session/inbox.ts'

/** A person's message as it comes in, for tests that care about little but its ids. */
export function incoming(id: string, aliases: string[] = [], more: Partial<IncomingMessage> = {}): InboxEvent {
  return {
    kind: 'message',
    id,
    aliases,
    message: {
      id,
      aliases,
      thread: { platform: 'slack', account: 'T1', id: 'C1:1.0', channel: 'C1', thread: '1.0' },
      ref: { channel: 'C1', id: '1.0' },
      author: { id: 'U1', name: 'Ann', isBot: false, isExternal: false },
      text: `text of ${id}`,
      at: 1,
      addressed: 'mention',
      hasEarlier: false,
      edited: false,
      attachments: [],
      ...more,
    },
  }
}
