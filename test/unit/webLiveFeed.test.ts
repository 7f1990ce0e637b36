import { describe, expect, test } from 'vitest'
import { type ConsolePlatform, createConsolePlatform } from '../../src/platform/console/consolePlatform.ts'
import { silentLog } from '../../src/shared/log.ts'
import type { ThreadRef } from '../../src/shared/thread.ts'
import { type FeedEvent, liveFeed } from '../../src/web/liveFeed.ts'
import { memoryStorage } from '../browser/memoryStorage.ts'

const AT: ThreadRef = { platform: 'console', account: 'local', id: 't', channel: 'console', thread: 't' }
const ELSEWHERE: ThreadRef = { ...AT, id: 'u', thread: 'u' }
const says = (markdown: string, live = false) => ({ markdown, kind: 'answer' as const, live })

function started(): { platform: ConsolePlatform; feed: AsyncGenerator<FeedEvent, void>; leave: () => void } {
  const platform = createConsolePlatform({ storage: memoryStorage(), log: silentLog, adminName: 'Dana' })
  const leaving = new AbortController()
  return { platform, feed: liveFeed(platform.pages, 't', leaving.signal), leave: () => leaving.abort() }
}

const html = (event: FeedEvent) => (event.data as { html: string }).html

describe('the live feed of a page', () => {
  test('begins with the whole picture', async () => {
    const { platform, feed } = started()
    await platform.post(AT, says('first'), { key: 'a' })
    await platform.post(AT, says('second'), { key: 'b' })
    const { value } = await feed.next()
    expect(value).toMatchObject({
      event: 'snapshot',
      data: { threads: [{ id: 't', title: 'first' }], thread: { id: 't' }, more: false, status: null, whispers: [] },
    })
    const { messages } = (value as { data: { messages: { html: string }[] } }).data
    expect(messages.map((message) => message.html)).toEqual([
      expect.stringContaining('first'),
      expect.stringContaining('second'),
    ])
    await feed.return()
  })

  test('goes on with what changes in this thread, and of others tells only that there are such', async () => {
    const { platform, feed } = started()
    await feed.next()
    await platform.post(ELSEWHERE, says('elsewhere'), { key: 'a' })
    await platform.post(AT, says('here'), { key: 'a' })
    const events = [(await feed.next()).value!, (await feed.next()).value!, (await feed.next()).value!]
    expect(events.map(({ event }) => event)).toEqual(['thread', 'thread', 'message'])
    expect(html(events[2]!)).toContain('here')
    await feed.return()
  })

  test('a page that reads slowly gets the newest text of a message, and not what it was before', async () => {
    const { platform, feed } = started()
    await feed.next()
    const ref = await platform.post(AT, says('frame 0', true), { key: 'a' })
    for (let n = 1; n <= 100; n++) await platform.edit(AT, ref, says(`frame ${n}`, true))
    await platform.edit(AT, ref, says('final'))
    await platform.status(AT, 'is done')
    expect((await feed.next()).value!.event).toBe('thread')
    expect(html((await feed.next()).value!)).toContain('final')
    expect((await feed.next()).value!.event).toBe('status')
    await feed.return()
  })

  test('what changes while the picture is taken comes after it', async () => {
    const { platform, feed } = started()
    const ref = await platform.post(AT, says('before', true), { key: 'a' })
    const picture = feed.next()
    await platform.edit(AT, ref, says('after'))
    const { messages } = (await picture).value!.data as { messages: { rev: number }[] }
    const { value } = await feed.next()
    expect(html(value!)).toContain('after')
    expect((value!.data as { rev: number }).rev).toBeGreaterThanOrEqual(messages[0]!.rev)
    await feed.return()
  })

  test('all pages that look at a message share the work of rendering it', async () => {
    const { platform, feed } = started()
    const other = liveFeed(platform.pages, 't', new AbortController().signal)
    await feed.next()
    await other.next()
    await platform.post(AT, says('**once**'), { key: 'a' })
    const [, mine] = [await feed.next(), await feed.next()]
    const [, theirs] = [await other.next(), await other.next()]
    expect(html(mine.value!)).toContain('<strong>once</strong>')
    expect(theirs.value!.data).toBe(mine.value!.data)
    await Promise.all([feed.return(), other.return()])
  })

  test('ends when its reader leaves, also while nothing happens, and listens no longer', async () => {
    const { platform, feed, leave } = started()
    await feed.next()
    expect(await platform.whisper(AT, 'local', 'psst')).toBe(true)
    expect((await feed.next()).value!.event).toBe('whisper')
    const next = feed.next()
    leave()
    expect(await next).toEqual({ done: true, value: undefined })
    expect(await platform.whisper(AT, 'local', 'psst')).toBe(false)
  })
})
