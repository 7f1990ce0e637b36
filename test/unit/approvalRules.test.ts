import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type ApprovalRules, fits, ruleFor, type ToolApprovalRule } from '../../src/session/approvalRules.ts'

const general = { who: 'anyone', quorum: 1, expiresMs: 1_000, always: true } as const
const rulesWith = (tools: Record<string, ToolApprovalRule[]>): ApprovalRules => ({ ...general, tools })

describe('a pattern', () => {
  it.each([
    ['deploy*', 'deploy prod', true],
    ['deploy*', 'deploy', true],
    ['deploy*', 'sudo deploy', false],
    ['*deploy*', 'sudo deploy now', true],
    ['src/*', 'src/a/b/c.ts', true],
    ['*', 'anything/at all\nin two lines', true],
    ['*', '', true],
    ['a*b*c', 'aXbXbXc', true],
    ['a*b*c', 'aXcXb', false],
    ['ab*ba', 'aba', false],
    ['*ab*ab', 'xab', false],
    ['a.c', 'abc', false],
    ['a.c', 'a.c', true],
    ['[a]?(b)', '[a]?(b)', true],
    ['Deploy', 'deploy', false],
    ['**', 'x', true],
  ])('%j and %j: %s', (pattern, text, expected) => {
    expect(fits(pattern, text)).toBe(expected)
  })

  it('fits what a regular expression of the same meaning fits, and never takes long for it', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '*', '\n', '.'), maxLength: 8 })
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '.'), maxLength: 12 })
    fc.assert(
      fc.property(letters, text, (pattern, subject) => {
        const parts = pattern.split('*').map((one) => one.replaceAll('.', '\\.'))
        expect(fits(pattern, subject)).toBe(new RegExp(`^${parts.join('[^]*')}$`).test(subject))
      }),
    )
    const started = performance.now()
    expect(fits(`${'*a'.repeat(500)}*b`, 'a'.repeat(100_000))).toBe(false)
    expect(performance.now() - started).toBeLessThan(1_000)
  })
})

describe('the rule for a call', () => {
  it('is the general one where no other fits', () => {
    const rules = rulesWith({ write_file: [{ quorum: 2 }] })
    expect(ruleFor(rules, 'run_command', ['ls'])).toEqual(general)
    expect(ruleFor(rules, 'toString', [])).toEqual(general)
  })

  it('takes what a rule leaves out from the general one', () => {
    const rules = rulesWith({ run_command: [{ quorum: 2, who: ['U1'] }] })
    expect(ruleFor(rules, 'run_command', [])).toEqual({ ...general, quorum: 2, who: ['U1'] })
  })

  it('is the first one whose `match` fits any subject, or that has none', () => {
    const rules = rulesWith({
      run_command: [{ match: 'deploy*', quorum: 3 }, { match: 'git *', quorum: 2 }, { always: false }],
    })
    const quorumFor = (...subjects: string[]) => ruleFor(rules, 'run_command', subjects)
    expect(quorumFor('deploy prod')).toEqual({ ...general, quorum: 3 })
    expect(quorumFor('git push && deploy prod', 'git push', 'deploy prod')).toEqual({ ...general, quorum: 3 })
    expect(quorumFor('git push')).toEqual({ ...general, quorum: 2 })
    expect(quorumFor('ls')).toEqual({ ...general, always: false })
    expect(quorumFor()).toEqual({ ...general, always: false })
  })

  it('comes from the name of the tool before patterns, and from longer patterns before shorter ones, wherever they stand', () => {
    const rules = rulesWith({
      '*': [{ quorum: 5 }],
      'tickets__*': [{ quorum: 4 }],
      'tickets__close*': [{ quorum: 3 }],
      tickets__close_all: [{ match: 'everything', quorum: 2 }],
    })
    const quorumFor = (tool: string, ...subjects: string[]) => ruleFor(rules, tool, subjects).quorum
    expect(quorumFor('write_file')).toBe(5)
    expect(quorumFor('tickets__search')).toBe(4)
    expect(quorumFor('tickets__close')).toBe(3)
    expect(quorumFor('tickets__close_all', 'everything')).toBe(2)
    expect(quorumFor('tickets__close_all', 'nothing')).toBe(3)
  })

  it('holds nothing but the rule', () => {
    const rules = rulesWith({ run_command: [{ match: '*', quorum: 2 }] })
    expect(Object.keys(ruleFor(rules, 'run_command', ['x'])).toSorted()).toEqual([
      'always',
      'expiresMs',
      'quorum',
      'who',
    ])
    expect(Object.keys(ruleFor(rules, 'other', [])).toSorted()).toEqual(['always', 'expiresMs', 'quorum', 'who'])
  })
})
