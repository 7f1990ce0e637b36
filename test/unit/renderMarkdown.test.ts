import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import type { Code } from 'mdast'
import { describe, expect, it } from 'vitest'
import { DISCORD_LIMITS, discordSize, renderDiscord } from '../../src/render/discord.ts'
import { codePoints, cut, graphemeBefore } from '../../src/render/graphemes.ts'
import { renderHtml } from '../../src/render/html.ts'
import { parseMarkdown } from '../../src/render/markdown.ts'
import type { MessageView } from '../../src/render/messageView.ts'
import { renderPlain } from '../../src/render/plain.ts'
import { renderSlack, SLACK_LIMITS, slackSize } from '../../src/render/slack.ts'
import { reportedIn } from '../reported.ts'

const cases = new URL('../../../shared/cases/md/', import.meta.url)
const read = (name: string) => readFileSync(new URL(name, cases), 'utf8')
const reported = reportedIn(cases)

const view = (markdown: string, more: Partial<MessageView> = {}): MessageView => ({ markdown, kind: 'answer', ...more })
const slack = (markdown: string, more?: Partial<MessageView>) => {
  const { text, blocks } = renderSlack(view(markdown, more))
  return { text, blocks, block: blocks[0]?.type === 'markdown' ? blocks[0].text : '' }
}
const discord = (markdown: string, more?: Partial<MessageView>) => renderDiscord(view(markdown, more)).content
const codeIn = (markdown: string) =>
  parseMarkdown(markdown)
    .root.children.filter((node): node is Code => node.type === 'code')
    .map(({ value }) => value)

describe('Slack', () => {
  reported('code is copied back as it was (MD-01)', () => {
    const source = read('markdown_in_code.md')
    expect(codeIn(slack(source).block)).toEqual(codeIn(source))
    expect(slack(source).block).toContain('`**not bold** [t](u) a && b <c>` and then **real bold**.')
  })

  reported('links keep balanced parentheses, lose titles and angles, and lead nowhere else (MD-02)', () => {
    const { block } = slack(read('links_with_parens.md'))
    expect(block).toContain(
      '[Set](https://wiki.example/wiki/Set_(mathematics)) and [two](https://e.example/a_(b)_(c)).',
    )
    expect(block).toContain('[x](https://e.example/a%20b). Title: [t](https://e.example/p).')
    expect(block).toContain('[alt (v2)](https://img.example/a_(1).png)')
    expect(block).toContain('Empty label: https://e.example/empty. Relative: r (../docs/x.md).')
    expect(slack('[x](javascript:alert(1))').block).toBe('x (javascript:alert(1))')
  })

  reported('markers are set off from CJK letters and code stays (MD-05)', () => {
    const { block } = slack(read('cjk_emphasis.md'))
    expect(block).toContain('次の\u200b**手順**\u200bに進む')
    expect(block).toContain('输入\u200b`npm i`\u200b即可')
    expect(block).not.toMatch(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Hangul}](?:\*\*|`)\p{Script=Han}/u)
  })

  reported('underscores in words and addresses are literal (MD-06)', () => {
    const { block } = slack(read('underscores.md'))
    expect(block).toContain('https://git.example/g/p/-/merge_requests/1 and https://git.example/g/p/-/merge_requests/2')
    expect(block).toContain('load_user_by_id() then save_user_by_id()')
    expect(block).toContain(String.raw`src/my_pkg/\_\_init\_\_.py and _private_`)
  })

  reported('no broadcast or mention token is in any payload (MN-02)', () => {
    for (const kind of ['answer', 'activity', 'notice'] as const) {
      const source = read('mention_injection.md')
      const payload = JSON.stringify(
        renderSlack(view(source, { kind, footer: '<!channel> <@U0FAKE001>' })).blocks.slice(0, 1),
      )
      expect(payload).not.toMatch(/<[!@#]/)
      expect(renderSlack(view(source)).text).not.toMatch(/<[!@#]/)
      expect(renderPlain(source)).toContain('<!channel> <!here>')
    }
    expect(slack('&#60;!channel&#x3E; \\<!here> `<!everyone>`').block).not.toMatch(/<[!@#]/)
  })

  it('people who may be named are named, and nobody else', () => {
    const { block, text } = slack('Hi <@U1> and <@U2|two>', { mentions: ['U1'] })
    expect(block).toBe('Hi <@U1> and &lt;@U2|two>')
    expect(text).toBe('Hi <@U1> and &lt;@U2|two&gt;')
  })

  it('a table with too many rows for Slack becomes an aligned code block', () => {
    const table = `| a | b |\n|---|---|\n${'| 1 | 2 |\n'.repeat(120)}`
    expect(slack(table).block).toMatch(/^```\na {4}b\n--- {2}---\n1 {4}2\n/)
    expect(slack('| a | b |\n|:--|--:|\n| `x|y` | 2 |').block).toBe('| a | b |\n| :-- | --: |\n| `x\\|y` | 2 |')
  })

  it('has small print, buttons with unique ids, and looks like a preview while live', () => {
    const { blocks, text } = renderSlack(
      view('Text', {
        live: true,
        footer: 'gpt · 3 s',
        buttons: [
          { action: 'stop', label: 'Stop', style: 'danger', value: 'a' },
          { action: 'stop', label: 'Stop it', style: 'plain', value: 'b' },
        ],
      }),
    )
    expect(text).toBe('Text')
    expect(blocks).toEqual([
      { type: 'markdown', text: 'Text ▍' },
      { type: 'context', elements: [{ type: 'plain_text', text: 'gpt · 3 s', emoji: false }] },
      {
        type: 'actions',
        elements: [
          expect.objectContaining({ action_id: 'toycoder:stop', value: 'a', style: 'danger' }),
          expect.not.objectContaining({ style: expect.anything() }),
        ],
      },
    ])
    const [first, second] = blocks.flatMap((block) => (block.type === 'actions' ? block.elements : []))
    expect(first).not.toMatchObject({ action_id: (second as { action_id: string }).action_id })
  })

  it('measures what it sends', () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 300, unit: fc.constantFrom('a', '<', '&', '*', '`', '\n', '字', ' ', '|', '_') }),
        (markdown) => {
          const { text, block } = slack(markdown, { live: true })
          expect(Math.max(text.length, block.length)).toBeLessThanOrEqual(slackSize(markdown))
        },
      ),
    )
    expect(slackSize('&'.repeat(1_000))).toBeGreaterThan(SLACK_LIMITS.text)
  })
})

