import { describe, expect, it } from 'vitest'
import { createEditScheduler } from '../../src/delivery/editScheduler.ts'
import { splitMarkdown } from '../../src/delivery/splitMarkdown.ts'
import { openThreadView, type ThreadViewOptions } from '../../src/delivery/threadView.ts'
import { PlatformError } from '../../src/shared/errors.ts'
import { silentLog } from '../../src/shared/log.ts'
import { en } from '../../src/shared/wording/en.ts'
import { createClock, createMemoryOutbox, createSimulatedPlatform, THREAD } from './deliverySimulation.ts'

function setUp(options: Parameters<typeof createSimulatedPlatform>[1] = {}, view: Partial<ThreadViewOptions> = {}) {
  const clock = createClock()
  const simulated = createSimulatedPlatform(clock, options)
  const stored = createMemoryOutbox()
  const open = () => {
    const edits = createEditScheduler({ limits: simulated.platform.limits, now: clock.now, setTimer: clock.setTimer })
    return openThreadView({
      platform: simulated.platform,
      thread: THREAD,
      outbox: stored.outbox,
      edits,
      wording: en,
      log: silentLog,
      setTimer: clock.setTimer,
      ...view,
    })
  }
  return { clock, ...simulated, ...stored, open, view: open() }
}

const texts = (shown: { body: { markdown: string } }[]) => shown.map(({ body }) => body.markdown)
const prose = (length: number) => {
  let text = ''
  for (let n = 0; text.length < length; n++) text += `Sentence number ${n} says something. ${n % 7 === 6 ? '\n\n' : ''}`
  return text.slice(0, length).trim()
}

