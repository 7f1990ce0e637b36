import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parametersOf } from '../../src/tool/mcpSchema.ts'
import { schemaFault } from '../doubles/llm/requestRules.ts'

const CASE = join(import.meta.dirname, '../../../shared/cases/mcp/bad_schemas.json')

function offered(inputSchema: unknown) {
  const parameters = parametersOf(inputSchema)
  if ('hopeless' in parameters) throw new Error(parameters.hopeless)
  return parameters
}

describe('schemas of MCP tools', () => {
  it.skipIf(!existsSync(CASE))('are mended where harmless and left out where hopeless (MC-08)', () => {
    const cases = JSON.parse(readFileSync(CASE, 'utf8')) as { name: string; inputSchema: unknown }[]
    const all = new Map(cases.map(({ name, inputSchema }) => [name, parametersOf(inputSchema)]))
    const hopeless = [...all].filter(([, one]) => 'hopeless' in one).map(([name]) => name)
    expect(hopeless).toEqual(['root_string', 'prop_not_schema'])
    for (const one of all.values()) if ('jsonSchema' in one) expect(schemaFault(one.jsonSchema)).toBeNull()
    expect(all.get('arr_no_items')).toMatchObject({
      jsonSchema: { properties: { ids: { type: 'array', items: {} } } },
    })
    expect(all.get('root_anyof')).toMatchObject({
      jsonSchema: { type: 'object', properties: { a: { type: 'string' }, b: { type: 'number' } } },
    })
    expect(offered({ type: 'object', properties: {}, required: ['ghost'] }).problemsOf({})).toEqual([])
  })

  it('say of wrong arguments where and what is wrong, and let right ones through', () => {
    const { problemsOf } = offered({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { path: { type: 'string' }, at: { type: 'object', properties: { line: { type: 'integer' } } } },
      required: ['path'],
    })
    expect(problemsOf({ path: 'x', at: { line: 1 } })).toEqual([])
    expect(problemsOf({ at: { line: 'one' } })).toEqual([
      "(root): must have required property 'path'",
      'at.line: must be integer',
    ])
  })

  it('become one object out of references and alternatives at the top', () => {
    const { jsonSchema, problemsOf } = offered({
      $ref: '#/$defs/Both',
      $defs: {
        Both: {
          allOf: [{ $ref: '#/$defs/Named' }],
          oneOf: [{ type: 'null' }, { properties: { x: { type: 'number' } } }],
        },
        Named: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
      },
    })
    expect(schemaFault(jsonSchema)).toBeNull()
    expect(jsonSchema).toMatchObject({ properties: { name: {}, x: {} }, required: ['name'] })
    expect(problemsOf({ name: 'n', x: 1 })).toEqual([])
    expect(problemsOf({ x: 1 })).toHaveLength(1)
  })

  it('need only what every alternative needs, and allow what any of them allows', () => {
    const { jsonSchema } = offered({
      anyOf: [
        { properties: { id: { type: 'string' }, a: {} }, required: ['id', 'a'], additionalProperties: false },
        { properties: { id: { type: 'number' }, b: {} }, required: ['id', 'b'] },
      ],
    })
    expect(jsonSchema).toEqual({
      type: 'object',
      properties: { id: { anyOf: [{ type: 'string' }, { type: 'number' }] }, a: {}, b: {} },
      required: ['id'],
    })
  })

  it('are hopeless with a reason: references to nowhere, endless ones, unknown types, bottomless nesting', () => {
    const deep = Array.from({ length: 100 }).reduce<object>((inner) => ({ type: 'array', items: inner }), {})
    for (const [schema, reason] of [
      [{ $ref: '#/$defs/gone' }, /leads nowhere/],
      [{ $ref: 'https://example.com/schema' }, /leads nowhere/],
      [{ $ref: '#' }, /refers to itself/],
      [{ type: 'object', properties: { x: { type: 'int' } } }, /int/],
      [{ type: 'object', properties: { x: { $ref: '#/$defs/gone' } } }, /gone/],
      [{ type: 'object', properties: { x: deep } }, /40 levels/],
      [['object'], /no object/],
    ] as const) {
      expect(parametersOf(schema), JSON.stringify(schema).slice(0, 80)).toMatchObject({
        hopeless: expect.stringMatching(reason),
      })
    }
  })

  it('with formats nobody knows are checked without them and without a word on the console', () => {
    const { problemsOf } = offered({ type: 'object', properties: { format: { type: 'string', format: 'uint33' } } })
    expect(problemsOf({ format: 'x' })).toEqual([])
  })

  it('never throw, and what is offered is taken by OpenAI, for any JSON at all', () => {
    const word = fc.constantFrom('type', 'properties', 'items', 'anyOf', 'allOf', 'required', '$ref', 'enum', 'x')
    const { json } = fc.letrec((tie) => ({
      json: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom('object', 'array', 'string', '#', '#/properties/x', true, null, 1),
        fc.array(tie('json'), { maxLength: 3 }),
        fc.dictionary(word, tie('json'), { maxKeys: 4 }),
      ),
    }))
    fc.assert(
      fc.property(json, (schema) => {
        const parameters = parametersOf(schema)
        if ('jsonSchema' in parameters) expect(schemaFault(parameters.jsonSchema)).toBeNull()
      }),
    )
  })
})
