/** `toycoder.yml`: from text to checked settings, and how mistakes are told. The result still has the file's own snake_case. */
import { type Document, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, type YAMLError } from 'yaml'
import type { z } from 'zod'
import { type ConfigFile, configSchema, isEmpty } from './configSchema.ts'
import type { Problem } from './shared/errors.ts'
import { nearest } from './shared/nearest.ts'

export interface ParsedFile {
  /** `null` where the file has problems. */
  file: ConfigFile | null
  problems: Problem[]
  /** Names that were taken with `${NAME}`. */
  used: Set<string>
}

/**
 * Parses and checks the text of a configuration file; an empty one gives all defaults. `${NAME}` in a text takes a value
 * from `environment`; `$${NAME}` stands for the characters themselves.
 * @param name what the file is called in messages, mostly `toycoder.yml`
 */
export function parseConfigFile(
  source: string,
  name: string,
  environment: Readonly<Record<string, string>>,
): ParsedFile {
  const lines = new LineCounter()
  const document = parseDocument(source.replace(/^\uFEFF/, ''), {
    intAsBigInt: true,
    lineCounter: lines,
    prettyErrors: false,
  })
  const used = new Set<string>()
  const [broken] = document.errors
  if (broken !== undefined) return { file: null, problems: [brokenYaml(broken, source, name, lines)], used }
  const at: Locate = (path) => {
    const offset = offsetOf(document, path)
    return offset === undefined ? name : `${name}:${lines.linePos(offset).line}`
  }
  const problems: Problem[] = []
  const content = fillIn(document.toJS() ?? {}, [], (reference, path) => {
    used.add(reference)
    const value = environment[reference]
    if (value !== undefined) return value
    problems.push({
      problem: `${at(path)}: \`${dotted(path)}\` takes \`\${${reference}}\` from the environment, where it is not set.`,
      mend: `Set \`${reference}\` (in .env or the environment), or remove the line.`,
    })
    return 'not-set'
  })
  const checked = configSchema.safeParse(content)
  if (!checked.success) problems.push(...checked.error.issues.flatMap((issue) => explain(issue, content, at)))
  problems.push(...checkProviders(content, environment, at))
  return { file: problems.length === 0 && checked.success ? checked.data : null, problems, used }
}

/** The first error alone: the others mostly follow from it. YAML's message may quote the text, which may be a secret. */
function brokenYaml(error: YAMLError, source: string, name: string, lines: LineCounter): Problem {
  const { line } = lines.linePos(error.pos[0])
  const reference = source.split('\n')[line - 1]?.match(/(?<!["'\w$])\$\{\w+\}/)?.[0]
  const mend =
    reference === undefined
      ? 'Mend the line; settings are nested by two spaces, and text with `: ` or ` #` in it needs quotes.'
      : `Put quotes around it: \`"${reference}"\`.`
  return { problem: `${name}:${line} is not valid YAML: ${error.message.replace(/[:.]?( ".*)?$/s, '')}.`, mend }
}

/** Replaces `${NAME}` in every text, and leaves out what is empty: a key without a value is as good as no key. */
function fillIn(value: unknown, path: PropertyKey[], lookUp: (name: string, path: PropertyKey[]) => string): unknown {
  if (typeof value === 'string') {
    return value.replaceAll(/(\$?)\$\{([A-Za-z_]\w*)\}/g, (all, escaped: string, name: string) =>
      escaped ? all.slice(1) : lookUp(name, path),
    )
  }
  if (Array.isArray(value)) return value.map((item, index) => fillIn(item, [...path, index], lookUp))
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).filter(([, child]) => child !== null)
  return Object.fromEntries(entries.map(([key, child]) => [key, fillIn(child, [...path, key], lookUp)]))
}

// Telling what is wrong ---------------------------------------------------------------------------------------------------

/** What spans several keys: a provider needs a model that answers, the default one has to be there. */
function checkProviders(content: unknown, environment: Readonly<Record<string, string>>, at: Locate): Problem[] {
  const { providers, default_provider: wanted } = content as { providers?: unknown; default_provider?: unknown }
  const entries = isRecord(providers) ? Object.entries(providers) : []
  const problems = entries.flatMap(([name, provider]) => (isRecord(provider) ? checkProvider(name, provider, at) : []))
  // Without any in the file, the environment makes one that is called `openai`.
  const fromEnvironment = environment.OPENAI_API_KEY ?? environment.OPENAI_BASE_URL
  const names = entries.length > 0 || fromEnvironment === undefined ? entries.map(([name]) => name) : ['openai']
  if (typeof wanted === 'string' && !names.includes(wanted)) {
    const likely = nearest(wanted, names) ?? names[0]
    problems.push({
      problem: `${at(['default_provider'])}: \`default_provider\` is \`${wanted}\`, which is not among \`providers\`.`,
      mend: likely === undefined ? 'Add it under `providers`.' : `Did you mean \`${likely}\`?`,
    })
  }
  return problems
}

function checkProvider(name: string, provider: Record<string, unknown>, at: Locate): Problem[] {
  const { models, api_keys: keys, base_url: address } = provider
  const problems: Problem[] = []
  if (models === undefined || (isRecord(models) && models.default === undefined)) {
    const likely = nearest('default', Object.keys(models ?? {}))
    problems.push({
      problem: `${at(['providers', name])}: the provider \`${name}\` has no model: \`models.default\` is missing.`,
      mend:
        likely === undefined
          ? 'Add it with the name of a model that the server has.'
          : `Did you mean it by \`${likely}\`?`,
    })
  }
  const atOpenAI =
    address === undefined || (typeof address === 'string' && /^https?:\/\/api\.openai\.com(\/|$)/.test(address))
  if (atOpenAI && isEmpty(keys)) {
    problems.push({
      problem: `${at(['providers', name])}: the provider \`${name}\` has no \`api_keys\`, which api.openai.com needs.`,
      mend: `Add \`api_keys: ["\${OPENAI_API_KEY}"]\`, or the \`base_url\` of a server that needs none.`,
    })
  }
  return problems
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Where a path stands: the file's name and the line. */
type Locate = (path: readonly PropertyKey[]) => string

function explain(issue: z.core.$ZodIssue, content: unknown, at: Locate): Problem[] {
  const path = asWritten(issue.path, content)
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(configSchema, issue.path)
    return issue.keys.map((name) => {
      const setting = [...path, name]
      const likely = nearest(name, known)
      return {
        problem: `${at(setting)}: \`${dotted(setting)}\` is not a setting.`,
        mend:
          likely === undefined
            ? `Remove it; there are ${known.map((one) => `\`${one}\``).join(', ')}.`
            : `Did you mean \`${likely}\`?`,
      }
    })
  }
  const value = path.reduce<unknown>(
    (parent, key) => (parent as Record<PropertyKey, unknown> | undefined)?.[key],
    content,
  )
  const subject = path.length === 0 ? 'the file' : `\`${dotted(path)}\``
  const missing = value === undefined
  return [
    {
      problem: `${at(path)}: ${subject} ${issue.message}${missing ? ' and is missing' : shown(value)}.`,
      mend: missing ? 'Add it.' : 'Correct it, or remove it to get the default.',
    },
  ]
}

