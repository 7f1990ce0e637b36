import fc from 'fast-check'
import type { Html, Nodes, RootContent } from 'mdast'
import { fromMarkdown } from 'mdast-util-from-markdown'
import { toString as textOf } from 'mdast-util-to-string'
import { describe, expect, it } from 'vitest'
import type { Message } from '../../src/shared/message.ts'
import type { MarkRecord, MessageRecord, ThreadRecord } from '../../src/shared/record.ts'
import { createRedactor } from '../../src/shared/redact.ts'
import { wordingFor } from '../../src/shared/wording/wording.ts'
import { fenced, plainInline, quoted } from '../../src/transcript/containedMarkdown.ts'
import { type TranscriptHead, transcriptFileName, transcriptMarkdown } from '../../src/transcript/markdown.ts'

const START = Date.UTC(2026, 2, 1, 12, 0, 0)
const anna = { id: 'U1', name: 'Anna' }
const head: TranscriptHead = {
  ref: { platform: 'slack', account: 'T1', id: 'C1:1.2', channel: 'C1', thread: '1.2' },
  title: 'Fix the login',
  createdAt: START,
}

const message = (message: Message, more: Partial<MessageRecord> = {}): MessageRecord => ({
  v: 1,
  kind: 'message',
  at: START,
  message,
  ...more,
})
const says = (content: string, more: Partial<MessageRecord> = {}) =>
  message({ role: 'user', content }, { author: anna, ...more })
const answers = (content: string | null, ...calls: [id: string, name: string, args: string][]) =>
  message({
    role: 'assistant',
    content,
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(([id, name, args]) => ({ id, type: 'function', function: { name, arguments: args } })),
        }),
  })
const result = (id: string, content: string, more: Partial<MessageRecord> = {}) =>
  message({ role: 'tool', tool_call_id: id, content }, more)
const mark = (mark: object): MarkRecord => ({ v: 1, kind: 'mark', at: START, ...mark }) as MarkRecord

async function* numbered(records: readonly ThreadRecord[]) {
  for (const [seq, record] of records.entries()) yield { seq, record }
}

async function render(records: readonly ThreadRecord[], secrets: string[] = [], locale = 'en'): Promise<string> {
  const options = { wording: wordingFor(locale), redactor: createRedactor(secrets) }
  let text = ''
  for await (const piece of transcriptMarkdown(head, numbered(records), options)) text += piece
  return text
}

/** Headings and HTML that stand in the document itself, not inside of a quote or fence. */
function skeletonOf(markdown: string): string[] {
  return fromMarkdown(markdown).children.flatMap((node: RootContent) => {
    if (node.type === 'heading') return [`${'#'.repeat(node.depth)} ${textOf(node)}`]
    return node.type === 'html' ? [node.value] : []
  })
}

function htmlIn(node: Nodes): Html[] {
  if (node.type === 'html') return [node]
  return 'children' in node ? node.children.flatMap((child) => htmlIn(child)) : []
}

