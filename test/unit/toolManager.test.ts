import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { PreviewError, type Verdict } from '../../src/tool/approver.ts'
import type { PermissionLevel, PermissionPolicy } from '../../src/tool/permission.ts'
import { type ResultKeeper, readResultTool } from '../../src/tool/resultKeeper.ts'
import type { Dispatched, ToolContext } from '../../src/tool/tool.ts'
import { ToolManager } from '../../src/tool/toolManager.ts'
import { people } from './people.ts'

const CASES = join(import.meta.dirname, '../../../shared/cases')

function context(more: Partial<ToolContext> = {}): ToolContext {
  const signal = new AbortController().signal
  return { signal, callKey: 't/1/0', threadKey: 't', requester: null, workspace: '/', ...more }
}

/** A manager with one tool named `it`; `ran` holds the arguments it ran with. */
function one(
  run: (args: { x?: string | undefined }, context: ToolContext) => unknown = ({ x }) => `ran ${x}`,
  permission: PermissionLevel | PermissionPolicy<{ x?: string | undefined }> = 'safe',
  options: ConstructorParameters<typeof ToolManager>[0] & { keep?: 'head' | 'tail' } = {},
) {
  const ran: unknown[] = []
  const { keep, ...rest } = options
  const manager = new ToolManager(rest)
  const parameters = z.object({ x: z.string().optional() })
  manager.tool({ name: 'it', description: 'does it', parameters, permission, ...(keep && { keep }) }, (args, about) => {
    ran.push(args)
    return run(args, about)
  })
  const dispatch = (args: string | object = '{}', about = context()) =>
    manager.dispatch('it', typeof args === 'string' ? args : JSON.stringify(args), about)
  return { manager, ran, dispatch }
}

async function textOf(dispatched: Promise<Dispatched>): Promise<string> {
  const outcome = await dispatched
  if (outcome.kind !== 'observation') throw new Error('it waits')
  return outcome.text
}

const says = (verdict: Verdict) => people(() => verdict)

describe('registering', () => {
  it('refuses a name twice, a name that model APIs refuse, and parameters that are no object', () => {
    const { manager } = one()
    const base = { description: '', permission: 'safe' as const, parameters: z.object({}) }
    const add = (more: object) => () => manager.register({ ...base, name: 'x', invoke: async () => '', ...more })
    expect(add({ name: 'it' })).toThrow('already a tool named "it"')
    for (const name of ['files.read', 'größe', '', '1st', 'x'.repeat(65)]) expect(add({ name })).toThrow(`"${name}"`)
    expect(add({ parameters: z.string() })).toThrow('must be an object')
    expect(() => manager.enable('nobody')).toThrow('nobody')
  })

  it('offers the tools that are on, sorted by name, with draft-7 schemas as the sender sees them', () => {
    const manager = new ToolManager()
    const add = (name: string, parameters: z.ZodType, permission: PermissionLevel = 'safe') =>
      manager.tool({ name, description: name, parameters, permission }, () => '')
    add(
      'zeta',
      z.object({ path: z.string().describe('where'), limit: z.int().min(1).default(200), tag: z.string().optional() }),
    )
    add('alpha', z.object({}))
    add('danger', z.object({}), 'dangerous')
    expect(manager.toOpenAISchema().map((tool) => tool.function.name)).toEqual(['alpha', 'zeta'])
    expect(manager.toOpenAISchema()[1]).toEqual({
      type: 'function',
      function: {
        name: 'zeta',
        description: 'zeta',
        parameters: {
          type: 'object',
          properties: {
            path: { type: 'string', description: 'where' },
            limit: { type: 'integer', minimum: 1, default: 200 },
            tag: { type: 'string' },
          },
          required: ['path'],
        },
      },
    })
    manager.enable('danger')
    manager.disable('zeta')
    expect(manager.toOpenAISchema().map((tool) => tool.function.name)).toEqual(['alpha', 'danger'])
    expect(manager.listTools().map(({ name, enabled }) => `${name} ${enabled}`)).toEqual([
      'alpha true',
      'danger true',
      'zeta false',
    ])
  })
})