describe('live text', () => {
  it('shows the first piece at once and the rest by edits of the same message', async () => {
    const { view, clock, visible, calls } = setUp()
    view.text('s1', 'Hello')
    await clock.advance(0)
    expect(texts(visible())).toEqual(['Hello'])
    expect(visible()[0]!.body.live).toBe(true)
    view.text('s1', ' there')
    view.text('s1', ', world.')
    await clock.advance(1_500)
    expect(texts(visible())).toEqual(['Hello there, world.'])
    await clock.until(view.settle('s1', 'Hello there, world.', { footer: 'small print' }))
    expect(visible()).toHaveLength(1)
    expect(visible()[0]!.body).toEqual({ markdown: 'Hello there, world.', kind: 'answer', footer: 'small print' })
    expect(calls.map(({ method }) => method)).toEqual(['post', 'edit', 'edit'])
  })

  it('goes on in a new message before the limit, and in the same pieces as the whole text', async () => {
    const { view, clock, visible, violations, platform } = setUp()
    const text = prose(1_500)
    for (let at = 0; at < text.length; at += 40) {
      view.text('s1', text.slice(at, at + 40))
      await clock.advance(100)
    }
    const before = texts(visible())
    await clock.until(view.settle('s1', text))
    const whole = splitMarkdown(text, { limit: 400, size: platform.size }).map((piece) => piece.trim())
    expect(texts(visible())).toEqual(whole)
    expect(before.slice(0, 2)).toEqual(whole.slice(0, 2))
    expect(violations).toEqual([])
  })

  it('makes one message when the model is done before the first post has answered (SE-05)', async () => {
    const { view, clock, visible, calls } = setUp({ fate: () => ({ delayMs: 600 }) })
    view.text('s1', 'All done ')
    view.text('s1', 'in forty milliseconds.')
    await clock.until(view.settle('s1', 'All done in forty milliseconds.'))
    expect(texts(visible())).toEqual(['All done in forty milliseconds.'])
    expect(calls.filter(({ method }) => method === 'post')).toHaveLength(1)
  })

  it('applies the final text after a slow frame, never before it (SE-04)', async () => {
    const { view, clock, visible, violations, fates } = setUp()
    view.text('s1', 'First')
    await clock.advance(1_000)
    fates.next = ({ body }) => ({ delayMs: body?.live ? 800 : 0 })
    view.text('s1', ' second')
    await clock.advance(1_000)
    view.text('s1', ' third')
    await clock.advance(10)
    await clock.until(view.settle('s1', 'First second third.'))
    await clock.advance(5_000)
    expect(texts(visible())).toEqual(['First second third.'])
    expect(violations).toEqual([])
  })

  it('keeps one frame at most through a rate limit and shows the newest text after it (RL-01)', async () => {
    const { view, clock, calls, visible, fates } = setUp()
    view.text('s1', 'Word')
    await clock.advance(2_000)
    let refusals = 1
    fates.next = ({ method }) =>
      method === 'edit' && refusals-- > 0
        ? { error: new PlatformError('rateLimited', 'ratelimited', 'slow down', { retryAfterMs: 10_000 }) }
        : {}
    const before = calls.length
    for (let n = 0; n < 60; n++) {
      view.text('s1', ` ${n}`)
      await clock.advance(100)
    }
    expect(calls.length - before).toBe(1)
    await clock.advance(6_000)
    expect(calls.length - before).toBe(2)
    expect(texts(visible())[0]).toMatch(/ 58$/)
  })

  it('tries the final text again after each stated wait, never drops it (RL-02)', async () => {
    const { view, clock, visible, fates } = setUp()
    view.text('s1', 'Some')
    await clock.advance(2_000)
    let refusals = 2
    fates.next = ({ method }) =>
      method === 'edit' && refusals-- > 0
        ? { error: new PlatformError('rateLimited', 'ratelimited', 'slow down', { retryAfterMs: 5_000 }) }
        : {}
    const started = clock.now()
    await clock.until(view.settle('s1', 'Some answer.'))
    expect(clock.now() - started).toBeGreaterThanOrEqual(10_000)
    expect(texts(visible())).toEqual(['Some answer.'])
  })

  it.each(['notFound', 'notEditable'] as const)(
    'posts the answer anew, once, when its message answers %s (SE-03, SE-13)',
    async (kind) => {
      const { view, clock, visible, calls, violations, fates } = setUp()
      view.text('s1', 'Some')
      await clock.advance(2_000)
      fates.next = ({ method, key }) =>
        method === 'edit' && !key.endsWith('~2') ? { error: new PlatformError(kind, 'x', 'no') } : {}
      view.text('s1', ' more')
      await clock.advance(2_000)
      view.text('s1', ' text')
      await clock.advance(2_000)
      await clock.until(view.settle('s1', 'Some more text.'))
      expect(texts(visible())).toEqual(['Some more text.'])
      expect(calls.filter(({ method }) => method === 'post')).toHaveLength(2)
      expect(calls.filter(({ method, body }) => method === 'edit' && body?.live)).toHaveLength(1)
      expect(violations).toEqual([])
    },
  )

  it('posts the answer anew again when the message in its place is gone too, and never takes away what it shows', async () => {
    const { view, open, clock, visible, fates, violations } = setUp()
    view.text('s1', 'Some')
    await clock.advance(2_000)
    fates.next = ({ method }) => (method === 'edit' ? { error: new PlatformError('notEditable', 'x', 'no') } : {})
    await clock.until(view.interrupt())
    expect(texts(visible())).toEqual(['Some'])
    const next = open()
    await clock.until(next.settle('s1', 'Some more text.'))
    expect(texts(visible())).toEqual(['Some more text.'])
    expect(violations).toEqual([])
  })

  it('does not take a message that another process posted anew for one with the final text', async () => {
    const { view, open, clock, visible, entries, platform } = setUp()
    view.text('s1', 'Some')
    await clock.advance(2_000)
    await clock.until(view.abandon())
    const key = 'slack:T1:C1:1.0/s1/0'
    const old = visible()[0]!.ref
    const ref = await clock.until(platform.post(THREAD, { markdown: 'Some m', kind: 'answer' }, { key: `${key}~2` }))
    entries.set(`${key}~2`, { state: 'posted', ref })
    await clock.until(platform.remove(THREAD, old))
    await clock.until(open().settle('s1', 'Some more text.'))
    expect(texts(visible())).toEqual(['Some more text.'])
  })

  it('does not hammer a platform that refuses without naming a wait', async () => {
    const { view, clock, calls, fates } = setUp()
    fates.next = () => ({ error: new PlatformError('rateLimited', 'ratelimited', 'slow down', { retryAfterMs: 0 }) })
    const failed = expect(clock.until(view.settle('s1', 'Some text.'))).rejects.toMatchObject({ kind: 'rateLimited' })
    await failed
    expect(calls.length).toBeLessThanOrEqual(1 + clock.now() / 250)
  })

  it('rejects when neither the edit nor the new post works, so that nobody takes it for delivered (SE-03, RL-04)', async () => {
    const { view, clock, fates } = setUp()
    view.text('s1', 'Some')
    await clock.advance(2_000)
    fates.next = ({ method }) => ({
      error: new PlatformError(method === 'edit' ? 'notEditable' : 'forbidden', 'is_archived', 'no'),
    })
    await expect(clock.until(view.settle('s1', 'Some text.'))).rejects.toMatchObject({ kind: 'forbidden' })
  })

  it('cuts smaller what the platform finds too long all the same (SE-01)', async () => {
    const { view, clock, visible, fates } = setUp()
    fates.next = ({ body }) =>
      body && body.markdown.length > 150 ? { error: new PlatformError('tooLong', 'msg_too_long', 'no') } : {}
    const text = prose(380)
    await clock.until(view.settle('s1', text, { footer: 'end' }))
    expect(texts(visible()).join(' ').replace(/\s+/g, ' ')).toBe(text.replace(/\s+/g, ' '))
    expect(visible().map(({ body }) => body.footer)).toEqual([...Array(visible().length - 1).fill(undefined), 'end'])
  })

  it('sends nothing for an empty answer and takes the live message away (SP-12)', async () => {
    const { view, clock, visible, calls } = setUp()
    expect(await clock.until(view.settle('s1', '  \n'))).toEqual([])
    expect(calls).toEqual([])
    view.text('s2', 'thinking aloud')
    await clock.advance(2_000)
    expect(await clock.until(view.settle('s2', ''))).toEqual([])
    expect(visible()).toEqual([])
  })

  it('begins anew in the same message when the model begins anew', async () => {
    const { view, clock, visible } = setUp()
    const first = prose(900)
    view.text('s1', first)
    await clock.advance(5_000)
    expect(visible().length).toBeGreaterThan(1)
    view.restart('s1')
    view.text('s1', 'Another answer')
    await clock.advance(5_000)
    await clock.until(view.settle('s1', 'Another answer.'))
    expect(texts(visible())).toEqual(['Another answer.'])
  })

  it('keeps the order of the thread when much text comes at once', async () => {
    const { view, clock, visible } = setUp({ fate: () => ({ delayMs: 300 }) })
    const text = prose(2_000)
    view.text('s1', text)
    await clock.until(view.settle('s1', text))
    expect(texts(visible())).toEqual(
      splitMarkdown(text, { limit: 400, size: (one) => one.length }).map((one) => one.trim()),
    )
  })
})

