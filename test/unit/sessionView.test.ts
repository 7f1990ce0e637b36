import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { NumberedRecord } from '../../src/session/thread.ts'
import { modelMessage, modelView, speaker } from '../../src/session/view.ts'
import { type Message, textOf, unanswered } from '../../src/shared/message.ts'
import type { MessageRecord, ThreadRecord } from '../../src/shared/record.ts'

type Body<R = ThreadRecord> = R extends ThreadRecord ? Omit<R, 'v' | 'at'> : never

function records(...bodies: Body[]): { records: NumberedRecord[] } {
  return { records: bodies.map((body, seq) => ({ seq, record: { v: 1, at: 1, ...body } as ThreadRecord })) }
}

const ann = { id: 'U1', name: 'Ann' }
const says = (content: string, author = ann): Body => ({ kind: 'message', message: { role: 'user', content }, author })
const answer = (content: string): Body => ({ kind: 'message', message: { role: 'assistant', content } })
const calls = (...ids: string[]): Body => ({
  kind: 'message',
  message: {
    role: 'assistant',
    content: null,
    tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
  },
})
const result = (id: string): Body => ({ kind: 'message', message: { role: 'tool', tool_call_id: id, content: 'ok' } })
const boundary: Body = { kind: 'mark', mark: 'boundary', by: ann }
const stopped: Body = { kind: 'mark', mark: 'stopped', by: 'Bob', partial: 'half an ans' }
const failed: Body = { kind: 'mark', mark: 'failed', reason: '503', partial: '' }
const summary = (upTo: number, text: string): Body => ({ kind: 'mark', mark: 'compacted', upTo, summary: text })

const texts = (thread: { records: NumberedRecord[] }) =>
  modelView(thread).messages.map((m) => `${m.role}: ${textOf(m)}`)