describe('arguments', () => {
  it('are {} when there is nothing (TL-06), and checked like all others', async () => {
    const { ran, dispatch } = one()
    for (const nothing of ['', '  ', '{}']) await dispatch(nothing)
    expect(ran).toEqual([{}, {}, {}])
  })

  it('that are not JSON never run the tool nor ask anybody; what came is echoed, bounded (TL-07)', async () => {
    const approver = says({ kind: 'pending' })
    const { ran, dispatch } = one(undefined, 'sensitive', { approver })
    for (const broken of ['{"path": "a.txt', '{"{"path":1}', '{"x":"a",}', 'null}']) {
      expect(await textOf(dispatch(broken))).toMatch(/^Error: the arguments are not valid JSON \(.*\)\. Received: /s)
    }
    const long = await textOf(dispatch(`{"x": "${'y'.repeat(100_000)}`))
    expect(long.length).toBeLessThan(700)
    expect(long).toContain('(100007 characters)')
    expect(ran).toEqual([])
    expect(approver.asked).toEqual([])
  })

  it('that are invalid are answered with the path and the reason of each problem', async () => {
    const manager = new ToolManager()
    const parameters = z.object({ a: z.string(), list: z.array(z.object({ n: z.number() })) })
    manager.tool({ name: 'it', description: '', parameters, permission: 'safe' }, () => 'ran')
    const text = await textOf(manager.dispatch('it', '{"list":[{"n":"x"}]}', context()))
    expect(text).toMatch(/^Error: the arguments are not valid:\n- a: .*string.*\n- list\.0\.n: .*number/)
    expect(await textOf(manager.dispatch('it', '[1]', context()))).toMatch(/- \(root\): /)
  })
})

describe('what goes wrong', () => {
  it('is an observation with exactly one mark: unknown, switched off, thrown, rejected, nothing said', async () => {
    const thrown = [new Error('no luck'), new Error('Error: twice'), 'a string', new Error(''), undefined]
    const texts = ['no luck', 'twice', 'a string', 'no reason was given', 'undefined']
    for (const [at, error] of thrown.entries()) {
      const { dispatch } = one(() => {
        throw error
      })
      expect(await dispatch()).toEqual({ kind: 'observation', failed: true, text: `Error: ${texts[at]}` })
    }
    const { manager, dispatch } = one()
    expect(await textOf(manager.dispatch('that', '{}', context()))).toBe(
      'Error: there is no tool "that". The tools are: it',
    )
    manager.disable('it')
    expect(await textOf(dispatch())).toMatch(/^Error: the tool "it" is switched off here/)
  })

  it('is not an observation when the approver itself fails: the run has to end then', async () => {
    const approver = says({ kind: 'pending' })
    approver.verdict = async () => {
      throw new Error('the store failed')
    }
    await expect(one(undefined, 'sensitive', { approver }).dispatch()).rejects.toThrow('the store failed')
  })
})

describe('observations', () => {
  it('are strings as they are, JSON with Unicode kept, or the string form', async () => {
    const circular: Record<string, unknown> = { name: 'x' }
    circular.self = circular
    const values: [unknown, string | RegExp][] = [
      ['text', 'text'],
      [{ größe: '漢字', n: 1 }, '{"größe":"漢字","n":1}'],
      [['a', null], '["a",null]'],
      [12n, '"12"'],
      [{ big: 12n, e: new Error('x') }, '{"big":"12","e":"x"}'],
      [Number.NaN, 'NaN'],
      [null, 'null'],
      [circular, /name: 'x'.*Circular/],
      [undefined, '(no output)'],
      ['', '(no output)'],
      [' \n', '(no output)'],
      ['lone \ud800 surrogate', 'lone \ufffd surrogate'],
    ]
    for (const [value, expected] of values) {
      const text = await textOf(one(() => value).dispatch())
      if (typeof expected === 'string') expect(text).toBe(expected)
      else expect(text).toMatch(expected)
    }
  })

  it('are masked before anybody sees or keeps them', async () => {
    const kept: string[] = []
    const keeper: ResultKeeper = {
      keep: async (text) => {
        kept.push(text)
        return 'id'
      },
      read: async () => undefined,
    }
    const mask = (text: string) => text.replaceAll('hunter2', '***')
    const { manager, dispatch } = one(() => 'hunter2\n'.repeat(3000), 'safe', { mask, keeper })
    manager.register(readResultTool(keeper))
    expect(await textOf(dispatch())).not.toContain('hunter2')
    expect(kept[0]).toBe('***\n'.repeat(3000))
    const failing = one(
      () => {
        throw new Error('bad password hunter2')
      },
      'safe',
      { mask },
    )
    expect(await textOf(failing.dispatch())).toBe('Error: bad password ***')
    expect(await textOf(failing.dispatch('hunter2'))).not.toContain('hunter2')
  })
})

