import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ChatPlatform, MessageBody, Place } from '../../src/platform/platform.ts'
import { PlatformError } from '../../src/shared/errors.ts'
import type { MessageRef, ThreadRef } from '../../src/shared/thread.ts'
import { type RecordingInbox, until } from './recordingInbox.ts'

/** What one platform brings along so that the same promises can be asked of all. */
export interface PlatformHarness {
  /** Started with `inbox`. */
  platform: ChatPlatform
  inbox: RecordingInbox
  hooks: PlatformHooks
  /** Stops the platform and its double. */
  close(): Promise<void>
}

export interface PlatformHooks {
  /** A person names the bot in a channel; with `thread`, inside of that thread. */
  mention(text: string, thread?: ThreadRef): Promise<void>
  /** A person writes into a thread without naming the bot. */
  reply(thread: ThreadRef, text: string): Promise<void>
  /** A person writes to the bot alone. */
  direct(text: string): Promise<void>
  /** A channel in which the bot may open a thread. */
  place: Place
  /** The thread as people see it now, oldest first, with its files. `text` holds at least the words of the message. */
  view(thread: ThreadRef): ViewedMessage[] | Promise<ViewedMessage[]>
  /** Everybody whom the bot's messages of this thread notify by name: ids, and `everyone` for any broadcast. */
  pings(thread: ThreadRef): string[] | Promise<string[]>
  /** Somebody deletes a message on the platform. */
  deleteMessage(ref: MessageRef): Promise<void>
  /** The next call of this kind fails: `lost` has no effect, `stored` takes effect and then fails all the same. */
  failNext(operation: 'post' | 'edit' | 'upload' | 'react' | 'status', how: 'lost' | 'stored' | 'rateLimited'): void
  /** Ids for `person`, of the account `place.account`. */
  people: { admin: string; member: string; guest?: string; bot?: string }
}

export interface ViewedMessage {
  id: string
  author: 'bot' | 'person'
  text: string
  files?: string[]
}

export type PlatformPromise =
  | 'a mention arrives once, with its text and its thread'
  | 'a follow-up carries the key of the same thread'
  | 'a mention inside of a thread says that there is earlier talk'
  | 'a direct message arrives as one'
  | 'a message that the inbox did not take is delivered again'
  | 'a post appears in its thread'
  | 'a new thread opens with its first message'
  | 'a post in doubt is made once'
  | 'a post that failed after it was stored is made once'
  | 'a post that failed without effect can be made again'
  | 'an edit replaces the whole message'
  | 'an edit of a deleted message says that it is gone'
  | 'too long a text is refused as too long'
  | 'a rate limit says how long to wait'
  | 'removing takes a message away, and one that is gone is fine'
  | 'nothing in a text pings anybody'
  | 'only people who are named as such can be pinged'
  | 'history holds the newest messages, oldest first, and says when some are left out'
  | 'history ends before the given message'
  | 'a file appears in its thread'
  | 'reactions and status never fail a caller'
  | 'people are told apart by the rights they have'
  | 'somebody the platform does not know has the fewest rights'
  | 'a stopped platform hands over nothing more'

/**
 * The promises of `ChatPlatform`, for every platform. A fresh harness serves each test. A promise that a platform can't
 * keep by its nature is skipped with the reason.
 */
