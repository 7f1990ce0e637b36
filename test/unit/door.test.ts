import { expect, test } from 'vitest'
import { COMMANDS, createCommandRegistry } from '../../src/conversation/commandRegistry.ts'
import type { Decisions } from '../../src/conversation/decisions.ts'
import { createDoor } from '../../src/conversation/door.ts'
import { platformsByName } from '../../src/conversation/platforms.ts'
import type { IncomingMessage } from '../../src/platform/platform.ts'
import { createFollowed } from '../../src/session/followed.ts'
import { createInbox } from '../../src/session/inbox.ts'
import { openStore } from '../../src/session/openStore.ts'
import { createEmbeddedScheduler } from '../../src/session/scheduler/embedded.ts'
import type { Store } from '../../src/session/store.ts'
import { createThreadStore } from '../../src/session/threadStore.ts'
import { silentLog } from '../../src/shared/log.ts'
import { threadKey } from '../../src/shared/thread.ts'
import { wordingFor } from '../../src/shared/wording/wording.ts'

const thread = { platform: 'slack', account: 'T1', id: 'C1:1.0', channel: 'C1', thread: '1.0' } as const

function said(ts: string, addressed: IncomingMessage['addressed']): IncomingMessage {
  const author = { id: 'U1', name: 'Ada', isBot: false, isExternal: false }
  return {
    ...{ id: `T1:C1:${ts}`, aliases: [], thread, ref: { channel: 'C1', id: ts }, author, text: `message ${ts}` },
    ...{ at: 0, addressed, hasEarlier: false, edited: false, attachments: [] },
  }
}

/** A door over a store on several connections: its writes take longer than its reads. */
async function slowDoor() {
  const memory = await openStore('memory:')
  const store: Store = {
    ...memory,
    async putIfAbsent(...entry) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      return memory.putIfAbsent(...entry)
    },
  }
  const inbox = createInbox({ store, wake: async () => {} })
  const door = createDoor({
    inbox,
    threads: createThreadStore(store),
    followed: createFollowed(store),
    scheduler: createEmbeddedScheduler({ store, openThreads: async () => [], log: silentLog }),
    platforms: platformsByName([]),
    commands: createCommandRegistry(COMMANDS),
    decisions: {} as Decisions,
    access: { channels: [], people: [], roles: [], guests: false, external: false, admins: [] },
    wordingOf: () => wordingFor('en'),
    log: silentLog,
  })
  return { door, inbox }
}

test('what follows a mention at the same moment is taken, in order, however slow the store is', async () => {
  const { door, inbox } = await slowDoor()
  const outcomes = await Promise.all([
    door.message(said('1.0', 'mention')),
    door.message(said('1.1', 'thread')),
    door.message(said('1.2', 'thread')),
  ])
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['accepted', 'accepted', 'accepted'])
  const kept = await inbox.read(threadKey(thread), 0)
  expect(kept.map(({ event }) => event.id)).toEqual(['T1:C1:1.0', 'T1:C1:1.1', 'T1:C1:1.2'])
})

test('talk in a thread that nobody called the bot into is not taken, and an event after the end is refused', async () => {
  const { door, inbox } = await slowDoor()
  expect(await door.message(said('1.1', 'thread'))).toEqual({ outcome: 'ignored' })
  door.close()
  await expect(door.message(said('1.2', 'mention'))).rejects.toThrow('ending')
  expect(await inbox.read(threadKey(thread), 0)).toEqual([])
})
