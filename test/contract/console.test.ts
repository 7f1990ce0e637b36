import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createIdSource } from '../../src/platform/console/consoleIds.ts'
import { createConsolePlatform } from '../../src/platform/console/consolePlatform.ts'
import { titleOf } from '../../src/platform/console/consoleTitle.ts'
import type { ConsoleChange } from '../../src/shared/consoleView.ts'
import { silentLog } from '../../src/shared/log.ts'
import type { ThreadRef } from '../../src/shared/thread.ts'
import { memoryStorage } from '../browser/memoryStorage.ts'
import { type PlatformHooks, platformSuite, says } from './platformSuite.ts'
import { createRecordingInbox, until } from './recordingInbox.ts'

const PLACE = { platform: 'console' as const, account: 'local', channel: 'console' }

/** The console on a store that can fail before or after it wrote. */
function consoleOn(storage = memoryStorage()) {
  let fault: { how: 'lost' | 'stored'; key: RegExp } | null = null
  const platform = createConsolePlatform({
    storage: {
      ...storage,
      async set(key, value, ttlMs) {
        const failing = fault?.key.test(key) ? fault.how : null
        if (failing) fault = null
        if (failing !== 'lost') await storage.set(key, value, ttlMs)
        if (failing) throw new Error('the store did not answer')
      },
    },
    log: silentLog,
    adminName: 'Dana',
  })
  const failNextWrite = (how: 'lost' | 'stored', key: RegExp) => {
    fault = { how, key }
  }
  return { storage, platform, failNextWrite, inbox: createRecordingInbox() }
}

let submissions = 0

/** Sends as the page does: the same id again until the server has it. */
async function type(platform: ReturnType<typeof consoleOn>['platform'], threadId: string | null, text: string) {
  const id = `submission-${submissions++}`
  for (let attempts = 0; ; attempts++) {
    try {
      return await platform.pages.submit({ id, threadId, text })
    } catch (error) {
      if (attempts === 3) throw error
    }
  }
}

