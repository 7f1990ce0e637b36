import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { checkSources, LONGEST_FILE, packagesOf } from './architectureRules.ts'

const root = new URL('../../', import.meta.url)

function readSources(): Map<string, string> {
  const paths = readdirSync(new URL('src', root), { recursive: true, encoding: 'utf8' })
  const files = paths.filter((path) => path.endsWith('.ts')).map((path) => `src/${path.replaceAll('\\', '/')}`)
  return new Map(files.map((file) => [file, readFileSync(new URL(file, root), 'utf8')]))
}

const findingsOf = (files: Record<string, string>) =>
  checkSources(new Map(Object.entries(files))).map(({ message }) => message)

describe('the sources', () => {
  const sources = readSources()

  it('keep the directions of imports, without cycles, barrels, long files and work at import time', () => {
    expect(sources.size).toBeGreaterThan(20)
    expect(checkSources(sources).map(({ file, message }) => `${file} ${message}`)).toEqual([])
  })

  it('import only packages that package.json declares for running', () => {
    const { dependencies } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))
    const undeclared = [...packagesOf(sources)].filter((name) => !Object.hasOwn(dependencies, name))
    expect(undeclared).toEqual([])
  })

  it('leave the types of platforms without anything that runs', () => {
    const text = sources.get('src/platform/platform.ts')!
    expect(text).not.toMatch(/^export (?:async )?(?:const|let|var|function|class)\b/m)
  })
})

describe('the checks of imports', () => {
  it.each([
    ['src/shared/a.ts', '../client/b.ts', 'shared may not know client'],
    ['src/client/a.ts', '../tool/b.ts', 'client may not know tool'],
    ['src/agent/a.ts', '../session/b.ts', 'agent may not know session'],
    ['src/session/a.ts', '../delivery/b.ts', 'session may not know delivery'],
    ['src/transcript/a.ts', '../session/b.ts', 'transcript may not know session'],
    ['src/web/a.ts', '../conversation/b.ts', 'web may not know conversation'],
    ['src/conversation/a.ts', '../app.ts', 'conversation may not know app'],
    ['src/app.ts', './main.ts', 'app may not know main'],
    ['src/platform/slack/a.ts', '../discord/b.ts', 'a platform never knows another one'],
    ['src/platform/slack/a.ts', '../../session/b.ts', 'platform may not know session'],
    ['src/platform/platform.ts', './slack/b.ts', 'platformTypes may not know platform'],
    ['src/conversation/a.ts', '../platform/slack/b.ts', 'only app may know platform'],
    ['src/web/a.ts', '../platform/platform.ts', 'web may not know platforms'],
    ['src/agent/a.ts', '../platform/platform.ts', 'agent may not know platforms'],
    ['src/session/a.ts', '../config.ts', 'only app may know config'],
    ['src/configFile.ts', './client/b.ts', 'config may not know client'],
    ['src/cellar/a.ts', '../shared/b.ts', 'cellar is no room of the house'],
    ['src/agent/a.ts', '../../test/doubles/b.ts', 'sources import nothing from outside of src'],
    ['src/agent/a.ts', './b.js', 'imports name the file with its .ts'],
    ['src/delivery/a.ts', 'keyv', 'only src/session/keyvStore.ts may know this package'],
    ['src/session/inbox.ts', 'keyv', 'only src/session/keyvStore.ts may know this package'],
    ['src/conversation/a.ts', 'discord.js', 'only src/platform/discord/ may know this package'],
    ['src/agent/a.ts', 'openai/resources', 'only src/client/ may know this package'],
  ])('refuse %s → %s', (file, specifier, message) => {
    expect(findingsOf({ [file]: `import { x } from '${specifier}'\n` })).toEqual([`imports ${specifier}: ${message}`])
  })

  it.each([
    ['src/agent/a.ts', '../client/b.ts'],
    ['src/web/a.ts', '../shared/b.ts'],
    ['src/conversation/a.ts', '../platform/platform.ts'],
    ['src/delivery/a.ts', '../render/b.ts'],
    ['src/platform/slack/a.ts', '../platform.ts'],
    ['src/platform/slack/a.ts', './b.ts'],
    ['src/app.ts', './platform/slack/b.ts'],
    ['src/app.ts', './config.ts'],
    ['src/main.ts', './app.ts'],
    ['src/session/keyvStore.ts', 'keyv'],
  ])('allow %s → %s', (file, specifier) => {
    expect(findingsOf({ [file]: `import { x } from '${specifier}'\n` })).toEqual([])
  })

  it.each([
    `import type { X } from '../agent/b.ts'`,
    `export { x } from '../agent/b.ts'`,
    `export * from '../agent/b.ts'`,
    `export const load = () => import('../agent/b.ts')`,
    `export type X = import('../agent/b.ts').X`,
    `export const load = () => require('../agent/b.ts')`,
    `import\n  { x,\n y } from "../agent/b.ts" // with { a: comment }`,
  ])('see the edge in %s', (source) => {
    expect(findingsOf({ 'src/shared/a.ts': source })).toEqual(['imports ../agent/b.ts: shared may not know agent'])
  })

  it('do not take comments and text for imports', () => {
    const source = `// import '../agent/b.ts'\nexport const text = "import x from '../agent/b.ts'"\n/* from '../app.ts' */\n`
    expect(findingsOf({ 'src/shared/a.ts': source })).toEqual([])
  })

  it('find a cycle, also of types, and tell its way', () => {
    const cycle = {
      'src/agent/a.ts': `import { b } from './b.ts'`,
      'src/agent/b.ts': `import type { C } from './c.ts'`,
      'src/agent/c.ts': `import { a } from './a.ts'`,
      'src/agent/d.ts': `import { a } from './a.ts'`,
    }
    expect(findingsOf(cycle)).toEqual([
      'is in a cycle: src/agent/a.ts → src/agent/b.ts → src/agent/c.ts → src/agent/a.ts',
    ])
  })
})