describe('long results', () => {
  function keeping() {
    const kept = new Map<string, string>()
    const keeper: ResultKeeper = {
      async keep(text, { callKey }) {
        kept.set(callKey, text)
        return callKey
      },
      read: async (id, { threadKey }) => (threadKey === 't' ? kept.get(id) : undefined),
    }
    return { kept, keeper }
  }

  it('are cut at 2,000 lines or 50 KB, at the end that the tool says, with the full size', async () => {
    const rows = Array.from({ length: 17_000 }, (_, at) => `row ${at} ${'-'.repeat(90)}`)
    const head = await textOf(one(() => rows.join('\n')).dispatch())
    expect(Buffer.byteLength(head)).toBeLessThan(51 * 1024)
    expect(head.startsWith('row 0 --')).toBe(true)
    expect(head).toMatch(/\n\[cut: lines 1-51\d of 17000 lines, 50\.0 of 16\d\d\.\d KB; the rest was not kept\]$/)
    const tail = await textOf(one(() => rows.join('\n'), 'safe', { keep: 'tail' }).dispatch())
    expect(tail).toMatch(/^\[cut: lines 16\d\d\d-17000 of 17000 lines.*\]\n/)
    expect(tail.endsWith(`row 16999 ${'-'.repeat(90)}`)).toBe(true)
    const short = await textOf(one(() => 'x\n'.repeat(2001)).dispatch())
    expect(short).toContain('lines 1-2000 of 2001 lines')
    expect(await textOf(one(() => 'x\n'.repeat(2000)).dispatch())).toBe('x\n'.repeat(2000))
  })

  it('of one endless line are cut between graphemes', async () => {
    const family = '👨‍👩‍👧'
    for (const keep of ['head', 'tail'] as const) {
      const text = await textOf(one(() => `a${family.repeat(20_000)}`, 'safe', { keep }).dispatch())
      const shown = text.replace(/\n?\[cut: a part of line 1 of 1 lines.*\]\n?/, '').replace(/^a/, '')
      expect(shown.length % family.length).toBe(0)
      expect(shown).toBe(family.repeat(shown.length / family.length))
      expect(shown.length).toBeGreaterThan(10_000)
    }
  })

  it('are kept whole and can be paged with read_result, from their own thread only', async () => {
    const { kept, keeper } = keeping()
    const whole = Array.from({ length: 5_000 }, (_, at) => `row ${at}`).join('\n')
    const { manager, dispatch } = one(() => whole, 'safe', { keeper })
    manager.register(readResultTool(keeper))
    expect(await textOf(dispatch())).toContain('read_result with call "t/1/0" shows the rest]')
    expect(kept.get('t/1/0')).toBe(whole)
    const read = (args: object, about = context()) =>
      textOf(manager.dispatch('read_result', JSON.stringify({ call: 't/1/0', ...args }), about))
    expect(await read({ offset: 2001, limit: 2 })).toBe(
      '[lines 2001-2002 of 5000; read on with offset 2003]\nrow 2000\nrow 2001',
    )
    expect(await read({ offset: 5001 })).toBe('Error: the result has 5000 lines; there is no line 5001')
    expect(await read({ call: 'other' })).toBe('Error: no kept result has the id "other"')
    expect(await read({}, context({ threadKey: 'u' }))).toMatch(/^Error: no kept result/)
  })

  it('of one endless line can be paged too', async () => {
    const { keeper } = keeping()
    const whole = '漢😀'.repeat(100_000)
    const { manager, dispatch } = one(() => whole, 'safe', { keeper })
    manager.register(readResultTool(keeper))
    await dispatch()
    let joined = ''
    for (let offset = 1; offset; ) {
      const args = JSON.stringify({ call: 't/1/0', offset, limit: 2000 })
      const text = await textOf(manager.dispatch('read_result', args, context({ callKey: 'later' })))
      expect(text).not.toContain('[cut')
      const [header, ...lines] = text.split('\n')
      joined += lines.join('')
      offset = Number(/offset (\d+)/.exec(header!)?.[1] ?? 0)
    }
    expect(joined === whole).toBe(true)
  })

  it('are shown cut when the keeper fails', async () => {
    const keeper: ResultKeeper = { keep: () => Promise.reject(new Error('full')), read: async () => undefined }
    const { manager, dispatch } = one(() => 'x\n'.repeat(3000), 'safe', { keeper })
    manager.register(readResultTool(keeper))
    expect(await textOf(dispatch())).toContain('the rest could not be kept]')
  })

  it.skipIf(!existsSync(CASES))('hold control characters and fences of the shared case as they are', async () => {
    const ansi = await readFile(join(CASES, 'tools/ansi_output.txt'), 'utf8')
    expect(await textOf(one(() => ansi).dispatch())).toBe(ansi.toWellFormed())
  })
})