describe('after a restart', () => {
  it('a settled answer is not touched again', async () => {
    const { view, open, clock, calls } = setUp()
    const refs = await clock.until(view.settle('s1', 'The answer.'))
    const before = calls.length
    expect(await clock.until(open().settle('s1', 'The answer.'))).toEqual(refs)
    expect(calls.length).toBe(before)
  })

  it('a half shown answer is completed in its messages, and surplus ones go', async () => {
    const { view, open, clock, visible } = setUp()
    view.text('s1', prose(900))
    await clock.advance(3_000)
    await clock.until(view.abandon())
    const old = visible().map(({ ref }) => ref.id)
    expect(old.length).toBeGreaterThan(1)
    await clock.until(open().settle('s1', 'A short answer after all.'))
    expect(texts(visible())).toEqual(['A short answer after all.'])
    expect(visible()[0]!.ref.id).toBe(old[0])
  })

  it('a post in doubt is looked for, and its text is made certain', async () => {
    const { open, clock, visible, violations, entries, platform } = setUp()
    const key = 'slack:T1:C1:1.0/s1/0'
    entries.set(key, { state: 'intended' })
    await clock.until(platform.post(THREAD, { markdown: 'The ans', kind: 'answer', live: true }, { key }))
    await clock.until(open().settle('s1', 'The answer.'))
    expect(texts(visible())).toEqual(['The answer.'])
    expect(violations).toEqual([])
  })

  it('a call whose reply is there gets its result there', async () => {
    const { view, open, clock, visible } = setUp()
    await clock.until(view.toolCall('s1.0', 'read_file', { path: 'a.ts' }))
    const next = open()
    await clock.until(next.toolCall('s1.0', 'read_file', { path: 'a.ts' }))
    await clock.until(next.toolResult('s1.0', 'read_file', { path: 'a.ts' }, 'content', false))
    await clock.until(next.toolResult('s1.0', 'read_file', { path: 'a.ts' }, 'content', false))
    expect(texts(visible())).toEqual(['`read_file` `a.ts`\n```\ncontent\n```'])
  })
})

