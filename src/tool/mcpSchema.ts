import { isDeepStrictEqual } from 'node:util'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv'
import { messageOf } from '../shared/errors.ts'
import type { JsonSchemaParameters } from './arguments.ts'

type Schema = Record<string, unknown>

/** Schemas nested deeper than this are taken for an attack or a mistake. */
const DEEPEST = 40

/** A schema that no model API takes and that can't be mended without guessing; the message says why. */
class Hopeless extends Error {}

/**
 * The input schema of an MCP tool as parameters that model APIs take, or why that can't be (cases MC-08).
 *
 * Mended is what says the same in other words, or less: a missing `properties`, arrays without `items`, `required` names that
 * do not exist, alternatives at the top (they become one object that allows what any of them allows), references at the top.
 * The model's arguments are checked against the same schema that it was told; whatever was lost, the server checks itself.
 */
export function parametersOf(inputSchema: unknown): JsonSchemaParameters | { hopeless: string } {
  try {
    const jsonSchema = objectSchema(inputSchema ?? { type: 'object' })
    // Formats are left to the server: the validator would complain on the console about those it does not know.
    const validate = new AjvJsonSchemaValidator().getValidator(withoutFormats(jsonSchema) as { type: 'object' })
    return {
      jsonSchema,
      problemsOf(value) {
        const result = validate(value)
        return result.valid ? [] : result.errorMessage.split(/, (?=data\b)/).map(readable)
      },
    }
  } catch (error) {
    return { hopeless: messageOf(error) }
  }
}

/** The validator calls the whole `data` and the field x `data/x`. */
function readable(problem: string): string {
  return problem.replace(/^data(\/\S+)? /, (_, path?: string) => `${path?.slice(1).replaceAll('/', '.') ?? '(root)'}: `)
}

// The top: always an object with properties ---------------------------------------------------------------------------------

function objectSchema(input: unknown): Schema {
  if (!isSchema(input)) throw new Hopeless('the schema is no object')
  const { $schema: _, $id: __, ...top } = input
  const { properties, required, type, ...rest } = flattened(top, top, 0)
  return {
    ...mended(rest, 1),
    type: 'object',
    properties: eachProperty(properties ?? {}, 1),
    ...requiredOf(required, properties ?? {}),
  }
}

/** One object schema without references and alternatives at the top. `root` is where references point into. */
function flattened(schema: Schema, root: Schema, depth: number): Schema {
  if (depth > DEEPEST) throw new Hopeless('the schema refers to itself at the top')
  if (typeof schema.$ref === 'string') {
    const { $ref, ...beside } = schema
    return flattened({ ...target($ref as string, root), ...beside }, root, depth + 1)
  }
  if (!isObjectType(schema.type)) throw new Hopeless(`the schema is of type ${JSON.stringify(schema.type)}, not object`)
  // `not`, `enum` and the like at the top are refused by OpenAI; the server checks them.
  const dropped = ['allOf', 'anyOf', 'oneOf', 'not', 'enum', 'const', 'if', 'then', 'else']
  const own: Schema = Object.fromEntries(Object.entries(schema).filter(([key]) => !dropped.includes(key)))
  const all = branches(schema.allOf).map((branch) => flattened(branch, root, depth + 1))
  const alternatives = [schema.anyOf, schema.oneOf].map((list) => branches(list)).filter((list) => list.length > 0)
  const merged = alternatives.map((list) => {
    // An alternative such as `null` can't be said by arguments at all.
    const objects = list.filter((branch) => isObjectType(branch.type))
    if (objects.length === 0) throw new Hopeless('none of the alternatives is an object')
    return objects.map((branch) => flattened(branch, root, depth + 1)).reduce(either)
  })
  return [...all, ...merged].reduce(both, own)
}

function branches(list: unknown): Schema[] {
  return Array.isArray(list) ? list.filter(isSchema) : []
}

function isObjectType(type: unknown): boolean {
  return type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'))
}