describe('Discord', () => {
  reported('tables are aligned code blocks in which CJK is two wide, and those in fences stay (MD-10)', () => {
    const content = discord(read('small_table.md'))
    expect(content).toContain(
      [
        '```',
        'Name        Qty  Note',
        '----------  ---  ----',
        'pear          3  ripe',
        'a|b          12  x|y',
        '東京タワー    7  高い',
        '```',
      ].join('\n'),
    )
    expect(content).toContain('```\n| key | val |\n|-----|-----|\n| kk  | vv  |\n```')
  })

  it('a table too wide to read is a list of its cells', () => {
    const long = 'x'.repeat(150)
    expect(discord(`| Name | Text |\n|---|---|\n| a | ${long} |`)).toBe(`\`\`\`\nName: a\nText: ${long}\n\`\`\``)
  })

  reported('what Discord lacks becomes text', () => {
    const content = discord(read('headings_lists_misc.md'))
    expect(content).toContain('1. one\n   - nested a\n     - nested b\n2. two')
    expect(content).toContain('- ☑ done\n- ☐ open')
    expect(content).toContain('──────────')
    expect(content).toContain('H~2~O, x^2^, footnote¹.\n\n¹ the note')
    expect(content).toContain('break. <b>html</b> <br> \u00a0 ©')
    expect(discord('#### Deep **bold**\n\nSetext\n---')).toBe('**Deep bold**\n\n## Setext')
    expect(discord('    indented\n\n~~~py title="x"\ncode\n~~~')).toBe('```\nindented\n```\n\n```py\ncode\n```')
  })

  reported('links stay valid and images are links', () => {
    const content = discord(read('links_with_parens.md'))
    expect(content).toContain('[Set](https://wiki.example/wiki/Set_(mathematics))')
    expect(content).toContain('Image: [alt (v2)](https://img.example/a_(1).png)')
    expect(content).toContain('Mail: m (kim@corp.example).')
    expect(discord('[https://good.example](https://evil.example)')).toBe('https://good.example (https://evil.example)')
    expect(discord('[a][r]\n\n[r]: https://e.example/x "t"')).toBe('[a](https://e.example/x)')
  })

  it('what Discord alone would take for markup is text', () => {
    expect(discord('a || b || c')).toBe(String.raw`a \|\| b \|\| c`)
    expect(discord('__bold__ and snake_case_name')).toBe('**bold** and snake_case_name')
    expect(discord('text\n-# small')).toBe('text\n\\-# small')
    expect(discord('<t:123:R> <:smile:123> </plan:333>')).not.toMatch(/<[t:/]/)
  })

  it('code can not be ended from within', () => {
    const content = discord('````md\n```js\nx\n```\n````')
    expect(content.match(/```/g)).toHaveLength(2)
    expect(content.replaceAll('\u200b', '')).toBe('```md\n```js\nx\n```\n```')
  })

  reported('nothing in prose can ping, and the platform is told so too (MN-01)', () => {
    for (const kind of ['answer', 'activity', 'notice'] as const) {
      const message = renderDiscord(
        view(read('mention_injection.md'), { kind, footer: '@everyone <@111111111111111111>' }),
      )
      expect(message.allowed_mentions).toEqual({ parse: [], users: [], replied_user: false })
      const prose = message.content.replace(/```[\s\S]*?```|`[^`]*`/g, '')
      expect(prose).not.toMatch(/@everyone|@here|<[@#]|<\/plan/)
    }
    const named = renderDiscord(view('Hi <@111> and <@!222>', { mentions: ['111'] }))
    expect(named.content).toBe('Hi <@111> and <\u200b@!222>')
    expect(named.allowed_mentions.users).toEqual(['111'])
  })

  it('carries small print, rows of five buttons and quiet flags', () => {
    const buttons = Array.from({ length: 6 }, (_, n) => ({
      action: 'a',
      label: `B${n}`,
      style: 'primary' as const,
      value: `${n}`,
    }))
    const message = renderDiscord(view('Text', { kind: 'activity', footer: 'gpt * 3 s', buttons }))
    expect(message.content).toBe('Text\n-# gpt \\* 3 s')
    expect(message.components.map(({ components }) => components.length)).toEqual([5, 1])
    expect(message.components[0]!.components[0]).toEqual({ type: 2, style: 1, label: 'B0', custom_id: 'toycoder:a:0' })
    expect(message.flags).toBe(4 + 4096)
  })

  it('measures code points of what it sends, small print included', () => {
    fc.assert(
      fc.property(
        fc.string({
          maxLength: 300,
          unit: fc.constantFrom('a', '😀', '&', '*', '`', '\n', '字', ' ', '|', '_', '@everyone'),
        }),
        (markdown) => {
          const content = discord(markdown, { footer: '_'.repeat(500) })
          expect([...content].length).toBeLessThanOrEqual(discordSize(markdown))
          expect([...discord(markdown, { live: true })].length).toBeLessThanOrEqual(discordSize(markdown))
        },
      ),
    )
    expect(discordSize('😀')).toBe(1 + DISCORD_LIMITS.footer)
  })
})

describe('HTML', () => {
  it('has no tag and no address that the source made', () => {
    const html = renderHtml(
      '<script>x</script>\n\n<b onclick=x>b</b> [a](javascript:alert(1)) ![i](data:text/html,x) [ok](https://e.example/?a="b"&c)',
    )
    expect(html).not.toMatch(/<script|<b |href="(?!https)|<img/)
    expect(html).toContain(
      '<a href="https://e.example/?a=&quot;b&quot;&amp;c" rel="noopener noreferrer nofollow">ok</a>',
    )
  })

  it('never lets a source out of its text, whatever it is', () => {
    const pieces = fc.constantFrom(
      '<',
      '>',
      '"',
      "'",
      '&',
      'a',
      '[',
      ']',
      '(',
      ')',
      'javascript:',
      'https://e.x',
      '`',
      '\n',
      ' ',
      '!',
      '<script>',
      'onload=',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 40 }), (parts) => {
        const html = renderHtml(parts.join(''))
        const rest = html
          .replace(
            /<\/?(?:p|code|pre|ul|ol|li|h[1-6]|hr|br|em|strong|del|blockquote)(?: (?:tabindex="0"|start="\d+"|class="language-[^"<>]*"))*>/g,
            '',
          )
          .replace(/<a href="(?:https?:|mailto:)[^"<>]*" rel="noopener noreferrer nofollow">|<\/a>/g, '')
        expect(rest).not.toMatch(/[<>"']/)
      }),
    )
  })

  it('shows lists, tables and code as such', () => {
    expect(renderHtml('3. a\n4. b')).toBe('<ol start="3">\n<li>a</li>\n<li>b</li>\n</ol>')
    expect(renderHtml('- [x] a')).toContain('<input type="checkbox" disabled checked> a')
    expect(renderHtml('| a |\n|--:|\n| 1 |')).toContain('<th scope="col" class="align-right">a</th>')
    expect(renderHtml('```c++\na<b\n```')).toBe('<pre tabindex="0"><code class="language-c++">a&lt;b\n</code></pre>')
  })
})

describe('plain text', () => {
  it('has every word and no markup', () => {
    expect(renderPlain('# T\n\n**b** `c` [l](https://e.example) ~~d~~\n- x\n  - y\n\n> q\n> r')).toBe(
      'T\n\nb c l (https://e.example) d\n- x\n  - y\n\n> q\n> r',
    )
  })
})

describe('nesting without end', () => {
  it.each(['> ', '>', '+ ', '1. ', '*', '_'])(
    'a text of nothing but %j is shown and brings nobody down',
    (repeated) => {
      const markdown = `${repeated.repeat(6_000)}a`
      for (const shown of [renderPlain(markdown), renderHtml(markdown), `${slackSize(markdown)}`]) {
        expect(shown.length).toBeGreaterThan(1)
      }
    },
  )

  it('what is nested as people nest it stays what it is', () => {
    const list = Array.from({ length: 20 }, (_, depth) => `${'  '.repeat(depth)}- item`).join('\n')
    expect(renderPlain(list)).toBe(list)
  })
})

describe('graphemes', () => {
  it('are never torn', () => {
    const family = '👨‍👩‍👧‍👦'
    expect(cut(`a${family}b`, 6)).toBe('a…')
    for (let at = 1; at < family.length; at++) expect(graphemeBefore(family + family, at)).toBe(0)
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), fc.nat(40), (text, at) => cut(text, at + 1).isWellFormed()))
  })

  it('are counted in code points as Discord does', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => codePoints(text) === [...text].length))
  })
})