describe('a lost answer of the platform', () => {
  it('makes no second message when the first was stored', async () => {
    const { view, clock, visible, violations, fates } = setUp()
    let lost = 1
    fates.next = ({ method }) =>
      method === 'post' && lost-- > 0
        ? { error: new PlatformError('unavailable', 'timeout', 'no answer', { uncertain: true }), after: true }
        : {}
    await clock.until(view.notice('n1', 'Once only.'))
    expect(texts(visible())).toEqual(['Once only.'])
    expect(violations).toEqual([])
  })
})

describe('tool activity', () => {
  it('is one reply per call that turns from running into its result', async () => {
    const { view, clock, visible } = setUp()
    await clock.until(view.toolCall('s1.0', 'run_command', '{"command":"npm test"}'))
    expect(texts(visible())).toEqual(['`run_command` `npm test` …'])
    expect(visible()[0]!.body.kind).toBe('activity')
    await clock.until(view.toolResult('s1.0', 'run_command', '{"command":"npm test"}', 'ok\n', false))
    expect(texts(visible())).toEqual(['`run_command` `npm test`\n```\nok\n```'])
  })

  it('shows a result that can not break out of its block', async () => {
    const { view, clock, visible } = setUp()
    await clock.until(view.toolResult('c', 'read_file', { path: 'x`y' }, '```\n@everyone\n```', false))
    expect(texts(visible())[0]).toBe('`read_file` ``x`y``\n````\n```\n@everyone\n```\n````')
  })

  it('says how much of a long result is shown', async () => {
    const { view, clock, visible } = setUp({ limits: { text: 2_000 } })
    const lines = Array.from({ length: 50 }, (_, n) => `line ${n}`).join('\n')
    await clock.until(view.toolResult('a', 'grep_search', { pattern: 'x' }, lines, false))
    await clock.until(view.toolResult('b', 'read_file', { path: 'x' }, 'y'.repeat(60_000), true))
    expect(texts(visible())[0]).toContain(en.toolLines(12, 50))
    expect(texts(visible())[1]).toContain(en.toolCharacters(900, 60_000))
    expect(texts(visible())[1]).toContain('failed')
  })

  it('tells the call in parts, too, with what its line cuts and as much of the result as the text shows', async () => {
    const { view, clock, visible } = setUp()
    const args = { command: `npm test\n${'x'.repeat(200)}` }
    await clock.until(view.toolCall('c', 'run_command', args))
    expect(visible()[0]!.body.task).toMatchObject({ id: 'c', state: 'running', details: args.command })
    expect(visible()[0]!.body.task).not.toHaveProperty('output')
    const lines = Array.from({ length: 50 }, (_, n) => `line ${n}`)
    await clock.until(view.toolResult('c', 'run_command', args, lines.join('\n'), true))
    expect(visible()[0]!.body.task).toEqual({
      id: 'c',
      title: `run_command npm test ${'x'.repeat(90)}…`,
      state: 'failed',
      details: args.command,
      output: [...lines.slice(0, 12), en.toolLines(12, 50)].join('\n'),
    })
  })

  it('masks secrets in arguments before they are cut', async () => {
    const secret = 'a-very-secret-word'
    const { view, clock, visible } = setUp({}, { mask: (text) => text.replaceAll(secret, '[secret]') })
    const args = { command: `${'x'.repeat(90)} ${secret} and more` }
    await clock.until(view.toolCall('c', 'run_command', args))
    expect(JSON.stringify(visible())).not.toContain('very')
    await clock.until(view.toolResult('c', 'run_command', args, 'ok', false))
    expect(JSON.stringify(visible())).not.toContain('very')
    expect(visible()[0]!.body.task).toMatchObject({ details: `${'x'.repeat(90)} [secret] and more` })
  })

  it('never fails a run', async () => {
    const { view, clock } = setUp({ fate: () => ({ error: new PlatformError('forbidden', 'x', 'no') }) })
    await clock.until(view.toolCall('c', 'read_file', {}))
    await clock.until(view.toolResult('c', 'read_file', {}, 'x', false))
  })

  it('is a line per call when compact, and nothing when off', async () => {
    const compact = setUp({}, { activity: 'compact' })
    await compact.clock.until(compact.view.toolResult('c', 'read_file', { path: 'a' }, 'secret sauce', false))
    expect(texts(compact.visible())).toEqual(['`read_file` `a`'])
    expect(compact.visible()[0]!.body.task).toEqual({ id: 'c', title: 'read_file a', state: 'done' })
    const off = setUp({}, { activity: 'off' })
    await off.clock.until(off.view.toolCall('c', 'read_file', { path: 'a' }))
    expect(off.visible()).toEqual([])
  })
})

