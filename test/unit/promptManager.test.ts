import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PromptError, PromptManager } from '../../src/prompt/promptManager.ts'

let folder: string
let overrides: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'toycoder-prompts-'))
  overrides = await mkdtemp(join(tmpdir(), 'toycoder-prompts-'))
})
afterEach(async () => {
  for (const made of [folder, overrides]) await rm(made, { recursive: true, force: true })
})

const own = (text: string, name = 'agents') => writeFile(join(overrides, `${name}.yml`), text)
const original = (text: string, name = 'agents') => writeFile(join(folder, `${name}.yml`), text)

describe('prompts', () => {
  it('are rendered into a system and, where there is one, a user message', async () => {
    await original('a:\n  description: d\n  system: "You are {name}."\n  user: "Do {task}"\nb:\n  system: plain\n')
    const prompts = new PromptManager({ folder })
    expect(prompts.render('agents', 'a', { name: 'Toy', task: 3 })).toEqual([
      { role: 'system', content: 'You are Toy.' },
      { role: 'user', content: 'Do 3' },
    ])
    expect(prompts.render('agents', 'b')).toEqual([{ role: 'system', content: 'plain' }])
    expect(prompts.getSystemPrompt('agents', 'a', { name: 'Toy' })).toBe('You are Toy.')
    expect(prompts.loadPrompt('agents').a!.description).toBe('d')
  })

  it('may hold literal braces, and what a variable holds is not filled in again', async () => {
    await original(`a:\n  system: 'say {{"passed": true}} or {{x}} or { "a": [] } or {} for {input}'\n`)
    const text = new PromptManager({ folder }).getSystemPrompt('agents', 'a', { input: '{input} {{ $& }}' })
    expect(text).toBe('say {"passed": true} or {x} or { "a": [] } or {} for {input} {{ $& }}')
  })

  it('name what is missing: the file, the role, the variable', async () => {
    await original('a:\n  system: "{who} and {what}"\n')
    const prompts = new PromptManager({ folder })
    expect(() => prompts.loadPrompt('nothing')).toThrow(/no prompt file .*nothing\.yml/)
    expect(() => prompts.getPrompt('agents', 'b')).toThrow('no role "b"; there are a')
    expect(() => prompts.getPrompt('agents', 'toString')).toThrow('no role "toString"')
    expect(() => prompts.getSystemPrompt('agents', 'a', { who: 'x' })).toThrow(
      'agents.a.system needs a variable "what", which it was not given (given: who)',
    )
    expect(() => prompts.loadPrompt('../agents')).toThrow(`can't name a prompt file`)
  })

  it('that are not as they must be are named with the place', async () => {
    const broken: [string, RegExp][] = [
      ['a: [', /agents\.yml is not as it must be/],
      ['a:\n  sytem: typo\n', /sytem/],
      ['a: text\n', /at a|→ a/],
      ['a:\n  description: no system\n', /role "a" .* no `system`/],
      ['a:\n  system: x\na:\n  system: y\n', /unique/i],
    ]
    for (const [text, problem] of broken) {
      await original(text)
      expect(() => new PromptManager({ folder }).loadPrompt('agents'), text).toThrow(problem)
      expect(() => new PromptManager({ folder }).loadPrompt('agents')).toThrow(PromptError)
    }
  })

  it('are overridden by a folder of ones own, field by field, and may be added there', async () => {
    await original('a:\n  description: d\n  system: theirs\nb:\n  system: kept\n')
    await own('a:\n  system: mine\nc:\n  system: new\n')
    await own('x:\n  system: whole file\n', 'extra')
    const prompts = new PromptManager({ folder, overrides })
    expect(prompts.loadPrompt('agents')).toEqual({
      a: { description: 'd', system: 'mine' },
      b: { description: '', system: 'kept' },
      c: { description: '', system: 'new' },
    })
    expect(prompts.getSystemPrompt('extra', 'x')).toBe('whole file')
  })

  it('are read once', async () => {
    await original('a:\n  system: first\n')
    const prompts = new PromptManager({ folder })
    prompts.loadPrompt('agents')
    await original('a:\n  system: second\n')
    expect(prompts.getSystemPrompt('agents', 'a')).toBe('first')
  })
})

describe('the prompts that come along', () => {
  const prompts = new PromptManager({ folder: join(import.meta.dirname, '../../prompts') })

  it('render with the variables that the program gives, for every role', () => {
    const roles: [string, string, Record<string, string>][] = [
      ['agents', 'coder', {}],
      ['agents', 'planner', { input: 'i' }],
      ['agents', 'summarizer', { summary: 's', conversation: 'c' }],
      ['agents', 'aggregator', { input: 'i', findings: 'f' }],
      ['reviewers', 'security', { input: 'i' }],
      ['reviewers', 'performance', { input: 'i' }],
      ['reviewers', 'style', { input: 'i' }],
      ['auditors', 'input_auditor', { content: 'c' }],
      ['auditors', 'output_auditor', { content: 'c' }],
    ]
    for (const [name, key, variables] of roles) {
      expect(prompts.render(name, key, variables)[0].content.length, key).toBeGreaterThan(200)
      expect(prompts.getPrompt(name, key).description, key).not.toBe('')
    }
    const keys = ['agents', 'reviewers', 'auditors'].flatMap((name) => Object.keys(prompts.loadPrompt(name)))
    expect(keys).toEqual(roles.map(([, key]) => key))
  })

  it('show the auditors the exact form of their verdict', () => {
    expect(prompts.getSystemPrompt('auditors', 'input_auditor')).toContain('{"passed": true or false, "reason": ')
  })
})