/** A path without the places in lists that the file has not: where one thing stands for a list of it. */
function asWritten(path: readonly PropertyKey[], content: unknown): PropertyKey[] {
  let here = content
  return path.filter((key) => {
    if (typeof key === 'number' && !Array.isArray(here)) return false
    here = (here as Record<PropertyKey, unknown> | undefined)?.[key]
    return true
  })
}

/** Numbers and flags are repeated, text never: it may be a secret in the wrong place. */
function shown(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return `, not ${value}`
  if (Array.isArray(value)) return ', not a list'
  return ''
}

const dotted = (path: readonly PropertyKey[]) =>
  path.map((key, index) => (typeof key === 'number' ? `[${key}]` : `${index > 0 ? '.' : ''}${String(key)}`)).join('')

/** Where a path stands in the source: its key, or the nearest parent that is there. */
function offsetOf(document: Document, path: readonly PropertyKey[]): number | undefined {
  let node = document.contents as Node | null
  let offset: number | undefined
  for (const key of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key: name }) => isScalar(name) && String(name.value) === String(key))
      if (pair === undefined) break
      offset = (pair.key as Node).range?.[0] ?? offset
      node = pair.value as Node | null
    } else if (isSeq(node)) {
      node = (node.items[Number(key)] ?? null) as Node | null
      offset = node?.range?.[0] ?? offset
    } else break
  }
  return offset
}

/** The keys that the schema knows at a path. */
function keysAt(root: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  let here: SchemaDef | undefined = definitionOf(root)
  for (const key of path) {
    const child: z.core.$ZodType | undefined = here.shape?.[String(key)] ?? here.valueType ?? here.element
    if (child === undefined) return []
    here = definitionOf(child)
  }
  return Object.keys(here.shape ?? {})
}

/** What zod keeps of objects, records, lists and of the wrappers around them. */
interface SchemaDef {
  shape?: Record<string, z.core.$ZodType>
  valueType?: z.core.$ZodType
  element?: z.core.$ZodType
  innerType?: z.core.$ZodType
  out?: z.core.$ZodType
}

function definitionOf(type: z.core.$ZodType): SchemaDef {
  const def = type._zod.def as SchemaDef
  const inner = def.innerType ?? def.out
  return inner === undefined ? def : definitionOf(inner)
}