describe('a transcript', () => {
  it('shows people, answers, calls with their results, costs and times', async () => {
    const records: ThreadRecord[] = [
      says('Why does *login* fail?'),
      {
        ...answers(
          'Let me look.',
          ['c1', 'read_file', '{"path":"login.ts"}'],
          ['c2', 'grep_search', '{"pattern":"x"}'],
        ),
        model: 'big',
        usage: { inputTokens: 1_234, outputTokens: 56, costUsd: 0.5 },
        durationMs: 1_500,
      },
      result('c1', '1: code'),
      result('c2', 'Error: no such folder', { failed: true, at: START + 2_000 }),
      { ...answers('It is the **cookie**.'), usage: { inputTokens: 1_000, outputTokens: 4, costUsd: 0.25 } },
    ]
    expect(await render(records)).toBe(`# Fix the login

Thread \`slack:T1:C1:1.2\`, started 2026-03-01 12:00:00Z. Times are UTC.

### Anna · 2026-03-01 12:00:00Z

> Why does *login* fail?

### ToyCoder · 2026-03-01 12:00:00Z · big · 1,234 tokens in, 56 out · $0.50 · 1.5 s

> Let me look.

<details><summary>🔧 · <code>read_file</code> · 2026-03-01 12:00:00Z</summary>

\`\`\`json
{
  "path": "login.ts"
}
\`\`\`

\`\`\`
1: code
\`\`\`

</details>

<details><summary>🔧 · <code>grep_search</code> · 2026-03-01 12:00:02Z · failed</summary>

\`\`\`json
{
  "pattern": "x"
}
\`\`\`

\`\`\`
Error: no such folder
\`\`\`

</details>

### ToyCoder · 2026-03-01 12:00:00Z · 1,000 tokens in, 4 out · $0.25

> It is the **cookie**.

---

2 model calls · 2,234 tokens in, 60 out · $0.75

`)
  })

  it('tells of marks: handled commands, summaries, fresh starts, stops and failures', async () => {
    const text = await render([
      mark({ mark: 'handled', what: 'help' }),
      mark({ mark: 'compacted', upTo: 3, summary: 'They talked about **login**.' }),
      mark({ mark: 'boundary', by: anna }),
      mark({ mark: 'stopped', by: 'Anna', partial: 'half an ans' }),
      mark({ mark: 'stopped', by: null, partial: '' }),
      mark({ mark: 'failed', reason: 'the model is away', partial: '' }),
    ])
    expect(text).toContain('*2026-03-01 12:00:00Z · Done: help*')
    expect(text).toContain('summarised for the model</summary>\n\n> They talked about **login**.')
    expect(text).toContain('---\n\n*2026-03-01 12:00:00Z · Anna began afresh')
    expect(text).toContain('**2026-03-01 12:00:00Z · Stopped by Anna.**\n\n> half an ans')
    expect(text).toContain('**2026-03-01 12:00:00Z · Stopped.**')
    expect(text).toContain('Ended with an error: the model is away')
  })

  it('says of a message whether it was background, steering or a wish for a plan', async () => {
    const text = await render([
      says('a', { background: true }),
      says('b', { steered: true }),
      says('c', { command: 'plan' }),
    ])
    const headings = skeletonOf(text).slice(1)
    expect(headings.map((heading) => heading.split(' · ')[2])).toEqual([
      'earlier in the thread, not to the bot',
      'while the bot was working',
      'asked for a plan',
    ])
  })

  it('shows calls without a result too, and tells repeated ids apart by their order', async () => {
    const text = await render([
      answers(null, ['call_0', 'first', '{}'], ['call_0', 'second', '{}'], ['call_1', 'third', 'not json']),
      result('call_0', 'one'),
      result('call_0', 'two'),
      answers('done'),
    ])
    const calls = skeletonOf(text).filter((line) => line.startsWith('<details>'))
    expect(calls.map((line) => line.match(/<code>(\w+)/)![1])).toEqual(['first', 'second', 'third'])
    expect(text).toMatch(/third[\s\S]*?not json[\s\S]*?No result yet\.[\s\S]*?done/)
    expect(text).toMatch(/first[\s\S]*?one[\s\S]*?second[\s\S]*?two/)
  })

  it('shows empty answers, images, unknown people and broken times without stumbling', async () => {
    const text = await render([
      answers(''),
      message({
        role: 'user',
        content: [
          { type: 'text', text: 'see' },
          { type: 'image_url', image_url: { url: 'data:x' } },
        ],
      }),
      says('x', { at: Number.NaN }),
      result('never called', 'y'),
      message({ role: 'system', content: 'be good' }),
    ])
    expect(text).toContain('> Finished without a message.')
    expect(text).toContain('### Somebody · 2026-03-01 12:00:00Z\n\n> see\n>\n> (an image)')
    expect(text).toContain('### Anna · ?')
    expect(text).not.toContain('data:x')
  })

  it('comes in the language of the reader', async () => {
    expect(await render([says('x')], [], 'zh-CN')).toContain('时间均为 UTC')
  })

  it('masks secrets wherever they stand', async () => {
    const secret = 'a-very-secret-value'
    const text = await render(
      [
        says(`mine is ${secret}`, { author: { id: 'U2', name: secret } }),
        answers(`I see ${secret}`, ['c', 'run', JSON.stringify({ token: secret })]),
        result('c', `export TOKEN=${secret} ghp_${'a'.repeat(36)}`),
        mark({ mark: 'compacted', upTo: 1, summary: secret }),
        mark({ mark: 'failed', reason: secret, partial: secret }),
      ],
      [secret],
    )
    expect(text).not.toContain(secret)
    expect(text).not.toContain('ghp_a')
    expect(text).toContain('"token": "[redacted:secret]"')
  })

  it('comes in pieces, one or more records at a time', async () => {
    let read = 0
    async function* records() {
      for (let seq = 0; seq < 1_000; seq++) {
        read++
        yield { seq, record: says('x') }
      }
    }
    const pieces = transcriptMarkdown(head, records(), { wording: wordingFor('en'), redactor: createRedactor() })
    for (let piece = 0; piece < 5; piece++) await pieces.next()
    expect(read).toBeLessThan(10)
    await pieces.return()
  })

  it('nothing that was said can pose as a part of the document', async () => {
    const nasty = fc.array(
      fc.constantFrom(
        ...[
          '# Title',
          '### Anna · 2026',
          '```',
          '````js',
          '~~~',
          '<details>',
          '</details>',
          '<!--',
          '-->',
          '<script>',
          '> quote',
          '- item',
        ],
        ...[
          '---',
          '===',
          '\r',
          '\r\n',
          '\n',
          '\n\n',
          '    code',
          '`',
          '``',
          '| a | b |',
          '[x]: http://y',
          '\\',
          '&lt;',
          'text',
          ' ',
          '\t',
          '<b',
          '>',
        ],
      ),
      { maxLength: 14 },
    )
    const text = nasty.map((parts) => parts.join(''))
    await fc.assert(
      fc.asyncProperty(text, text, text, text, async (said, answer, output, name) => {
        const skeleton = skeletonOf(
          await render([
            says(said, { author: { id: 'U1', name } }),
            answers(answer, ['c', 'tool', output]),
            result('c', output),
            mark({ mark: 'failed', reason: name, partial: answer }),
            says('the end'),
          ]),
        )
        expect(
          skeleton.map((line) => line.replace(/^(### ).*( · 2026-03-01 12:00:00Z)$/, '$1…$2').replace(/ · <.*/, '')),
        ).toEqual([
          '# Fix the login',
          '### … · 2026-03-01 12:00:00Z',
          '### … · 2026-03-01 12:00:00Z',
          '<details><summary>🔧',
          '</details>',
          '### … · 2026-03-01 12:00:00Z',
        ])
      }),
      { numRuns: 300 },
    )
  })
})

describe('contained Markdown', () => {
  it('a quote holds no HTML, and code in it stays as it was', () => {
    expect(quoted('a <b>x</b> `<b>`\n```\n<b>\n```')).toBe('> a &lt;b>x&lt;/b> `<b>`\n> ```\n> <b>\n> ```')
    const hidden = quoted('<!--\n```\n-->\n\n```\n<script>\n```\n')
    expect(htmlIn(fromMarkdown(hidden))).toEqual([])
  })

  it('a fence is longer than every fence within', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('`', '``', '~~~', '\n', 'x', ' ')), (parts) => {
        const text = parts.join('')
        const [code, ...rest] = fromMarkdown(fenced(text)).children
        expect(rest).toEqual([])
        expect(code).toMatchObject({ type: 'code', value: text })
      }),
    )
  })

  it('a name stays a name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 30 }), (name) => {
        const [heading, ...rest] = fromMarkdown(`### ${plainInline(name)} · x`).children
        expect(rest).toEqual([])
        expect(heading).toMatchObject({ type: 'heading', depth: 3 })
        expect(heading!.type === 'heading' && heading.children.every((child) => child.type === 'text')).toBe(true)
      }),
    )
    expect(textOf(fromMarkdown(plainInline('**A** <b> [x](y) &amp; `c`')))).toBe('**A** <b> [x](y) &amp; `c`')
  })
})

describe('the name of the file', () => {
  it.each([
    ['Fix the login!', 'transcript-fix-the-login-2026-03-01.md'],
    ['../../etc/passwd', 'transcript-etc-passwd-2026-03-01.md'],
    ['修复 登录', 'transcript-修复-登录-2026-03-01.md'],
    ['', 'transcript-2026-03-01.md'],
    ['x'.repeat(200), `transcript-${'x'.repeat(40)}-2026-03-01.md`],
  ])('of %j is %s', (title, expected) => {
    expect(transcriptFileName({ ...head, title }, START)).toBe(expected)
  })
})
