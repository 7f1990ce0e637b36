/**
 * The shape of the house (docs: CONTRIBUTING.md) as checks over the parsed sources: who may import whom, no cycles, no
 * barrels, no long files, no work at import time.
 */
import { posix } from 'node:path'
import { parseSync } from 'vite'

/** Paths from the root, such as `src/agent/react.ts`, with their texts. */
export type Sources = ReadonlyMap<string, string>

export interface Finding {
  file: string
  message: string
}

export const LONGEST_FILE = 400

/** Each room with those right below it; what is below a room's neighbours is open to it too. */
const BELOW: Record<string, readonly string[]> = {
  shared: [],
  client: ['shared'],
  prompt: ['shared'],
  tool: ['shared'],
  render: ['shared'],
  agent: ['client', 'prompt', 'tool', 'render'],
  session: ['agent'],
  delivery: ['agent'],
  transcript: ['agent'],
  conversation: ['session', 'delivery', 'transcript'],
  web: ['session', 'delivery', 'transcript'],
  app: ['conversation', 'web'],
  main: ['app'],
}
/** Beside the storeys: the types of platforms, the platforms themselves, and the configuration. */
const BESIDE: Record<string, readonly string[]> = {
  platformTypes: ['shared'],
  platform: ['platformTypes', 'render', 'shared'],
  config: ['shared'],
}
const MAY_USE_PLATFORM_TYPES = new Set(['delivery', 'session', 'conversation', 'app', 'main'])
const MAY_USE_CONCRETE_PARTS = new Set(['app', 'main'])