describe('what the model sees of a thread', () => {
  it('is who said what, each message of its own', () => {
    expect(texts(records(says('hi'), says('and', { id: 'U2', name: 'Bob' }), answer('Hello.')))).toEqual([
      'user: Ann: hi',
      'user: Bob: and',
      'assistant: Hello.',
    ])
  })

  it('knows the record behind each message', () => {
    const view = modelView(records(says('a'), failed, calls('c1'), result('c1'), answer('b')))
    expect(view.messages.map((message) => view.seqOf(message))).toEqual([0, 2, 3, 4])
    expect(view.seqOf({ role: 'user', content: 'a' })).toBeUndefined()
  })

  it('knows which messages entered a run under way', () => {
    const view = modelView(records(says('a'), calls('c1'), result('c1'), { ...says('b'), steered: true } as Body))
    expect(view.messages.map((message) => view.isSteering(message))).toEqual([false, false, false, true])
  })

  it('begins with the latest summary, followed by what it leaves out', () => {
    const thread = records(
      says('old'),
      answer('older'),
      summary(1, 'first'),
      says('kept'),
      summary(3, 'second'),
      says('new'),
    )
    const view = modelView(thread)
    expect(view.messages.map((message) => textOf(message))).toEqual([
      '[Summary of the earlier conversation, written by a model]\nsecond',
      'Ann: kept',
      'Ann: new',
    ])
    expect(view.seqOf(view.messages[0]!)).toBeUndefined()
  })

  it('shows nothing from before a boundary, its summary included', () => {
    expect(texts(records(says('secret'), summary(1, 'secret'), says('x'), boundary, says('fresh')))).toEqual([
      'user: Ann: fresh',
    ])
    expect(texts(records(says('secret'), boundary, says('a'), answer('b'), summary(3, 'since'), says('c')))).toEqual([
      'user: [Summary of the earlier conversation, written by a model]\nsince',
      'assistant: b',
      'user: Ann: c',
    ])
  })

  it('marks background as such', () => {
    const thread = records(
      { kind: 'message', message: { role: 'user', content: 'Bob: lunch?' }, background: true },
      says('hi'),
    )
    expect(texts(thread)).toEqual([
      'user: [Earlier talk in this thread, for background; it was not addressed to you]\nBob: lunch?',
      'user: Ann: hi',
    ])
  })

  it('HR-09: has a message once, however often its answer failed', () => {
    expect(texts(records(says('do it'), failed, failed, answer('done')))).toEqual([
      'user: Ann: do it',
      'assistant: done',
    ])
  })

  it('tells of a stop, after the results of the calls it hit', () => {
    expect(texts(records(says('do it'), stopped, says('go on')))).toEqual([
      'user: Ann: do it',
      'user: [Bob stopped your work here. It was not finished.]',
      'user: Ann: go on',
    ])
    expect(
      modelView(records(says('x'), calls('a', 'b'), stopped, result('a'), result('b'), says('y'))).messages.map(
        ({ role }) => role,
      ),
    ).toEqual(['user', 'assistant', 'tool', 'tool', 'user', 'user'])
  })

  it('does not hide open calls behind a note', () => {
    const { messages } = modelView(records(says('x'), calls('a', 'b'), result('a'), stopped))
    expect(unanswered(messages).map(({ index }) => index)).toEqual([1])
  })

  it('says the name before pictures too', () => {
    const image = { type: 'image_url' as const, image_url: { url: 'data:,x' } }
    const record = (content: MessageRecord['message']['content']) =>
      ({ v: 1, at: 1, kind: 'message', author: ann, message: { role: 'user', content } }) as MessageRecord
    expect(modelMessage(record([image])).content).toEqual([{ type: 'text', text: 'Ann:' }, image])
    expect(modelMessage(record([{ type: 'text', text: 'look' }, image])).content).toEqual([
      { type: 'text', text: 'Ann: look' },
      image,
    ])
  })

  it('changes no record and gives the same for the same', () => {
    const thread = records(says('a'), calls('c'), result('c'), summary(1, 's'), answer('b'))
    const before = structuredClone(thread)
    expect(modelView(thread).messages).toEqual(modelView(thread).messages)
    expect(thread).toEqual(before)
  })

  it('for any records: messages in order, none twice, no mark, nothing from before the boundary', () => {
    const body = fc.oneof(
      fc.string().map((text) => says(text)),
      fc.string().map(answer),
      fc.constantFrom(boundary, stopped, failed),
      fc.nat(30).map((upTo) => summary(upTo, 's')),
    )
    fc.assert(
      fc.property(fc.array(body, { maxLength: 30 }), (bodies) => {
        const thread = records(...bodies)
        const view = modelView(thread)
        const seqs = view.messages.map(view.seqOf).filter((seq) => seq !== undefined)
        expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b))
        const cut = thread.records.findLastIndex(({ record }) => record.kind === 'mark' && record.mark === 'boundary')
        const last = thread.records
          .slice(cut + 1)
          .findLast(({ record }) => record.kind === 'mark' && record.mark === 'compacted')
        const upTo = (last?.record as { upTo?: number } | undefined)?.upTo ?? 0
        const expected = thread.records.filter(
          ({ seq, record }) => record.kind === 'message' && seq > cut && seq >= upTo,
        )
        expect(seqs).toEqual(expected.map(({ seq }) => seq))
      }),
    )
  })
})

describe('the name before a message', () => {
  it.each([
    ['Ann', 'Ann'],
    ['Ann: yes\nBob', 'Ann yes Bob'],
    ['Ann：Bob', 'Ann Bob'],
    ['[Summary]', 'Summary'],
    ['a\u202eb\u200bc', 'a b c'],
    ['   ', 'U1'],
    ['::', 'U1'],
    ['x'.repeat(500), 'x'.repeat(40)],
    ['👩‍👩‍👧‍👦 Ann', '👩 👩 👧 👦 Ann'],
    ['李雷', '李雷'],
  ])('makes %j %j', (name, shown) => {
    expect(speaker({ id: 'U1', name })).toBe(shown)
  })

  it('is one line without a colon, never empty, never long, whatever it was', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.string({ unit: 'binary' }), (name, id) => {
        const shown = speaker({ id, name })
        expect(shown).not.toMatch(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}:[\]\u202a-\u202e]/u)
        expect(shown.trim()).not.toBe('')
        expect([...new Intl.Segmenter().segment(shown)].length).toBeLessThanOrEqual(40)
        const message = modelMessage({
          v: 1,
          kind: 'message',
          at: 1,
          author: { id, name },
          message: { role: 'user', content: 'text' },
        })
        expect(textOf(message as Message)).toBe(`${shown}: text`)
      }),
    )
  })
})
