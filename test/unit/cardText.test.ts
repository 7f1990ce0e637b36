import { describe, expect, it } from 'vitest'
import { type CardOptions, decisionText, openCard, settledCard } from '../../src/conversation/cardText.ts'
import type { Ask } from '../../src/session/approvalTypes.ts'
import { en } from '../../src/shared/wording/en.ts'

const options: CardOptions = { wording: en, extent: 'whole', editable: true, elsewhere: false, unsafe: false }
const at = Date.UTC(2026, 11, 1, 9, 30)
const rule = { who: 'anyone' as const, quorum: 1, expiresMs: 1, always: true }
const call = (more: object = {}): Ask & { kind: 'call' } => ({
  ...{
    v: 1,
    callKey: 'c1.0',
    version: 1,
    at,
    expiresAt: at + 86_400_000,
    requesters: [{ id: 'U1', name: 'Ann' }],
    rule,
  },
  ...{ kind: 'call', tool: 'run_command', args: {}, generation: 0 },
  preview: { summary: '', body: 'npm test', format: 'shell', fileName: 'command.sh' },
  always: { key: 'k', kind: 'command', detail: 'npm test' },
  ...more,
})
const labels = (ask: Ask, more: Partial<CardOptions> = {}) =>
  openCard(ask, [], { ...options, ...more }).buttons!.map(({ label }) => label)

describe('a card', () => {
  it('says what would run, who asked, how far "always" reaches and until when', () => {
    const { markdown, buttons, kind } = openCard(call(), [], options)
    expect(kind).toBe('card')
    expect(markdown).toContain('**May I run `run_command`?**')
    expect(markdown).toContain('```sh\nnpm test\n```')
    expect(markdown).toContain('Asked for by Ann.')
    expect(markdown).toContain('exactly `npm test`')
    expect(markdown).toContain('2026-12-02 09:30 UTC')
    expect(buttons!.map(({ label }) => label)).toEqual(['Approve', 'Always in this thread', 'Edit…', 'Deny…'])
    expect(buttons!.every(({ value }) => value === 'c1.0/1')).toBe(true)
  })

  it('offers no "always" and no edit where there is none', () => {
    expect(labels(call({ always: null }), { editable: false })).toEqual(['Approve', 'Deny…'])
  })

  it('that could not be shown whole can only be denied, and says so', () => {
    const long = call({ preview: { summary: '', body: 'x\n'.repeat(500), format: 'diff', fileName: 'x.diff' } })
    expect(labels(long, { extent: 'cut' })).toEqual(['Deny…'])
    expect(openCard(long, [], { ...options, extent: 'cut' }).markdown).toContain('can only be denied')
    expect(openCard(long, [], { ...options, extent: 'file' }).markdown).toContain('The first 20 of 501 lines')
  })

  it('says who has agreed where several have to, and who may decide', () => {
    const ask = call({ rule: { ...rule, quorum: 2, who: 'not_requester' } })
    const { markdown } = openCard(ask, [{ by: { id: 'U2', name: 'Bo' }, at, always: false }], options)
    expect(markdown).toContain('1 of 2 have agreed (Bo).')
    expect(markdown).toContain('Somebody other than the people who asked')
  })

  it('says that a command runs without a sandbox', () => {
    expect(openCard(call(), [], { ...options, unsafe: true }).markdown).toContain('without a sandbox')
  })

  it('is not broken by what stands in it: fences, formatting, mentions in names', () => {
    const body = 'echo "```"\n````\n**bold** <!channel> @everyone'
    const ask = call({
      preview: { summary: 'a*b*`c`', body, format: 'shell', fileName: 'x' },
      requesters: [{ id: 'U1', name: '**Ann** <@U2>\n# head' }],
    })
    const { markdown } = openCard(ask, [], options)
    expect(markdown).toContain(`\`\`\`\`\`sh\n${body}\n\`\`\`\`\``)
    expect(markdown).not.toContain('**Ann**')
    expect(markdown).not.toContain('<@U2>')
    expect(markdown).not.toContain('\n# head')
  })

  it('has no buttons any more when it is settled, and says who and when', () => {
    const decision = { v: 1 as const, at, by: { id: 'U2', name: 'Bo' }, kind: 'denied' as const, reason: 'not *today*' }
    const settled = settledCard(call(), decision, options)
    expect(settled.buttons).toBeUndefined()
    expect(settled.markdown).toContain('npm test')
    expect(settled.markdown).toContain('⛔ Denied by Bo, 2026-12-01 09:30 UTC')
    expect(decisionText(call(), decision, en)).toContain('Reason: not \\*today\\*')
  })
})