/** Packages that one place alone may know, so that it can be exchanged. */
const PACKAGE_WALLS: { package: RegExp; home: RegExp; typesAnywhereIn?: RegExp }[] = [
  { package: /^keyv$/, home: /^src\/session\/keyvStore\.ts$/, typesAnywhereIn: /^src\/session\// },
  { package: /^(pg|ioredis|bullmq|@keyv\/.*|node:sqlite)$/, home: /^src\/session\// },
  { package: /^@slack\/(bolt|web-api|socket-mode|oauth)$/, home: /^src\/platform\/slack\// },
  { package: /^@slack\/types$/, home: /^src\/(platform\/slack|render)\// },
  { package: /^discord\.js$|^@discordjs\//, home: /^src\/platform\/discord\// },
  { package: /^openai$/, home: /^src\/client\// },
  { package: /^@modelcontextprotocol\/sdk$/, home: /^src\/tool\/mcp/ },
  { package: /^(hono|@hono\/node-server)$/, home: /^src\/web\// },
]

export function checkSources(sources: Sources): Finding[] {
  const modules = [...sources].map(([file, text]) => ({ file, text, ...read(file, text) }))
  return [
    ...modules.flatMap(({ file, imports }) => imports.flatMap((edge) => checkEdge(file, edge))),
    ...modules.flatMap(({ file, text }) => checkFile(file, text)),
    ...modules.flatMap(({ file, program }) => (file === 'src/main.ts' ? [] : checkTopLevel(file, program))),
    ...findCycles(
      new Map(modules.map(({ file, imports }) => [file, imports.flatMap((edge) => targetOf(file, edge) ?? [])])),
    ),
  ]
}

/** Packages that are needed for running (not for types alone), without `node:` ones, as names that stand in package.json. */
export function packagesOf(sources: Sources): Set<string> {
  const imports = [...sources].flatMap(([file, text]) => read(file, text).imports)
  const external = imports.filter(({ specifier, typeOnly }) => !typeOnly && !/^(\.|node:)/.test(specifier))
  return new Set(external.map(({ specifier }) => specifier.match(/^(@[^/]+\/)?[^/]+/)![0]))
}

// Reading ---------------------------------------------------------------------------------------------------------------

interface Edge {
  specifier: string
  typeOnly: boolean
}

interface AstNode {
  type: string
  [key: string]: unknown
}

function read(file: string, text: string): { imports: Edge[]; program: AstNode } {
  const { program, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file} can't be parsed: ${errors[0]!.message}`)
  const imports: Edge[] = []
  walk(program as unknown as AstNode, (node) => {
    const specifier = specifierOf(node)
    if (specifier !== undefined) imports.push({ specifier, typeOnly: isTypeOnly(node) })
    return true
  })
  return { imports, program: program as unknown as AstNode }
}

function specifierOf(node: AstNode): string | undefined {
  const textOf = (source: unknown) => (source as { value?: string } | null)?.value
  if (/^(Import|ExportAll|ExportNamed)Declaration$/.test(node.type)) return textOf(node.source)
  if (node.type === 'ImportExpression' || node.type === 'TSImportType') return textOf(node.source)
  const { callee, arguments: args } = node as { callee?: { name?: string }; arguments?: unknown[] }
  return node.type === 'CallExpression' && callee?.name === 'require' ? textOf(args?.[0]) : undefined
}

function isTypeOnly(node: AstNode): boolean {
  if (node.type === 'TSImportType' || node.importKind === 'type' || node.exportKind === 'type') return true
  const specifiers = (node.specifiers ?? []) as { importKind?: string; exportKind?: string }[]
  return specifiers.length > 0 && specifiers.every((one) => one.importKind === 'type' || one.exportKind === 'type')
}

/** Visits a tree; where `visit` says false, what is inside is left out. */
function walk(node: AstNode, visit: (node: AstNode) => boolean): void {
  if (!visit(node)) return
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (child !== null && typeof child === 'object' && typeof child.type === 'string') walk(child as AstNode, visit)
    }
  }
}

// Edges -----------------------------------------------------------------------------------------------------------------

function roomOf(file: string): string | undefined {
  const inside = file.replace(/^src\//, '')
  if (inside === file) return undefined
  if (inside === 'main.ts') return 'main'
  if (/^config[A-Z\w]*\.ts$/.test(inside)) return 'config'
  if (!inside.includes('/')) return 'app'
  if (inside === 'platform/platform.ts') return 'platformTypes'
  return inside.slice(0, inside.indexOf('/'))
}

function allBelow(room: string): Set<string> {
  const direct = BELOW[room] ?? []
  return new Set([...direct, ...direct.flatMap((below) => [...allBelow(below)])])
}

function targetOf(file: string, { specifier }: Edge): string | undefined {
  return specifier.startsWith('.') ? posix.join(posix.dirname(file), specifier) : undefined
}

function checkEdge(file: string, edge: Edge): Finding[] {
  const target = targetOf(file, edge)
  const wrong = target === undefined ? packageTrouble(file, edge) : edgeTrouble(file, target)
  return wrong === undefined ? [] : [{ file, message: `imports ${edge.specifier}: ${wrong}` }]
}

function packageTrouble(file: string, { specifier, typeOnly }: Edge): string | undefined {
  const wall = PACKAGE_WALLS.find((one) => one.package.test(specifier.replace(/^((?:@[^/]+\/)?[^/]+)\/.*$/, '$1')))
  if (wall === undefined || wall.home.test(file) || (typeOnly && wall.typesAnywhereIn?.test(file))) return undefined
  return `only ${wall.home.source.replaceAll(/[\^$\\]/g, '')} may know this package`
}

function edgeTrouble(file: string, target: string): string | undefined {
  const from = roomOf(file)!
  const to = roomOf(target)
  if (to === undefined) return 'sources import nothing from outside of src'
  if (!target.endsWith('.ts')) return 'imports name the file with its .ts'
  if (from === to) {
    const wing = (path: string) => path.split('/')[2]
    return from === 'platform' && wing(file) !== wing(target) ? 'a platform never knows another one' : undefined
  }
  if (BESIDE[from] !== undefined) return BESIDE[from].includes(to) ? undefined : `${from} may not know ${to}`
  if (to === 'platformTypes') return MAY_USE_PLATFORM_TYPES.has(from) ? undefined : `${from} may not know platforms`
  if (BESIDE[to] !== undefined) return MAY_USE_CONCRETE_PARTS.has(from) ? undefined : `only app may know ${to}`
  if (BELOW[from] === undefined) return `${from} is no room of the house`
  return allBelow(from).has(to) ? undefined : `${from} may not know ${to}`
}

/** Every cycle once, as a finding of its first file in alphabetical order. Cycles of types count: they tie rooms together too. */
export function findCycles(edges: ReadonlyMap<string, readonly string[]>): Finding[] {
  const findings: Finding[] = []
  const done = new Set<string>()
  const visit = (file: string, path: string[]): void => {
    const at = path.indexOf(file)
    if (at >= 0) {
      const cycle = path.slice(at)
      findings.push({ file: cycle.toSorted()[0]!, message: `is in a cycle: ${[...cycle, file].join(' → ')}` })
      return
    }
    if (done.has(file)) return
    for (const target of edges.get(file) ?? []) visit(target, [...path, file])
    done.add(file)
  }
  for (const file of [...edges.keys()].toSorted()) visit(file, [])
  return findings
}

// Files -----------------------------------------------------------------------------------------------------------------

function checkFile(file: string, text: string): Finding[] {
  const findings: Finding[] = []
  const lines = text.trimEnd().split('\n').length
  if (lines > LONGEST_FILE) findings.push({ file, message: `has ${lines} lines, more than ${LONGEST_FILE}` })
  if (/(^|\/)index\.\w+$/.test(file)) findings.push({ file, message: 'is a barrel: name the file after what it does' })
  return findings
}

const DECLARATIONS =
  /^(Import|ExportAll|ExportNamed|ExportDefault|Function|Class|Variable|TSTypeAlias|TSInterface|TSDeclareFunction|TSModule)(Declaration)?$/
/** Modules whose functions reach out of the process. */
const REACHING =
  /^node:(fs|fs\/promises|child_process|net|http|https|http2|dns|dns\/promises|worker_threads|sqlite|readline)$/
const WORKING_GLOBALS = new Set(['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'fetch'])

/** What happens when the module is merely imported: declarations only, with initialisers that reach nowhere. */
function checkTopLevel(file: string, program: AstNode): Finding[] {
  const statements = program.body as AstNode[]
  const reaching = new Set(statements.flatMap(namesFromReachingModules))
  const findings: Finding[] = []
  const add = (message: string) => findings.push({ file, message: `works at import time: ${message}` })
  for (const statement of statements) {
    if (!DECLARATIONS.test(statement.type)) add(`a bare ${statement.type} at the top level`)
    else {
      walk(statement, (node) => {
        if (/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression|TSTypeAnnotation)$/.test(node.type))
          return false
        // Fields of instances run when something is made, not when the module is read.
        if (node.type === 'PropertyDefinition' && node.static !== true) return false
        const work = workOf(node, reaching)
        if (work !== undefined) add(work)
        return true
      })
    }
  }
  return findings
}

function namesFromReachingModules(statement: AstNode): string[] {
  if (statement.type !== 'ImportDeclaration' || !REACHING.test(specifierOf(statement) ?? '')) return []
  return (statement.specifiers as { local: { name: string } }[]).map(({ local }) => local.name)
}

function workOf(node: AstNode, reaching: ReadonlySet<string>): string | undefined {
  if (node.type === 'AwaitExpression') return 'an await at the top level'
  if (node.type === 'StaticBlock') return 'a static block'
  if (node.type === 'MemberExpression') {
    const { object, property } = node as unknown as Record<'object' | 'property', { name?: string }>
    const read = `${object.name}.${property.name}`
    return /^process\.(env|argv|on|once|cwd|stdin)$/.test(read) ? `${read} is used at the top level` : undefined
  }
  if (node.type !== 'CallExpression' && node.type !== 'NewExpression') return undefined
  let callee = node.callee as { name?: string; object?: unknown }
  while (callee.object !== undefined) callee = callee.object as typeof callee
  const called = callee.name ?? ''
  return reaching.has(called) || WORKING_GLOBALS.has(called) ? `${called} is called at the top level` : undefined
}