describe('permission', () => {
  it('denies what needs a yes where nobody can be asked, and says so', async () => {
    const { ran, dispatch } = one(undefined, 'sensitive')
    expect(await textOf(dispatch())).toMatch(/^Error: "it" needs a person's yes, and nobody can be asked here/)
    expect(ran).toEqual([])
  })

  it('keeps a dangerous tool off until it is enabled; then it asks', async () => {
    const approver = says({ kind: 'pending' })
    const { manager, dispatch } = one(undefined, 'dangerous', { approver })
    expect(await textOf(dispatch())).toMatch(/^Error: the tool "it" is switched off here.*`tool enable it`/)
    manager.enable('it')
    expect(await dispatch({ x: 'a' })).toEqual({ kind: 'pending' })
    expect(approver.asked).toEqual([{ callKey: 't/1/0', name: 'it', args: { x: 'a' } }])
  })

  it('can depend on the arguments and on who asks', async () => {
    const policy: PermissionPolicy<{ x?: string | undefined }> = ({ x }, { requester }) => {
      if (x === 'boom') throw new Error('no directory')
      if (x === 'rm') return 'dangerous'
      return requester?.id === 'ann' ? 'safe' : 'sensitive'
    }
    const { manager, dispatch } = one(undefined, policy)
    const ann = context({ requester: { id: 'ann', name: 'Ann' } })
    expect(manager.listTools()[0]).toMatchObject({ permission: 'policy', enabled: true })
    expect(await textOf(dispatch({ x: 'a' }, ann))).toBe('ran a')
    expect(await textOf(dispatch({ x: 'a' }))).toMatch(/needs a person's yes/)
    expect(await textOf(dispatch({ x: 'rm' }, ann))).toMatch(/is dangerous and switched off here/)
    manager.enable('it')
    expect(await textOf(dispatch({ x: 'rm' }, ann))).toMatch(/needs a person's yes/)
    expect(await textOf(dispatch({ x: 'boom' }, ann))).toMatch(/^Error: whether this call is allowed .*no directory/)
  })

  it('runs exactly the approved arguments, once, with the note in front', async () => {
    const approver = says({ kind: 'approved', args: { x: 'edited' }, attempt: 2, note: 'Ann changed x.' })
    const { ran, dispatch } = one(undefined, 'sensitive', { approver })
    expect(await textOf(dispatch({ x: 'mine' }))).toBe('Ann changed x.\n\nran edited')
    expect(approver.begun).toEqual(['t/1/0#2'])
    expect(await dispatch({ x: 'mine' })).toEqual({ kind: 'pending' })
    expect(ran).toEqual([{ x: 'edited' }])
  })

  it('checks approved arguments like all others', async () => {
    const approver = says({ kind: 'approved', args: { x: 5 }, attempt: 1 })
    expect(await textOf(one(undefined, 'sensitive', { approver }).dispatch())).toMatch(
      /^Error: the arguments are not valid/,
    )
    expect(approver.begun).toEqual([])
  })

  it('tells the model of a no with its reason, and of a decision that did not come in time', async () => {
    const denied = says({ kind: 'denied', by: 'Bo', reason: 'use staging' })
    expect(await textOf(one(undefined, 'sensitive', { approver: denied }).dispatch())).toMatch(
      /^Error: Bo said no to this call\. Their reason: use staging\nDo not try/,
    )
    const expired = says({ kind: 'expired' })
    expect(await textOf(one(undefined, 'sensitive', { approver: expired }).dispatch())).toMatch(
      /^Error: nobody decided/,
    )
  })

  it('gives the result of an attempt that ended before it could be recorded, and runs nothing', async () => {
    const approver = says({ kind: 'finished', text: 'it was so', failed: true })
    const { ran, dispatch } = one(undefined, 'sensitive', { approver })
    expect(await dispatch()).toEqual({ kind: 'observation', text: 'it was so', failed: true })
    expect(ran).toEqual([])
  })

  it('tells the model that an outcome is unknown where people left it at that', async () => {
    const { dispatch } = one(undefined, 'sensitive', { approver: says({ kind: 'skipped', by: 'Ann' }) })
    expect(await textOf(dispatch())).toMatch(/nobody knows whether it took effect\. Ann decided not to run it again/)
  })

  it('keeps the result of an attempt before it hands it on', async () => {
    const approver = says({ kind: 'approved', args: { x: 'a' }, attempt: 3 })
    await one(undefined, 'sensitive', { approver }).dispatch()
    expect(approver.finished).toEqual(['t/1/0#3'])
  })

  it('asks nobody about arguments with a secret in them', async () => {
    const approver = says({ kind: 'pending' })
    const mask = (text: string) => text.replaceAll('hunter2', '***')
    const { dispatch } = one(undefined, 'sensitive', { approver, mask })
    expect(await textOf(dispatch({ x: 'login hunter2' }))).toMatch(/^Error: the arguments hold a secret/)
    expect(approver.asked).toEqual([])
  })

  it('asks nobody about a call that no preview can be made of', async () => {
    const approver = says({ kind: 'pending' })
    approver.verdict = async () => {
      throw new PreviewError('old_string is not in the file')
    }
    expect(await textOf(one(undefined, 'sensitive', { approver }).dispatch())).toBe(
      'Error: old_string is not in the file',
    )
  })

  it('has a question answered by people instead of running', async () => {
    const approver = says({ kind: 'pending' })
    const manager = new ToolManager({ approver })
    manager.register({
      name: 'ask',
      description: '',
      permission: 'safe',
      parameters: z.object({ q: z.string() }),
      question: ({ q }) => ({ text: q, options: [] }),
      invoke: async () => 'never',
    })
    const ask = () => manager.dispatch('ask', '{"q":"which?"}', context())
    expect(await ask()).toEqual({ kind: 'pending' })
    approver.answer = async () => ({ kind: 'answered', by: 'Bo', text: 'the second' })
    expect(await textOf(ask())).toBe('Bo answered: the second')
    approver.answer = async () => ({ kind: 'expired' })
    expect(await textOf(ask())).toMatch(/^Error: nobody answered in time/)
    expect(await textOf(manager.withoutPeople().dispatch('ask', '{"q":"which?"}', context()))).toMatch(
      /nobody can be asked/,
    )
  })

  it('is denied to those who can not wait for people, whatever was approved', async () => {
    const approver = says({ kind: 'approved', args: {}, attempt: 1 })
    const { manager } = one(undefined, 'sensitive', { approver })
    manager.approveTool('it')
    expect(await textOf(manager.withoutPeople().dispatch('it', '{}', context()))).toMatch(/nobody can be asked here/)
    manager.disable('it')
    expect(manager.withoutPeople().toOpenAISchema()).toEqual([])
  })
})
