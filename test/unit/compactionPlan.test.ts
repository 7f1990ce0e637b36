import { describe, expect, it } from 'vitest'
import { planCompaction } from '../../src/session/compactionPlan.ts'
import { contextSize } from '../../src/session/compactionTokens.ts'
import { prunedResult } from '../../src/session/prunedResult.ts'
import { modelView } from '../../src/session/view.ts'
import { estimateTokens, messageTokens } from '../../src/shared/tokenEstimate.ts'
import { createThread, words } from './compactionThread.ts'

const budget = { contextTokens: 10_000, keepRecentTokens: 2_000 }
const plan = (thread: ReturnType<typeof createThread>, overflow = false) =>
  planCompaction({ records: thread.records, budget, overheadTokens: 0, overflow })

describe('the token estimate', () => {
  it.each([
    ['', 0],
    ['abcd', 1],
    ['12', 1],
    ['你好世界', 3],
    ['héé', 2],
  ])('takes %j for %i', (text, tokens) => {
    expect(estimateTokens(text)).toBe(tokens)
  })

  it('takes linear time on any text, also on one unbroken run', () => {
    const started = performance.now()
    for (const unit of ['a', ' ', '9', '😀', '中']) estimateTokens(unit.repeat(2_000_000))
    expect(performance.now() - started).toBeLessThan(2_000)
  })

  it('counts calls, pictures and replayed reasoning too', () => {
    const plain = messageTokens({ role: 'assistant', content: 'abcd' })
    const call = { id: 'c', type: 'function' as const, function: { name: 'abcd', arguments: words(10) } }
    expect(messageTokens({ role: 'assistant', content: 'abcd', tool_calls: [call] })).toBeGreaterThan(plain + 10)
    const reasoning = { field: 'r', text: words(50), provider: 'p', model: 'm' }
    expect(messageTokens({ role: 'assistant', content: 'abcd', reasoning })).toBe(plain + 50)
    expect(
      messageTokens({ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,x' } }] }),
    ).toBeGreaterThan(1_000)
  })
})

describe('the size of the next request', () => {
  it('is the usage of the last response and what came after it', () => {
    const thread = createThread()
    thread.says(words(1_000))
    thread.answers('', { inputTokens: 3_000 })
    thread.says(words(500))
    const { tokens, ratio } = contextSize(thread.records, 500)
    expect(ratio).toBeCloseTo(3_000 / 1_507, 1)
    expect(tokens).toBeGreaterThan(3_000 + 2 * 480)
    expect(tokens).toBeLessThan(3_000 + 2 * 520)
  })

  it('does not count what was pruned or summarised since', () => {
    const thread = createThread()
    thread.says('go')
    thread.calls('a')
    thread.result('a', words(4_000))
    thread.answers('done', { inputTokens: 8_000 })
    const before = contextSize(thread.records, 0)
    thread.mark({ mark: 'pruned', upTo: 4, keep: 400 })
    const after = contextSize(thread.records, 0)
    expect(after.ratio).toBe(before.ratio)
    expect(after.tokens).toBeLessThan(before.tokens / 10)
  })

  it('is not misled by a response to more than is loaded now', () => {
    const thread = createThread()
    thread.says(words(4_000))
    thread.says('kept')
    thread.answers('yes', { inputTokens: 5_000 })
    thread.mark({ mark: 'compacted', upTo: 1, summary: 's' })
    expect(contextSize(thread.records, 0).ratio).toBeGreaterThan(1)
    expect(contextSize(thread.records.slice(1), 0).ratio).toBe(1)
  })

  it('notices a server that cuts requests silently, and does not believe it', () => {
    const thread = createThread()
    thread.says(words(40_000))
    thread.answers('?', { inputTokens: 4_095 })
    const size = contextSize(thread.records, 0)
    expect(size.cutByServer).toBe(true)
    expect(size.tokens).toBeGreaterThan(25_000)
  })

  it("does not take a specialist's usage for that of the thread", () => {
    const thread = createThread()
    thread.says(words(100))
    thread.answers('yes', { inputTokens: 150 })
    const { ratio } = contextSize(thread.records, 0)
    thread.says('plan it', { command: 'plan' })
    thread.says('quickly', { steered: true })
    thread.answers('the plan', { inputTokens: 90_000 })
    expect(contextSize(thread.records, 0).ratio).toBe(ratio)
  })

  it('does not calibrate by our own estimates', () => {
    const thread = createThread()
    thread.says(words(100))
    thread.answers('?', { inputTokens: 400, estimated: true })
    expect(contextSize(thread.records, 0).ratio).toBe(1)
  })
})

describe('the plan', () => {
  it('is to do nothing within the budget', () => {
    const thread = createThread()
    thread.says(words(9_000))
    expect(plan(thread).kind).toBe('none')
    expect(planCompaction({ records: [], budget, overheadTokens: 0, overflow: true }).kind).toBe('none')
  })

  it('is to do nothing while calls are open, whatever the size', () => {
    const thread = createThread()
    thread.says(words(20_000))
    thread.answers('ok')
    thread.says('go')
    thread.calls('a', 'b')
    thread.result('a', words(20_000))
    expect(plan(thread).kind).toBe('none')
    expect(plan(thread, true).kind).toBe('none')
    thread.result('b', '')
    expect(plan(thread).kind).not.toBe('none')
  })

  it('is to prune old results first, where that is enough, and to leave the newest ones', () => {
    const thread = createThread()
    thread.says('go')
    thread.calls('a')
    thread.result('a', words(9_000))
    thread.calls('b')
    thread.result('b', words(1_500))
    expect(plan(thread)).toMatchObject({ kind: 'prune', upTo: 3 })
  })

  it('is to summarise up to a border between turns, with about the recent tokens kept', () => {
    const thread = createThread()
    for (let turn = 0; turn < 20; turn++) {
      thread.says(words(300))
      thread.answers(words(300))
    }
    const made = plan(thread)
    expect(made.kind).toBe('summarise')
    const upTo = made.kind === 'summarise' ? made.upTo : 0
    expect(thread.records[upTo]!.record).toMatchObject({ message: { role: 'user' } })
    const left = thread.records.length - upTo
    expect(left).toBe(6)
  })

  it('counts the background that came along to its turn, and steering to the turn it entered', () => {
    const thread = createThread()
    thread.says(words(8_000))
    thread.answers(words(3_000))
    thread.says('earlier talk', { background: true })
    thread.says('go')
    thread.says('wait', { steered: true })
    expect(plan(thread)).toMatchObject({ kind: 'summarise', upTo: 2 })
  })

  it('goes between the steps of a long finished turn rather than to keep next to nothing', () => {
    const thread = createThread()
    thread.says('go')
    for (let step = 0; step < 30; step++) {
      thread.calls(`c${step}`)
      thread.result(`c${step}`, words(240))
      thread.says(words(150), { steered: true })
    }
    thread.answers('done')
    thread.says('and now?')
    const made = plan(thread)
    expect(made.kind).toBe('summarise')
    const upTo = made.kind === 'summarise' ? made.upTo : 0
    expect(thread.records[upTo]!.record).toMatchObject({ message: { role: 'assistant' } })
    expect(upTo).toBeLessThan(thread.records.length - 6)
  })

  it('never summarises the turn that stands open, and prunes its newest results when nothing else is left (HR-11)', () => {
    const thread = createThread()
    thread.says('go')
    thread.calls('a')
    thread.result('a', words(50_000))
    expect(plan(thread)).toMatchObject({ kind: 'prune', upTo: 3 })
    expect(plan(thread, true)).toMatchObject({ kind: 'prune', upTo: 3 })
  })

  it('leaves the newest results whole where pruning the old ones is worth it and more is not needed at once', () => {
    const thread = createThread()
    thread.says(words(7_000))
    thread.calls('a')
    thread.result('a', words(3_000))
    thread.calls('b')
    thread.result('b', words(1_900))
    expect(plan(thread)).toMatchObject({ kind: 'prune', upTo: 3 })
  })

  it('is to do nothing where nothing would help', () => {
    const thread = createThread()
    thread.says(words(50_000))
    expect(plan(thread).kind).toBe('none')
    expect(plan(thread, true).kind).toBe('none')
  })

  it('believes a server that refuses a request which the estimate finds small', () => {
    const thread = createThread()
    for (let turn = 0; turn < 4; turn++) {
      thread.says(words(500))
      thread.answers(words(500))
    }
    expect(plan(thread).kind).toBe('none')
    expect(plan(thread, true).kind).toBe('summarise')
  })
})

describe('a pruned result', () => {
  it('keeps beginning and end and says what is missing', () => {
    const text = prunedResult(`BEGIN${'x'.repeat(5_000)}END`, 100)
    expect(text).toMatch(/^BEGIN[\s\S]*END$/)
    expect(text).toContain('4908 of 5008 characters of this earlier result are left out; call the tool again')
  })

  it.each(['head', 'tail'])('names the whole where it was kept, whether its %s was', (kept) => {
    const note = '[cut: lines 1-9 of 99 lines, 1.0 of 9.0 KB; read_result with call "a1b2" shows the rest]'
    const body = 'x'.repeat(5_000)
    const text = kept === 'head' ? `${body}\n${note}` : `${note}\n${body}`
    expect(prunedResult(text, 100)).toContain('read_result with call "a1b2" shows the whole')
  })

  it('does not take what the tool said in the middle for such a note', () => {
    const text = `${'x'.repeat(1_000)}read_result with call "bad"${'x'.repeat(1_000)}`
    expect(prunedResult(text, 100)).not.toContain('"bad"')
  })

  it('leaves short results alone and never splits a surrogate pair', () => {
    expect(prunedResult('short', 500)).toBe('short')
    expect(prunedResult('x'.repeat(110), 100)).toBe('x'.repeat(110))
    for (let shift = 0; shift < 4; shift++) {
      expect(prunedResult('a'.repeat(shift) + '😀'.repeat(2_000), 101).isWellFormed()).toBe(true)
    }
  })

  it('stands in the view of the model alone; the record is whole', () => {
    const thread = createThread()
    thread.says('go')
    thread.calls('a', 'b')
    thread.result('a', 'x'.repeat(9_000))
    thread.result('b', 'y'.repeat(9_000))
    thread.mark({ mark: 'pruned', upTo: 3, keep: 1_000 })
    const before = structuredClone(thread.records)
    const contents = modelView(thread).messages.map(({ content }) => content?.length ?? 0)
    expect(contents[2]).toBeLessThan(1_300)
    expect(contents[3]).toBe(9_000)
    expect(thread.records).toEqual(before)
  })
})