export function platformSuite(
  name: string,
  setup: () => Promise<PlatformHarness>,
  { skip = {} }: { skip?: Partial<Record<PlatformPromise, string>> } = {},
): void {
  describe(`${name} keeps the promises of a chat platform`, () => {
    let harness: PlatformHarness
    beforeEach(async () => {
      harness = await setup()
    })
    afterEach(() => harness?.close())

    function promise(sentence: PlatformPromise, check: (harness: PlatformHarness) => Promise<void>): void {
      test(sentence, async (context) => {
        if (skip[sentence]) context.skip(skip[sentence])
        await check(harness)
      })
    }

    promise('a mention arrives once, with its text and its thread', async ({ inbox, hooks }) => {
      await hooks.mention('what is 2+2?')
      const [message] = await inbox.received(1)
      expect(message).toMatchObject({ text: 'what is 2+2?', addressed: 'mention', edited: false })
      expect(message!.author.isBot).toBe(false)
      expect(message!.ref.channel).not.toBe('')
      expect(message!.thread.id).not.toContain('/')
      // Whatever else tells of the same message is a duplicate by its ids.
      await hooks.mention('and 3+3?')
      const [, second] = await inbox.received(2)
      expect(second!.text).toBe('and 3+3?')
      expect(second!.thread.id).not.toBe(message!.thread.id)
    })

    promise('a follow-up carries the key of the same thread', async ({ inbox, hooks }) => {
      const thread = await conversation({ inbox, hooks })
      await hooks.reply(thread, 'also update the tests')
      const [, followUp] = await inbox.received(2)
      expect(followUp).toMatchObject({ text: 'also update the tests', thread: { id: thread.id } })
    })

    promise('a mention inside of a thread says that there is earlier talk', async ({ inbox, hooks }) => {
      const thread = await conversation({ inbox, hooks })
      await hooks.mention('and now?', thread)
      const [, inside] = await inbox.received(2)
      expect(inside).toMatchObject({ addressed: 'mention', hasEarlier: true, thread: { id: thread.id } })
    })

    promise('a direct message arrives as one', async ({ inbox, hooks }) => {
      await hooks.direct('summarise this')
      const [message] = await inbox.received(1)
      expect(message).toMatchObject({ text: 'summarise this', addressed: 'direct' })
    })

    promise('a message that the inbox did not take is delivered again', async ({ inbox, hooks }) => {
      // Two, since a platform may tell of one mention twice.
      inbox.failNext(2)
      await hooks.mention('do not lose this')
      const [message] = await inbox.received(1, 15_000)
      expect(message!.text).toBe('do not lose this')
      expect(inbox.deliveries.length).toBeGreaterThan(2)
    })

    promise('a post appears in its thread', async ({ platform, inbox, hooks }) => {
      const thread = await conversation({ inbox, hooks })
      const ref = await platform.post(thread, says('The answer is 4.'), { key: 'answer' })
      const posted = (await hooks.view(thread)).find(({ id }) => id === ref.id)
      expect(posted).toMatchObject({ author: 'bot' })
      expect(posted!.text).toContain('The answer is 4.')
    })

    promise('a new thread opens with its first message', async ({ platform, hooks }) => {
      const { thread, ref } = await platform.open(hooks.place, says('A plan for you'), { key: 'opening' })
      await platform.post(thread, says('Step one'), { key: 'step' })
      const texts = (await hooks.view(thread)).map(({ text }) => text).join('\n')
      expect(texts).toContain('A plan for you')
      expect(texts).toContain('Step one')
      expect(ref.channel).not.toBe('')
      const again = await platform.open(hooks.place, says('A plan for you'), { key: 'opening', inDoubt: true })
      expect(again.thread.id).toBe(thread.id)
    })

    promise('a post in doubt is made once', async ({ platform, inbox, hooks }) => {
      const thread = await conversation({ inbox, hooks })
      const first = await platform.post(thread, says('only once'), { key: 'k:1' })
      await platform.post(thread, says('something else'), { key: 'k:2' })
      const second = await platform.post(thread, says('only once'), { key: 'k:1', inDoubt: true })
      expect(second).toEqual(first)
      const unseen = await platform.post(thread, says('never sent before'), { key: 'k:3', inDoubt: true })
      expect(unseen.id).not.toBe(first.id)
      expect(await botTexts(hooks, thread)).toHaveLength(3)
    })

    promise('a post that failed after it was stored is made once', async ({ platform, inbox, hooks }) => {
      const thread = await conversation({ inbox, hooks })
      hooks.failNext('post', 'stored')
      const ref = await retried((inDoubt) => platform.post(thread, says('only once'), { key: 'k', inDoubt }))
      const posts = (await hooks.view(thread)).filter(({ author }) => author === 'bot')
      expect(posts.map(({ id }) => id)).toEqual([ref.id])
    })

    promise('a post that failed without effect can be made again', async ({ platform, inbox, hooks }) => {
      const thread = await conversation({ inbox, hooks })
      hooks.failNext('post', 'lost')
      await retried((inDoubt) => platform.post(thread, says('at last'), { key: 'k', inDoubt }))
      expect(await botTexts(hooks, thread)).toHaveLength(1)
    })

    promise('an edit replaces the whole message', async ({ platform, inbox, hooks }) => {
      const thread = await conversation({ inbox, hooks })
      const ref = await platform.post(thread, { ...says('half'), live: true }, { key: 'k' })
      await platform.edit(thread, ref, says('whole'))
      const shown = (await hooks.view(thread)).find(({ id }) => id === ref.id)!
      expect(shown.text).toContain('whole')
      expect(shown.text).not.toContain('half')
    })

    promise('an edit of a deleted message says that it is gone', async ({ platform, inbox, hooks }) => {
      const thread = await conversation({ inbox, hooks })
      const ref = await platform.post(thread, says('soon gone'), { key: 'k' })
      await hooks.deleteMessage(ref)
      await expect(kindOf(platform.edit(thread, ref, says('too late')))).resolves.toBe('notFound')
    })

    promise('too long a text is refused as too long', async ({ platform, inbox, hooks }) => {
      const thread = await conversation({ inbox, hooks })
      const text = 'word '.repeat(platform.limits.text / 2)
      await expect(kindOf(platform.post(thread, says(text), { key: 'k' }))).resolves.toBe('tooLong')
      const ref = await platform.post(thread, says('short'), { key: 'short' })
      await expect(kindOf(platform.edit(thread, ref, says(text)))).resolves.toBe('tooLong')
      // What `size` says fits is taken.
      let fitting = 'x'.repeat(platform.limits.text)
      while (platform.size(fitting) > platform.limits.text) fitting = fitting.slice(0, -100)
      await platform.edit(thread, ref, says(fitting))
    })

    promise('a rate limit says how long to wait', async ({ platform, inbox, hooks }) => {
      const thread = await conversation({ inbox, hooks })
      const ref = await platform.post(thread, says('live'), { key: 'k' })
      hooks.failNext('edit', 'rateLimited')
      const failure = await platform.edit(thread, ref, says('later')).catch((error) => error)
      // A library may wait by itself; then the edit is made.
      if (failure === undefined)
        return expect(await botTexts(hooks, thread)).toEqual([expect.stringContaining('later')])
      expect(failure).toBeInstanceOf(PlatformError)
      expect(failure.kind).toBe('rateLimited')
      expect(failure.retryAfterMs).toBeGreaterThan(0)
    })

    promise('removing takes a message away, and one that is gone is fine', async ({ platform, inbox, hooks }) => {
      const thread = await conversation({ inbox, hooks })
      const ref = await platform.post(thread, says('in the way'), { key: 'k' })
      await platform.remove(thread, ref)
      await platform.remove(thread, ref)
      expect(await botTexts(hooks, thread)).toEqual([])
    })

    promise('nothing in a text pings anybody', async ({ platform, inbox, hooks }) => {
      const thread = await conversation({ inbox, hooks })
      const { member } = hooks.people
      const text = [
        `done @everyone @here <!channel> <!here|here> <!everyone> <!subteam^S0FAKE001> <@${member}> <@${member}|dana>`,
        `<@!${member}> <@&123456789012345678> <#C0FAKE001|ops> &lt;!here&gt; \`<!channel>\``,
        '```\n<!channel> @everyone\n```',
      ].join('\n')
      const ref = await platform.post(thread, { ...says(text), footer: text }, { key: 'k' })
      expect(await hooks.pings(thread)).toEqual([])
      await platform.edit(thread, ref, { ...says(`${text}\nmore`), kind: 'activity', footer: text })
      await platform.upload(thread, { name: 'log.txt', content: 'x', comment: text }, { key: 'f' })
      expect(await hooks.pings(thread)).toEqual([])
    })

    promise('only people who are named as such can be pinged', async ({ platform, inbox, hooks }) => {
      const thread = await conversation({ inbox, hooks })
      const { member, admin } = hooks.people
      const body = { ...says(`<@${member}> asked, <@${admin}> did not`), mentions: [member] }
      await platform.post(thread, body, { key: 'k' })
      expect(await hooks.pings(thread)).toEqual([member])
    })

    promise(
      'history holds the newest messages, oldest first, and says when some are left out',
      async ({ platform, inbox, hooks }) => {
        const thread = await conversation({ inbox, hooks })
        for (let n = 1; n <= 6; n++) await platform.post(thread, says(`note ${n}`), { key: `note ${n}` })
        const all = await platform.history(thread, null, 50)
        expect(all.cut).toBe(false)
        expect(all.messages.slice(-6).map(({ text }) => text)).toEqual([1, 2, 3, 4, 5, 6].map((n) => `note ${n}`))
        expect(all.messages.at(-1)).toMatchObject({ author: { isSelf: true, isBot: true } })
        expect(all.messages.every(({ at }, index) => index === 0 || at >= all.messages[index - 1]!.at)).toBe(true)
        const some = await platform.history(thread, null, 4)
        expect(some.messages.length).toBeLessThanOrEqual(4)
        // The thread's first message may take one of the places.
        expect(some.messages.slice(-3).map(({ text }) => text)).toEqual(['note 4', 'note 5', 'note 6'])
        expect(some.cut).toBe(true)
      },
    )

    promise('history ends before the given message', async ({ platform, inbox, hooks }) => {
      const thread = await conversation({ inbox, hooks })
      await platform.post(thread, says('before'), { key: 'a' })
      const ref = await platform.post(thread, says('this one'), { key: 'b' })
      await platform.post(thread, says('after'), { key: 'c' })
      const { messages } = await platform.history(thread, ref, 50)
      expect(messages.at(-1)!.text).toBe('before')
    })

    promise('a file appears in its thread', async ({ platform, inbox, hooks }) => {
      const thread = await conversation({ inbox, hooks })
      const file = { name: 'transcript.md', content: '# Transcript\n', comment: 'The transcript so far.' }
      await platform.upload(thread, file, { key: 'file' })
      const names = async () => (await hooks.view(thread)).flatMap(({ files }) => files ?? [])
      await until(async () => (await names()).includes('transcript.md'), 'the file in the thread')
    })

    promise('reactions and status never fail a caller', async ({ platform, inbox, hooks }) => {
      const thread = await conversation({ inbox, hooks })
      const { ref } = inbox.messages[0]!
      await platform.react(thread, ref, 'working')
      await platform.react(thread, ref, 'done')
      await platform.react(thread, ref, null)
      await platform.react(thread, ref, null)
      await platform.react(thread, { channel: ref.channel, id: '1' }, 'failed')
      await platform.status(thread, 'is working on it')
      await platform.status(thread, null)
      hooks.failNext('react', 'lost')
      await platform.react(thread, ref, 'failed')
      hooks.failNext('status', 'lost')
      await platform.status(thread, 'is working on it')
    })

    promise('people are told apart by the rights they have', async ({ platform, hooks }) => {
      const { admin, member, guest, bot } = hooks.people
      const { account } = hooks.place
      expect(await platform.person(account, admin)).toMatchObject({ id: admin, isAdmin: true, isBot: false })
      expect(await platform.person(account, member)).toMatchObject({ id: member, isAdmin: false, isGuest: false })
      if (guest) expect(await platform.person(account, guest)).toMatchObject({ isGuest: true, isAdmin: false })
      if (bot) expect(await platform.person(account, bot)).toMatchObject({ isBot: true, isAdmin: false })
    })

    promise('somebody the platform does not know has the fewest rights', async ({ platform, hooks }) => {
      const nobody = hooks.people.member.replace(/./g, (character) => (/\d/.test(character) ? '9' : character))
      const { isBot, isGuest, isExternal, isAdmin } = await platform.person(hooks.place.account, nobody)
      expect(isAdmin).toBe(false)
      expect(isBot || (isGuest && isExternal)).toBe(true)
    })

    promise('a stopped platform hands over nothing more', async ({ platform, inbox, hooks }) => {
      await conversation({ inbox, hooks })
      await platform.stop()
      await hooks.mention('anybody there?').catch(() => {})
      await new Promise((resolve) => setTimeout(resolve, 100))
      expect(inbox.deliveries.map(({ text }) => text)).not.toContain('anybody there?')
    })
  })
}

