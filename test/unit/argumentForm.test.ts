import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { argumentsOf, formOf } from '../../src/conversation/argumentForm.ts'

const LIMITS = { fields: 5, characters: 4_000 }
const schema = {
  properties: {
    path: { type: 'string' },
    content: { type: 'string' },
    lines: { type: 'number' },
    opts: { type: 'object' },
  },
  required: ['path', 'content'],
}

describe('the form of the arguments', () => {
  it('has a field for each argument that the tool knows, a text as it is and the rest as JSON', () => {
    const fields = formOf(schema, { path: 'a.ts', content: 'x\n"y"', opts: { deep: [1] } }, LIMITS)!
    expect(fields.map(({ name, value, multiline, required }) => [name, value, multiline, required])).toEqual([
      ['path', 'a.ts', true, false],
      ['content', 'x\n"y"', true, false],
      ['lines', '', false, false],
      ['opts', '{\n  "deep": [\n    1\n  ]\n}', true, false],
    ])
  })

  it('is not offered where the platform could not hold or carry an argument', () => {
    expect(formOf(schema, { path: 'a', content: 'x'.repeat(4_001) }, LIMITS)).toBeNull()
    expect(formOf(schema, { path: 'a', content: 'one\r\ntwo' }, LIMITS)).toBeNull()
    expect(formOf(schema, { path: 'a', content: '' }, { ...LIMITS, fields: 3 })).toBeNull()
    expect(formOf({}, {}, LIMITS)).toBeNull()
  })

  it('gives back untouched arguments as they were, whatever they are', () => {
    const args = fc.record(
      {
        path: fc.string(),
        content: fc.string({ unit: 'binary' }),
        lines: fc.double({ noNaN: true, noDefaultInfinity: true }),
        opts: fc.object(),
      },
      { requiredKeys: ['path'] },
    )
    fc.assert(
      fc.property(args, (original) => {
        const json = JSON.parse(JSON.stringify(original))
        const fields = formOf(schema, json, { fields: 9, characters: 1e6 })
        if (!fields) return
        const sent = Object.fromEntries(fields.map(({ name, value }) => [name, value]))
        expect(argumentsOf(schema, json, sent)).toEqual({ args: json })
      }),
    )
  })

  it('takes a changed text exactly as it was typed, blanks and all', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const original = { path: 'a', content: '\0 never this' }
        expect(argumentsOf(schema, original, { path: 'a', content: text })).toEqual({
          args: { path: 'a', content: text },
        })
      }),
    )
  })

  it('reads other values as JSON, leaves emptied ones out, and names those that are no JSON', () => {
    const original = { path: 'a', content: '', lines: 3 }
    const sent = (lines: string, opts: string) => argumentsOf(schema, original, { path: 'a', content: '', lines, opts })
    expect(sent('4', '{"x":1}')).toEqual({ args: { path: 'a', content: '', lines: 4, opts: { x: 1 } } })
    expect(sent('', '')).toEqual({ args: { path: 'a', content: '' } })
    expect(sent('four', '{x}')).toEqual({ notJson: ['lines', 'opts'] })
  })
})
