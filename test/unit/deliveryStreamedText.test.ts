import { describe, expect, it } from 'vitest'
import { createEditScheduler } from '../../src/delivery/editScheduler.ts'
import { openThreadView } from '../../src/delivery/threadView.ts'
import type { CallLimit } from '../../src/platform/platform.ts'
import { PlatformError } from '../../src/shared/errors.ts'
import { silentLog } from '../../src/shared/log.ts'
import { en } from '../../src/shared/wording/en.ts'
import { createClock, createMemoryOutbox, createSimulatedPlatform, THREAD } from './deliverySimulation.ts'
import { withStreams } from './streamSimulation.ts'

type Options = Parameters<typeof withStreams>[2] & { calls?: CallLimit[]; text?: number }

function setUp({ calls = [], text = 400, ...options }: Options = {}) {
  const clock = createClock()
  const simulated = createSimulatedPlatform(clock, { limits: { text, calls } })
  const streams = withStreams(clock, simulated, options)
  const stored = createMemoryOutbox()
  const { now, setTimer } = clock
  const open = () =>
    openThreadView({
      platform: streams.platform,
      thread: THREAD,
      outbox: stored.outbox,
      edits: createEditScheduler({ limits: simulated.platform.limits, now, setTimer }),
      ...{ wording: en, log: silentLog, setTimer, now },
    })
  const view = open()
  const shown = () => simulated.visible().map(({ body }) => body.markdown)
  const methods = () => simulated.calls.map(({ method }) => method)
  /** Says a text bit by bit. */
  const say = async (whole: string, step = 20, pauseMs = 300) => {
    for (let at = 0; at < whole.length; at += step) {
      view.text('s1', whole.slice(at, at + step))
      await clock.advance(pauseMs)
    }
  }
  return { clock, ...simulated, ...stored, ...streams, open, view, shown, methods, say }
}

const prose = (length: number) => {
  let text = ''
  for (let n = 0; text.length < length; n++) text += `Sentence number ${n} says something. ${n % 7 === 6 ? '\n\n' : ''}`
  return text.slice(0, length).trim()
}
const refusal = (code: string) => new PlatformError('invalid', code, code)