function target(reference: string, root: Schema): Schema {
  let found: unknown = root
  for (const step of reference.replace(/^#\/?/, '').split('/').filter(Boolean)) {
    const key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
    found = isSchema(found) && Object.hasOwn(found, key) ? found[key] : undefined
  }
  if (!reference.startsWith('#') || !isSchema(found)) throw new Hopeless(`the reference ${reference} leads nowhere`)
  return found
}

function both(a: Schema, b: Schema): Schema {
  const required = [...new Set([...strings(a.required), ...strings(b.required)])]
  return { ...b, ...a, properties: joined(a, b, 'allOf'), required }
}

function either(a: Schema, b: Schema): Schema {
  const needed = strings(b.required)
  const required = strings(a.required).filter((name) => needed.includes(name))
  // What one alternative closes the other may open.
  const { additionalProperties: _, ...open } = { ...b, ...a }
  return { ...open, properties: joined(a, b, 'anyOf'), required }
}

function joined(a: Schema, b: Schema, how: 'allOf' | 'anyOf'): Schema {
  const [first, second] = [propertiesOf(a), propertiesOf(b)]
  const found = new Map(Object.entries(first))
  for (const [name, schema] of Object.entries(second)) {
    const other = found.get(name)
    const same = other === undefined || isDeepStrictEqual(other, schema)
    found.set(name, same ? schema : { [how]: [other, schema] })
  }
  return Object.fromEntries(found)
}

function propertiesOf({ properties }: Schema): Schema {
  if (properties === undefined) return {}
  if (!isSchema(properties)) throw new Hopeless('`properties` is no object')
  return properties
}

function requiredOf(required: unknown, properties: unknown): { required?: string[] } {
  const known = strings(required).filter((name) => isSchema(properties) && Object.hasOwn(properties, name))
  return known.length > 0 ? { required: known } : {}
}

// Below the top -----------------------------------------------------------------------------------------------------------

/** Keywords that hold one schema, a list of them, or named ones. */
const ONE = ['additionalProperties', 'items', 'contains', 'not', 'if', 'then', 'else', 'propertyNames']
const SOME = ['anyOf', 'oneOf', 'allOf', 'prefixItems']
const NAMED = ['patternProperties', '$defs', 'definitions', 'dependentSchemas']

/** A schema below the top, with the harmless faults mended. Throws `Hopeless` for what is no schema. */
function part(schema: unknown, depth: number): unknown {
  if (typeof schema === 'boolean') return schema
  if (!isSchema(schema)) throw new Hopeless(`${JSON.stringify(schema)} stands where a schema belongs`)
  if (depth > DEEPEST) throw new Hopeless(`the schema is nested more than ${DEEPEST} levels deep`)
  const { properties, required, ...rest } = schema
  const found = mended(rest, depth + 1)
  if (properties !== undefined) found.properties = eachProperty(properties, depth + 1)
  if (Array.isArray(required) && required.length > 0) found.required = strings(required)
  const type = schema.type
  const isArray = type === 'array' || (Array.isArray(type) && type.includes('array'))
  if (isArray && found.items === undefined) found.items = {}
  return found
}

function mended(schema: Schema, depth: number): Schema {
  const { $schema: _, ...found } = schema
  for (const key of ONE) if (found[key] !== undefined) found[key] = oneOrTuple(found[key], depth)
  for (const key of SOME) {
    if (!Array.isArray(found[key])) continue
    // An empty list is not allowed, and "any of nothing" is surely not meant.
    if (found[key].length === 0) delete found[key]
    else found[key] = found[key].map((one) => part(one, depth))
  }
  for (const key of NAMED) if (isSchema(found[key])) found[key] = eachProperty(found[key], depth)
  return found
}

/** `items` could be a list in older drafts, one schema per place; today it must be one for all. */
function oneOrTuple(value: unknown, depth: number): unknown {
  if (!Array.isArray(value)) return part(value, depth)
  return value.length === 0 ? {} : { anyOf: value.map((one) => part(one, depth + 1)) }
}

function eachProperty(properties: unknown, depth: number): Schema {
  if (!isSchema(properties)) throw new Hopeless('`properties` is no object')
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, part(schema, depth)]))
}

function withoutFormats(schema: unknown): unknown {
  if (!isSchema(schema)) return schema
  const { format: _, ...found } = schema
  for (const key of ONE) if (key in found) found[key] = withoutFormats(found[key])
  for (const key of SOME) if (Array.isArray(found[key])) found[key] = found[key].map(withoutFormats)
  for (const key of [...NAMED, 'properties']) {
    const named = found[key]
    if (!isSchema(named)) continue
    found[key] = Object.fromEntries(Object.entries(named).map(([name, one]) => [name, withoutFormats(one)]))
  }
  return found
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function strings(list: unknown): string[] {
  return Array.isArray(list) ? list.filter((one) => typeof one === 'string') : []
}