/** A person names the bot; resolves with the thread in which it is to answer. */
export async function conversation({ inbox, hooks }: Pick<PlatformHarness, 'inbox' | 'hooks'>): Promise<ThreadRef> {
  const before = inbox.messages.length
  await hooks.mention('hello bot')
  const messages = await inbox.received(before + 1)
  return messages[before]!.thread
}

export function says(markdown: string): MessageBody {
  return { markdown, kind: 'answer' }
}

/** The kind of the `PlatformError` a call rejects with. */
export async function kindOf(call: Promise<unknown>): Promise<string> {
  const outcome = await call.catch((error: unknown) => error)
  if (outcome instanceof PlatformError) return outcome.kind
  throw new Error(`expected a PlatformError, got ${outcome}`)
}

/** As delivery does: a failure that is not final is tried again, in doubt if the first attempt may have taken effect. */
async function retried<T>(attempt: (inDoubt: boolean) => Promise<T>): Promise<T> {
  try {
    return await attempt(false)
  } catch (error) {
    if (!(error instanceof PlatformError) || error.kind !== 'unavailable') throw error
    return attempt(error.uncertain)
  }
}

async function botTexts(hooks: PlatformHooks, thread: ThreadRef): Promise<string[]> {
  return (await hooks.view(thread)).filter(({ author }) => author === 'bot').map(({ text }) => text)
}