describe('working', () => {
  it('is renewed until idle, pauses while text is seen to grow, and is always cleared (SD-02)', async () => {
    const { view, clock, statuses } = setUp()
    view.working()
    await clock.advance(17_000)
    expect(statuses).toEqual([en.working, en.working, en.working])
    view.text('s1', 'Text')
    await clock.advance(20_000)
    expect(statuses).toHaveLength(3)
    await clock.until(view.idle())
    await clock.advance(60_000)
    expect(statuses.at(-1)).toBeNull()
    expect(statuses).toHaveLength(4)
  })
})

describe('the end of the program', () => {
  it('marks live text as interrupted and leaves it open for the next process', async () => {
    const { view, open, clock, visible } = setUp()
    view.working()
    view.text('s1', 'Half an ans')
    await clock.advance(3_000)
    await clock.until(view.interrupt())
    expect(visible()[0]!.body).toMatchObject({ markdown: 'Half an ans', footer: en.interrupted })
    expect(clock.pending()).toBe(0)
    await clock.until(open().settle('s1', 'Half an answer no more.'))
    expect(texts(visible())).toEqual(['Half an answer no more.'])
  })

  it('leaves no timer and no call behind when abandoned', async () => {
    const { view, clock, calls } = setUp({ fate: () => ({ delayMs: 400 }) })
    view.working()
    view.text('s1', 'Half an ans')
    await clock.advance(500)
    view.text('s1', 'wer')
    await clock.until(view.abandon())
    const before = calls.length
    view.text('s1', ' and more')
    await clock.advance(60_000)
    expect(calls.length).toBe(before)
    expect(clock.pending()).toBe(0)
  })
})