describe('the checks of files', () => {
  it('refuse a barrel and a file that is too long', () => {
    expect(findingsOf({ 'src/agent/index.ts': '' })).toEqual(['is a barrel: name the file after what it does'])
    expect(findingsOf({ 'src/agent/a.ts': `${'\n'.repeat(LONGEST_FILE)}export {}` })).toEqual([
      `has ${LONGEST_FILE + 1} lines, more than ${LONGEST_FILE}`,
    ])
    expect(findingsOf({ 'src/agent/a.ts': `${'\n'.repeat(LONGEST_FILE - 1)}export {}\n` })).toEqual([])
  })

  it.each([
    ['start()', 'a bare ExpressionStatement at the top level'],
    ['if (debug) start()', 'a bare IfStatement at the top level'],
    ['for (const x of []) {}', 'a bare ForOfStatement at the top level'],
    ['export const x = await load()', 'an await at the top level'],
    [`import { readFileSync } from 'node:fs'\nconst x = readFileSync('a')`, 'readFileSync is called at the top level'],
    [`import fs from 'node:fs'\nexport const x = { a: [fs.promises.readFile('a')] }`, 'fs is called at the top level'],
    ['const timer = setInterval(() => {}, 1)', 'setInterval is called at the top level'],
    ['const level = process.env.LOG_LEVEL', 'process.env is used at the top level'],
    ['class A { static x = fetch("") }', 'fetch is called at the top level'],
    ['class A { static { start() } }', 'a static block'],
  ])('refuse %s at the top level', (source, message) => {
    expect(findingsOf({ 'src/agent/a.ts': source })).toContain(`works at import time: ${message}`)
  })

  it('allow what only declares', () => {
    const source = [
      `import { readFileSync } from 'node:fs'`,
      'const LIMITS = new Map([[1, 2]])',
      'const PATTERN = new RegExp("a")',
      'export const schema = object({ a: list() })',
      'export const load = () => readFileSync("a")',
      'export function start() { return process.env.HOME }',
      'export class A { started = setTimeout(() => {}, 1); run() { fetch("") } }',
      'export type X = typeof LIMITS',
    ].join('\n')
    expect(findingsOf({ 'src/agent/a.ts': source })).toEqual([])
  })

  it('let main.ts work', () => {
    expect(findingsOf({ 'src/main.ts': 'await start()' })).toEqual([])
  })
})