platformSuite(
  'console',
  async () => {
    const { storage, platform, failNextWrite, inbox } = consoleOn()
    await platform.start(inbox)
    const hooks: PlatformHooks = {
      mention: async (text, thread) => void (await type(platform, thread?.id ?? null, text)),
      reply: async (thread, text) => void (await type(platform, thread.id, text)),
      direct: async (text) => void (await type(platform, null, text)),
      place: PLACE,
      async view(thread) {
        const { messages } = await platform.pages.messages(thread.id, { limit: 100 })
        return messages.map(({ id, kind, markdown, file }) => ({
          id,
          author: kind === 'person' ? 'person' : 'bot',
          text: markdown,
          ...(file ? { files: [file.name] } : {}),
        }))
      },
      // The console notifies nobody: it shows its threads to one person, who looks at them.
      pings: () => [],
      async deleteMessage({ id }) {
        for (const key of storage.entries.keys()) if (key.endsWith(id)) storage.entries.delete(key)
      },
      failNext(operation, how) {
        if (how !== 'rateLimited')
          failNextWrite(how, operation === 'upload' ? /^console\/files\// : /^console\/messages\//)
      },
      people: { admin: 'local', member: 'nobody', bot: 'bot' },
    }
    return { platform, inbox, hooks, close: () => platform.stop() }
  },
  {
    skip: {
      'a mention arrives once, with its text and its thread': 'at the console every message is a direct one',
      'a mention inside of a thread says that there is earlier talk': 'the bot has been handed every earlier message',
      'a rate limit says how long to wait': 'the console has no rate limit',
      'only people who are named as such can be pinged': 'the console notifies nobody',
      'people are told apart by the rights they have': 'until there is sign-in, one person is at the console',
    },
  },
)

describe('what is typed at the console', () => {
  test('comes from the one local person, who is an admin of the bot', async () => {
    const { platform, inbox } = consoleOn()
    await platform.start(inbox)
    await type(platform, null, 'hello')
    const [message] = inbox.messages
    expect(message).toMatchObject({ addressed: 'direct', hasEarlier: false, author: { id: 'local', name: 'Dana' } })
    expect(message!.thread).toMatchObject(PLACE)
    expect(await platform.person('local', 'local')).toMatchObject({ name: 'Dana', isAdmin: true, isBot: false })
    expect(await platform.person('local', 'somebody')).toMatchObject({ isAdmin: false })
  })

  test.each([
    ['/plan add a test', 'plan', 'add a test'],
    ['/Plan  two\nlines ', 'plan', 'two\nlines'],
    ['/plan', 'plan', ''],
    ['/toycoder usage', 'toycoder', 'usage'],
  ])('%j is the command %s in a thread that shows it', async (text, name, rest) => {
    const { platform, inbox } = consoleOn()
    await platform.start(inbox)
    await type(platform, null, text)
    expect(inbox.messages).toEqual([])
    expect(inbox.commands).toMatchObject([{ name, text: rest, place: PLACE }])
    const { messages } = await platform.pages.messages(inbox.commands[0]!.thread!.id, { limit: 10 })
    expect(messages).toMatchObject([{ kind: 'person', markdown: text }])
  })

  test.each(['/planner x', 'please /plan x', '/etc/hosts is odd', '/ plan'])('%j is a message', async (text) => {
    const { platform, inbox } = consoleOn()
    await platform.start(inbox)
    await type(platform, null, text)
    expect(inbox.messages).toMatchObject([{ text }])
  })

  test('sent twice at the same moment is one message in one new thread', async () => {
    const { platform, inbox } = consoleOn()
    await platform.start(inbox)
    const submission = { id: 'once', threadId: null, text: 'hello' }
    const outcomes = await Promise.all([platform.pages.submit(submission), platform.pages.submit(submission)])
    expect(new Set(outcomes.map((one) => 'threadId' in one && one.threadId)).size).toBe(1)
    expect(inbox.messages).toHaveLength(1)
    expect(await platform.pages.threads({ limit: 10 })).toHaveLength(1)
  })

  test('is delivered after a restart when the program ended between writing it down and the inbox', async () => {
    const before = consoleOn()
    await before.platform.start(before.inbox)
    before.inbox.failNext(1)
    const submission = { id: 'cut', threadId: null, text: 'do not lose this' }
    await expect(before.platform.pages.submit(submission)).rejects.toThrow()
    const after = consoleOn(before.storage)
    await after.platform.start(after.inbox)
    expect(after.inbox.messages).toMatchObject([{ text: 'do not lose this' }])
    // The page tries again, too, and then it is known.
    expect(await after.platform.pages.submit(submission)).toMatchObject({ outcome: 'duplicate' })
    const again = consoleOn(before.storage)
    await again.platform.start(again.inbox)
    expect(again.inbox.deliveries).toEqual([])
  })

  test('survives the failure of any single write, with one message in the thread', async () => {
    for (const key of [/pending/, /threads/, /messages/]) {
      for (const how of ['lost', 'stored'] as const) {
        const { platform, inbox, failNextWrite } = consoleOn()
        await platform.start(inbox)
        failNextWrite(how, key)
        await type(platform, null, 'hello')
        expect(inbox.messages).toHaveLength(1)
        const { messages } = await platform.pages.messages(inbox.messages[0]!.thread.id, { limit: 10 })
        expect(messages).toHaveLength(1)
      }
    }
  })

  test('a refusal of the inbox reaches the person', async () => {
    const { platform, inbox } = consoleOn()
    await platform.start(inbox)
    inbox.receipt = { outcome: 'refused', text: 'not here' }
    expect(await type(platform, null, 'hello')).toMatchObject({ outcome: 'refused', text: 'not here' })
  })
})

describe('what the console shows', () => {
  async function thread(): Promise<ReturnType<typeof consoleOn> & { thread: ThreadRef; changes: ConsoleChange[] }> {
    const parts = consoleOn()
    await parts.platform.start(parts.inbox)
    await type(parts.platform, null, 'hello')
    const changes: ConsoleChange[] = []
    parts.platform.pages.subscribe((change) => changes.push(change))
    return { ...parts, thread: parts.inbox.messages[0]!.thread, changes }
  }

  test('growing text is told at once and kept in memory; the final text is in the store', async () => {
    const { platform, thread: at, storage, changes } = await thread()
    const ref = await platform.post(at, { ...says('one'), live: true }, { key: 'k' })
    const stored = () => JSON.parse(storage.entries.get(`console/messages/${at.id}/${ref.id}`)!).markdown
    await platform.edit(at, ref, { ...says('one two'), live: true })
    await platform.edit(at, ref, { ...says('one two three'), live: true })
    expect(stored()).toBe('one')
    const [last] = (await platform.pages.messages(at.id, { limit: 1 })).messages
    expect(last).toMatchObject({ markdown: 'one two three', live: true })
    await platform.edit(at, ref, { ...says('done'), footer: 'small print' })
    expect(stored()).toBe('done')
    const told = changes.flatMap((change) => (change.type === 'message' ? [change.message] : []))
    expect(told.map(({ markdown, rev }) => [markdown, rev])).toEqual([
      ['one', 0],
      ['one two', 1],
      ['one two three', 2],
      ['done', 3],
    ])
  })

  test('a reaction that comes while an edit is under way loses nothing of it', async () => {
    const { platform, inbox, thread: at } = await thread()
    const ref = await platform.post(at, says('one'), { key: 'k' })
    await Promise.all([
      platform.edit(at, ref, says('two')),
      platform.react(at, ref, 'done'),
      platform.react(at, inbox.messages[0]!.ref, 'working'),
    ])
    const { messages } = await platform.pages.messages(at.id, { limit: 10 })
    expect(messages.map(({ markdown, reaction }) => [markdown, reaction])).toEqual([
      ['hello', 'working'],
      ['two', 'done'],
    ])
  })

  test('everything is there after a restart, the latest thread first, in pages', async () => {
    const { platform, storage } = await thread()
    for (let n = 0; n < 5; n++) await type(platform, null, `thread ${n}`)
    const later = consoleOn(storage).platform.pages
    const newest = await later.threads({ limit: 3 })
    expect(newest.map(({ title }) => title)).toEqual(['thread 4', 'thread 3', 'thread 2'])
    const older = await later.threads({ limit: 10, before: newest[2]!.id })
    expect(older.map(({ title }) => title)).toEqual(['thread 1', 'thread 0', 'hello'])
  })

  test('long threads come in pages, oldest of a page first', async () => {
    const { platform, thread: at } = await thread()
    for (let n = 1; n <= 7; n++) await platform.post(at, says(`note ${n}`), { key: `n${n}` })
    const last = await platform.pages.messages(at.id, { limit: 4 })
    expect([last.more, ...last.messages.map(({ markdown }) => markdown)]).toEqual([
      true,
      'note 4',
      'note 5',
      'note 6',
      'note 7',
    ])
    const before = await platform.pages.messages(at.id, { limit: 4, before: last.messages[0]!.id })
    expect([before.more, ...before.messages.map(({ markdown }) => markdown)]).toEqual([
      false,
      'hello',
      'note 1',
      'note 2',
      'note 3',
    ])
  })

  test('a whisper reaches open pages and is dropped where there are none', async () => {
    const { platform, thread: at, changes } = await thread()
    expect(await platform.whisper(at, 'local', 'psst')).toBe(true)
    expect(await platform.whisper(at, 'somebody', 'psst')).toBe(false)
    expect(changes).toMatchObject([{ type: 'whisper', threadId: at.id, whisper: { markdown: 'psst', buttons: [] } }])
    // A page that comes a moment later hears it, too.
    expect(platform.pages.whispers(at.id)).toMatchObject([{ markdown: 'psst' }])
    expect(await consoleOn().platform.whisper(at, 'local', 'psst')).toBe(false)
  })

  test('a thread that was stored before there were cards waits for nobody', async () => {
    const { platform, thread: at, storage } = await thread()
    const key = `console/threads/${at.id}`
    const { waiting: _, ...old } = JSON.parse(storage.entries.get(key)!)
    storage.entries.set(key, JSON.stringify(old))
    expect(await platform.pages.threads({ limit: 1 })).toMatchObject([{ id: at.id, waiting: [] }])
    await platform.post(at, says('one'), { key: 'k' })
    expect(await platform.pages.thread(at.id)).toMatchObject({ waiting: [] })
  })

  test('a status fades when it is not renewed', async () => {
    let now = 1_000_000
    const platform = createConsolePlatform({
      storage: memoryStorage(),
      log: silentLog,
      adminName: 'Dana',
      now: () => now,
    })
    const at: ThreadRef = { ...PLACE, id: 't', thread: 't' }
    await platform.status(at, 'is working on it')
    now += 14_000
    expect(platform.pages.status('t')).toMatchObject({ text: 'is working on it' })
    now += 2_000
    expect(platform.pages.status('t')).toBeNull()
  })

  test('a press reaches the inbox with its message, also when that is gone by now; one in a thread that is not there does not', async () => {
    const { platform, inbox, thread: at } = await thread()
    inbox.answer = { text: 'noted' }
    const ref = await platform.post(at, says('one'), { key: 'k' })
    const press = { id: 'p1', threadId: at.id, messageId: ref.id, action: 'stop', value: '7' }
    expect(await platform.pages.click(press)).toEqual({ text: 'noted' })
    expect(inbox.clicks).toMatchObject([{ action: 'stop', value: '7', ref, thread: at, author: { id: 'local' } }])
    await platform.remove(at, ref)
    expect(await platform.pages.click(press)).toEqual({ text: 'noted' })
    expect(await platform.pages.click({ ...press, threadId: 'nowhere' })).toBeUndefined()
    expect(inbox.clicks).toHaveLength(2)
  })

  test('a failure of the store is a failure of the platform, of which nobody knows what it did', async () => {
    const { platform, thread: at, storage } = await thread()
    storage.failing = true
    await expect(platform.post(at, says('x'), { key: 'k' })).rejects.toMatchObject({
      name: 'PlatformError',
      kind: 'unavailable',
      uncertain: true,
    })
    await platform.react(at, { channel: 'console', id: 'x' }, 'done')
  })

  test('a file comes back byte by byte, and its links name the page', async () => {
    const platform = createConsolePlatform({
      storage: memoryStorage(),
      log: silentLog,
      adminName: 'Dana',
      pageUrl: () => 'http://127.0.0.1:3000',
    })
    const at: ThreadRef = { ...PLACE, id: 't', thread: 't' }
    const content = Uint8Array.from({ length: 256 }, (_, byte) => byte)
    const ref = (await platform.upload(at, { name: 'bytes.bin', content }, { key: 'f' }))!
    expect(await platform.pages.file('t', ref.id)).toEqual({ name: 'bytes.bin', content: Buffer.from(content) })
    expect(await platform.permalink(at, ref)).toBe(`http://127.0.0.1:3000/console/t/t#m-${ref.id}`)
    await until(async () => (await platform.pages.thread('t')) !== undefined, 'the thread')
  })
})

describe('ids', () => {
  test('descend strictly, within a millisecond and when the clock steps back', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 4_000_000_000_000 }), { minLength: 2, maxLength: 50 }),
        (times) => {
          let at = 0
          const newId = createIdSource(() => times[at]!)
          const ids = times.map((_, index) => {
            at = index
            return newId()
          })
          expect(ids).toEqual(ids.toSorted().reverse())
        },
      ),
    )
  })
})

describe('a title', () => {
  test.each([
    ['hello', 'hello'],
    ['/plan add a test', 'add a test'],
    ['\n\n## **Fix** the `parser`\nmore', 'Fix the parser'],
    ['> [docs](https://example.com) are wrong', 'docs are wrong'],
    ['```js\nlet x = 1', 'let x = 1'],
    ['   ', '…'],
    ['x'.repeat(100), `${'x'.repeat(79)}…`],
  ])('of %j is %j', (markdown, title) => {
    expect(titleOf(markdown)).toBe(title)
  })

  test('is cut between graphemes', () => {
    expect(titleOf('👩‍👩‍👧‍👦'.repeat(100))).toBe(`${'👩‍👩‍👧‍👦'.repeat(79)}…`)
    expect(titleOf(`e${'\u0301'.repeat(40_000)}`).length).toBeLessThan(2000)
  })
})
