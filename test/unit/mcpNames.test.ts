import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { namePrefix, outwardNames } from '../../src/tool/mcpNames.ts'

const CASE = join(import.meta.dirname, '../../../shared/cases/mcp/tool_names.json')
/** What OpenAI takes, with the first character that Gemini wants. */
const VALID = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/

function nameOf(server: string, tool: string): string {
  return outwardNames([{ server, tool }])[0]!
}

describe('names of MCP tools', () => {
  it.skipIf(!existsSync(CASE))('are valid and different for every name of the case file (MC-04)', () => {
    const { server, tools } = JSON.parse(readFileSync(CASE, 'utf8')) as { server: string; tools: string[] }
    const names = outwardNames(tools.map((tool) => ({ server, tool })))
    for (const name of names) expect(name).toMatch(VALID)
    expect(new Set(names).size).toBe(tools.length)
    expect(names[tools.indexOf('read_file')]).toBe('docs__read_file')
    expect(names[tools.indexOf('files.read')]).toMatch(/^docs__files_read_[0-9a-f]{8}$/)
  })

  it('keep what can be read of a name that can not be offered as it is', () => {
    expect(nameOf('docs', 'größe')).toMatch(/^docs__gro_e_[0-9a-f]{8}$/)
    expect(nameOf('docs', '搜索')).toMatch(/^docs__tool_[0-9a-f]{8}$/)
    expect(nameOf('1password', 'get')).toMatch(/^s_1password__get_[0-9a-f]{8}$/)
  })

  it('never are the name of another tool, whatever underscores and hashes a server puts into its names', () => {
    const hashed = nameOf('docs', 'a.b')
    const ids = [
      { server: 'docs', tool: 'a.b' },
      { server: 'docs', tool: hashed.slice('docs__'.length) },
      { server: 'docs_', tool: 'x' },
      { server: 'docs', tool: '_x' },
      { server: 'docs', tool: 'x' },
      { server: 'docs__x', tool: 'y' },
      { server: 'docs', tool: 'x__y' },
    ]
    const names = outwardNames(ids)
    expect(new Set(names).size).toBe(ids.length)
    expect(names[1]).toBe(hashed)
  })

  it('are valid, unique, independent of order and found by their prefix, for any names at all', () => {
    const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 90 }), fc.stringMatching(/^[a-c_.-]{0,6}$/))
    const ids = fc.uniqueArray(fc.record({ server: text, tool: text }), { selector: (id) => JSON.stringify(id) })
    fc.assert(
      fc.property(ids, (list) => {
        const names = outwardNames(list)
        expect(new Set(names).size).toBe(list.length)
        for (const [at, name] of names.entries()) {
          expect(name).toMatch(VALID)
          expect(name.startsWith(namePrefix(list[at]!.server))).toBe(true)
        }
        expect(outwardNames(list.toReversed()).toReversed()).toEqual(names)
      }),
    )
  })
})