describe('streamed text', () => {
  it('grows one message by additions, and ends it with the small print in one call', async () => {
    const { view, clock, visible, shown, say, counts, entries } = setUp()
    await say('Hello there, this is a longer answer. ')
    expect(shown()[0]).toMatch(/^Hello there/)
    const text = 'Hello there, this is a longer answer. And its end.'
    const refs = await clock.until(view.settle('s1', text, { footer: 'small print' }))
    expect(visible()).toHaveLength(1)
    expect(visible()[0]!.body).toEqual({ markdown: text, kind: 'answer', footer: 'small print' })
    expect(counts).toMatchObject({ start: 1, end: 1 })
    expect(entries.get('slack:T1:C1:1.0/s1/0')).toEqual({ state: 'settled', ref: refs[0] })
    await clock.until(view.settle('s1', text, { footer: 'small print' }))
    expect(counts).toMatchObject({ start: 1, end: 1 })
  })

  it('is noted in the outbox before anything is added', async () => {
    const { say, entries } = setUp({
      fate: (call) => {
        if (call === 'add') expect(entries.get('slack:T1:C1:1.0/s1/0')?.state).toBe('posted')
        return undefined
      },
    })
    await say(prose(300))
  })

  it('adds at most so often as the platform takes, however fast the model is', async () => {
    const { say, counts } = setUp()
    await say(prose(390), 5, 40)
    // 78 pieces in 3.1 seconds.
    expect(counts.add).toBeLessThanOrEqual(6)
    expect(counts.add).toBeGreaterThanOrEqual(3)
  })

  it('never shows emphasis or a link before it is whole, but code as it comes', async () => {
    const { view, clock, shown, say } = setUp()
    const seen = new Set<string>()
    const text =
      'This is **very important** and [a link](https://example.org/x).\n\n```js\nconst a = 1\nconst b = 2\n```\n\nEnd.'
    for (let at = 0; at < text.length; at += 3) {
      await say(text.slice(at, at + 3), 3, 700)
      seen.add(shown()[0] ?? '')
    }
    await clock.until(view.settle('s1', text))
    expect(shown()).toEqual([text])
    for (const frame of seen) {
      expect((frame.match(/\*\*/g) ?? []).length % 2, frame).toBe(0)
      expect(frame).not.toMatch(/\[[^\]]*$|\]\([^)]*$/)
    }
    expect([...seen].some((frame) => frame.includes('const a = 1') && !frame.includes('const b'))).toBe(true)
  })

  it('goes on in a new stream when a message is full, after a sentence, and every word stands once', async () => {
    const { view, clock, shown, say, counts, calls } = setUp()
    const text = prose(1_500)
    await say(text, 40, 400)
    await clock.until(view.settle('s1', text, { footer: 'small print' }))
    expect(shown().join(' ').replace(/\s+/g, ' ')).toBe(text.replace(/\s+/g, ' '))
    expect(shown().length).toBeLessThanOrEqual(5)
    for (const message of shown().slice(0, -1)) {
      expect(message.length).toBeGreaterThan(300)
      expect(message.length).toBeLessThanOrEqual(400)
      expect(message).toMatch(/\.$/)
    }
    expect(counts).toMatchObject({ start: shown().length, end: shown().length })
    // Each end is one call, and nothing had to be repaired.
    const edits = calls.filter(({ method }) => method === 'edit').length
    expect(edits).toBe(counts.add + counts.end)
    const before = calls.length
    await clock.until(view.settle('s1', text, { footer: 'small print' }))
    expect(calls.length).toBe(before)
  })

  it('a text that is whole before anything is shown is posted, not streamed', async () => {
    const { view, clock, shown, counts } = setUp()
    await clock.until(view.settle('s1', 'Short.'))
    expect(shown()).toEqual(['Short.'])
    expect(counts.start).toBe(0)
  })

  it.each(['start', 'add', 'end'] as const)('goes on by edits of the same message when %s fails', async (failing) => {
    const { view, clock, shown, say, isOpen, visible, violations } = setUp({
      fate: (call, count) => (call === failing && count === 1 ? refusal('invalid_arguments') : undefined),
    })
    const text = prose(350)
    await say(text)
    expect(shown()[0]!.length).toBeGreaterThan(250)
    await clock.until(view.settle('s1', text, { footer: 'small print' }))
    expect(shown()).toEqual([text])
    expect(visible()[0]!.body).toEqual({ markdown: text, kind: 'answer', footer: 'small print' })
    expect(isOpen(visible()[0]!.ref.id)).toBe(false)
    expect(violations).toEqual([])
  })

  it('a start that failed although it took effect is found again, and its message used', async () => {
    const { view, clock, shown, say, simulated } = (() => {
      const world = setUp()
      return { ...world, simulated: world.fates }
    })()
    let isFirst = true
    simulated.next = ({ method }) => {
      const fails = method === 'post' && isFirst
      if (method === 'post') isFirst = false
      return fails
        ? { error: new PlatformError('unavailable', 'timeout', 'no answer', { uncertain: true }), after: true }
        : {}
    }
    const text = prose(350)
    await say(text)
    await clock.until(view.settle('s1', text))
    expect(shown()).toEqual([text])
  })

  it('ends a stream before its age, and goes on by edits (a slow model)', async () => {
    const { view, clock, shown, say, counts, isOpen, visible, violations } = setUp()
    const text = prose(350)
    await say(text, 20, 18_000)
    expect(clock.now()).toBeGreaterThan(300_000)
    expect(isOpen(visible()[0]!.ref.id)).toBe(false)
    expect(shown()[0]!.length).toBeGreaterThan(300)
    await clock.until(view.settle('s1', text))
    expect(shown()).toEqual([text])
    expect(counts).toMatchObject({ start: 1, end: 1 })
    expect(violations).toEqual([])
  })

  it('ends a stream before it is full, and goes on by edits', async () => {
    const { view, clock, shown, say, methods } = setUp({ limits: { most: 200 } })
    const text = prose(390)
    await say(text)
    await clock.until(view.settle('s1', text))
    expect(shown()).toEqual([text])
    expect(methods().filter((method) => method === 'post')).toHaveLength(1)
  })

  it('a model that begins anew: the same words go on, other words replace what was shown', async () => {
    for (const again of ['First version of it, and more.', 'Quite another answer.']) {
      const { view, clock, shown, say, visible, violations } = setUp()
      await say('First version of it', 5, 700)
      view.restart('s1')
      await say(again, 5, 700)
      await clock.until(view.settle('s1', again))
      expect(shown()).toEqual([again])
      expect(visible()[0]!.body.live).toBeUndefined()
      expect(violations).toEqual([])
    }
  })

  it('what stands in the message is compared with the final text, and edited where it differs', async () => {
    const { view, clock, shown, say } = setUp()
    await say('The answer is forty-one. ', 5, 700)
    await clock.until(view.settle('s1', 'The answer is forty-two.'))
    expect(shown()).toEqual(['The answer is forty-two.'])
  })

  it('text that prints otherwise as a whole than it did in part is edited', async () => {
    const print = (markdown: string) => (markdown.includes('END') ? markdown.toUpperCase() : markdown)
    const { view, clock, shown, say } = setUp({ print })
    await say('some words here ', 5, 700)
    await clock.until(view.settle('s1', 'some words here END'))
    expect(shown()).toEqual(['some words here END'])
  })

  it('where too many streams were begun already, the text goes by edits at once', async () => {
    const rare: CallLimit[] = [{ calls: ['startStream'], most: 1, perMs: 60_000, scope: 'account' }]
    const { view, clock, shown, counts, say } = setUp({ calls: rare })
    await say(prose(200))
    view.text('s2', 'Another text that grows. ')
    await clock.advance(1_000)
    expect(shown().at(-1)).toContain('Another text')
    expect(counts.start).toBe(1)
  })

  it('where the end of a stream has to wait, its last words do not', async () => {
    const rare: CallLimit[] = [{ calls: ['endStream'], most: 1, perMs: 60_000, scope: 'account' }]
    const { view, clock, shown, say } = setUp({ calls: rare })
    await say('One text that grows. ')
    await clock.until(view.settle('s1', 'One text that grows.'))
    view.text('s2', 'Another text ')
    await clock.advance(1_000)
    const settled = view.settle('s2', 'Another text with an end.', { footer: 'small print' })
    await clock.advance(1_000)
    expect(shown()[1]).toBe('Another text with an end.')
    await clock.until(settled)
    expect(shown()[1]).toBe('Another text with an end.')
  })

  it('an interrupted stream is ended with a word about it, and the next process goes on in the same message by edits', async () => {
    const { view, clock, shown, say, open, visible, counts, isOpen } = setUp()
    await say('The first half of it ', 5, 700)
    await clock.until(view.interrupt())
    expect(visible()[0]!.body).toMatchObject({ footer: en.interrupted })
    expect(isOpen(visible()[0]!.ref.id)).toBe(false)
    const next = open()
    next.text('s1', 'Anew, and whole')
    await clock.advance(2_000)
    expect(shown()).toEqual(['Anew, and'])
    await clock.until(next.settle('s1', 'Anew, and whole.'))
    expect(shown()).toEqual(['Anew, and whole.'])
    expect(counts.start).toBe(1)
  })

  it('a process that is gone without a word leaves an open stream, which the next one ends and repairs', async () => {
    const { view, clock, shown, say, open, isOpen, visible } = setUp()
    await say('The first half of it ', 5, 700)
    await clock.until(view.abandon())
    expect(isOpen(visible()[0]!.ref.id)).toBe(true)
    await clock.until(open().settle('s1', 'All of it.'))
    expect(shown()).toEqual(['All of it.'])
    expect(isOpen(visible()[0]!.ref.id)).toBe(false)
  })

  it('a person who presses Stop keeps the text so far, whatever the platform refuses then', async () => {
    let isStopped = false
    const { view, clock, shown, say } = setUp({
      fate: (call) => (isStopped && call !== 'start' ? refusal('stopped_by_user') : undefined),
    })
    await say('The first half of it ', 5, 700)
    isStopped = true
    await clock.until(view.settle('s1', 'The first half of it\n\n_Stopped by Ben._'))
    expect(shown()).toEqual(['The first half of it\n\n_Stopped by Ben._'])
  })
})
