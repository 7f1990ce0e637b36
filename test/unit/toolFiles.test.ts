import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { listDirectoryTool } from '../../src/tool/builtin/listDirectory.ts'
import { readFileTool } from '../../src/tool/builtin/readFile.ts'
import { globSearchTool, grepSearchTool } from '../../src/tool/builtin/search.ts'
import type { ToolContext } from '../../src/tool/tool.ts'
import { ToolManager } from '../../src/tool/toolManager.ts'
import { isSecretPath, resolveInWorkspace } from '../../src/tool/workspacePath.ts'

const CASES = join(import.meta.dirname, '../../../shared/cases')
const withCases = describe.skipIf(!existsSync(CASES))

let base: string
let workspace: string
const tools = new ToolManager()
for (const tool of [readFileTool, listDirectoryTool, globSearchTool, grepSearchTool]) tools.register(tool as never)

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'toycoder-files-'))
})
afterAll(async () => {
  await rm(base, { recursive: true, force: true })
})
beforeEach(async () => {
  workspace = await mkdtemp(join(base, 'ws-'))
})

async function put(path: string, content: string | Uint8Array): Promise<void> {
  await mkdir(join(workspace, path, '..'), { recursive: true })
  await writeFile(join(workspace, path), content)
}

async function use(
  name: string,
  args: object,
  root = workspace,
  signal = new AbortController().signal,
): Promise<string> {
  const context: ToolContext = { signal, callKey: 'k', threadKey: null, requester: null, workspace: root }
  const outcome = await tools.dispatch(name, JSON.stringify(args), context)
  if (outcome.kind !== 'observation') throw new Error('unexpected')
  expect(outcome.failed).toBe(outcome.text.startsWith('Error: '))
  return outcome.text
}

describe('read_file', () => {
  it('shows numbered lines under a header that says which lines of how many', async () => {
    await put('a.txt', 'one\ntwo\nthree\nfour\n')
    expect(await use('read_file', { path: 'a.txt' })).toBe('a.txt: lines 1-4 of 4\n1\tone\n2\ttwo\n3\tthree\n4\tfour')
    expect(await use('read_file', { path: './a.txt', offset: 2, limit: 2 })).toBe(
      'a.txt: lines 2-3 of 4; read on with offset 4\n2\ttwo\n3\tthree',
    )
  })

  it('counts a last line without a line break, and empty lines', async () => {
    await put('a.txt', 'one\n\n\nlast')
    expect(await use('read_file', { path: 'a.txt' })).toBe('a.txt: lines 1-4 of 4\n1\tone\n2\t\n3\t\n4\tlast')
  })

  it('says so when the file is empty, ends before the offset, is missing or a directory', async () => {
    await put('empty.txt', '')
    await put('dir/two.txt', 'a\nb\n')
    expect(await use('read_file', { path: 'empty.txt' })).toBe('empty.txt: empty file')
    expect(await use('read_file', { path: 'dir/two.txt', offset: 3 })).toBe(
      'Error: "dir/two.txt" has 2 lines; there is no line 3',
    )
    expect(await use('read_file', { path: 'none.txt' })).toBe('Error: there is no "none.txt"')
    expect(await use('read_file', { path: 'dir' })).toMatch(/^Error: "dir" is a directory; list_directory/)
    expect(await use('read_file', { path: 'dir/two.txt/x' })).toBe(
      'Error: a part of the path is a file, not a directory',
    )
  })

  it('never names a path outside of the workspace in its errors', async () => {
    for (const path of ['none.txt', 'a/b/c', 'x'.repeat(300)]) {
      expect(await use('read_file', { path })).not.toContain(base)
    }
  })

  it('shows CRLF files without the carriage returns, and says that they are there', async () => {
    await put('crlf.txt', 'alpha\r\nbeta\r\n')
    expect(await use('read_file', { path: 'crlf.txt' })).toBe(
      'crlf.txt: lines 1-2 of 2; CRLF line ends\n1\talpha\n2\tbeta',
    )
  })

  it('reads files with a byte order mark and in other encodings, and names the encoding', async () => {
    await put('bom.txt', '\uFEFFa = 1\n')
    await put('le.txt', Buffer.from('\uFEFFžluť\nx\n', 'utf16le'))
    await put('be.txt', Buffer.from('\uFEFFžluť\n', 'utf16le').swap16())
    await put('nomark.txt', Buffer.from('plain words\n', 'utf16le'))
    await put('latin.txt', Buffer.from('caf\xe9 na\xefve\n', 'latin1'))
    await put('gb.txt', Buffer.from('c4e3bac3cac0bde70a', 'hex'))
    expect(await use('read_file', { path: 'bom.txt' })).toBe('bom.txt: lines 1-1 of 1; UTF-8 with BOM\n1\ta = 1')
    expect(await use('read_file', { path: 'le.txt' })).toBe('le.txt: lines 1-2 of 2; UTF-16 LE\n1\tžluť\n2\tx')
    expect(await use('read_file', { path: 'be.txt' })).toBe('be.txt: lines 1-1 of 1; UTF-16 BE\n1\tžluť')
    expect(await use('read_file', { path: 'nomark.txt' })).toContain('UTF-16 LE\n1\tplain words')
    expect(await use('read_file', { path: 'latin.txt' })).toContain('read as Windows-1252\n1\tcafé naïve')
    expect(await use('read_file', { path: 'gb.txt' })).toContain('read as GB 18030\n1\t你好世界')
  })

  it('refuses binary files and says what they are', async () => {
    await put('x.bin', new Uint8Array([1, 0, 2, 0, 0, 0, 7, 200]))
    expect(await use('read_file', { path: 'x.bin' })).toBe(
      'Error: "x.bin" is a binary file (unknown format, 8 bytes), not text',
    )
  })

  it('cuts long lines with a note and keeps characters whole', async () => {
    await put('long.txt', `${'a'.repeat(1999)}😀${'b'.repeat(3000)}\nnext\n`)
    const [, line, next] = (await use('read_file', { path: 'long.txt' })).split('\n')
    expect(line).toBe(`1\t${'a'.repeat(1999)}… [3002 more characters in this line]`)
    expect(next).toBe('2\tnext')
  })

  it('stays within the limit of an observation and says where to read on', async () => {
    await put('wide.txt', `${'x'.repeat(1500)}\n`.repeat(300))
    const text = await use('read_file', { path: 'wide.txt' })
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(50 * 1024)
    expect(text).toMatch(/^wide\.txt: lines 1-3\d of 300; read on with offset 3\d\n/)
  })

  it('shows at most so many lines that the result is not cut again', async () => {
    await put('many.txt', 'x\n'.repeat(5_000))
    const lines = (await use('read_file', { path: 'many.txt', limit: 100_000 })).split('\n')
    expect(lines[0]).toBe('many.txt: lines 1-1999 of 5000; read on with offset 2000')
    expect(lines).toHaveLength(2_000)
  })

  it('reads nothing where there is no workspace', async () => {
    expect(await use('read_file', { path: 'package.json' }, '')).toBe('Error: there is no workspace here')
  })

  it('reads the beginning of a huge file without taking all of it into memory', async () => {
    await put('huge.log', '')
    const block = `${'0123456789'.repeat(100)}\n`.repeat(10_000)
    for (let at = 0; at < 8; at++) await appendFile(join(workspace, 'huge.log'), block)
    const before = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed
    const text = await use('read_file', { path: 'huge.log', offset: 5, limit: 2 })
    const after = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed
    expect(text).toMatch(/^huge\.log: lines 5-6 of at least \d+; read on with offset 7\n5\t0123/)
    expect(after - before).toBeLessThan(60 * 1024 * 1024)
  })

  it('heeds the signal', async () => {
    await put('a.txt', 'one\n')
    expect(await use('read_file', { path: 'a.txt' }, workspace, AbortSignal.abort())).toBe(
      'Error: stopped before it ran',
    )
  })

  it('does not wait for a pipe', async () => {
    execFileSync('mkfifo', [join(workspace, 'pipe')])
    expect(await use('read_file', { path: 'pipe' })).toMatch(/^Error: "pipe" is no regular file/)
  })
})

withCases('read_file on the shared cases', () => {
  it('reads the CRLF and the BOM file, and tells a JPEG by its bytes', async () => {
    for (const name of ['crlf.txt', 'bom.txt']) await put(name, await readFile(join(CASES, 'files', name)))
    await put('shot.png', Buffer.from(await readFile(join(CASES, 'files/jpeg_named_png.b64'), 'utf8'), 'base64'))
    expect(await use('read_file', { path: 'crlf.txt' })).toContain(
      'CRLF line ends\n1\talpha = 1\n2\tbeta = 2\n3\tgamma = 3',
    )
    expect(await use('read_file', { path: 'bom.txt' })).toContain('\n1\ta = 1\n2\tb = 2')
    expect(await use('read_file', { path: 'shot.png' })).toContain('binary file (JPEG image')
  })
})

describe('paths', () => {
  withCases('of the shared cases', () => {
    it('lead out and are refused, or stay inside and are allowed', async () => {
      const { root, refuse, allow } = JSON.parse(await readFile(join(CASES, 'security/paths.json'), 'utf8'))
      const here = (path: string) => path.replaceAll(root, workspace)
      await mkdir(`${workspace}-other`)
      await writeFile(`${workspace}-other/secret.txt`, 'TOP')
      for (const path of refuse as string[]) {
        // Nothing decodes percent signs here, so that one is an ordinary name that does not exist.
        if (path.startsWith('%')) expect((await resolveInWorkspace(workspace, path)).shown).toBe(path)
        else await expect(resolveInWorkspace(workspace, here(path)), path).rejects.toThrow()
      }
      for (const path of allow as string[]) {
        const found = await resolveInWorkspace(workspace, here(path))
        expect(found.absolute.startsWith(`${workspace}/`), path).toBe(true)
      }
    })

    it('through links stay inside too (SC-02)', async () => {
      execFileSync('sh', [join(CASES, 'security/symlinks.sh'), join(workspace, 'd')])
      const root = join(workspace, 'd/ws')
      expect(await use('read_file', { path: 'esc/secret.txt' }, root)).toMatch(/^Error: .* is outside of the workspace/)
      await expect(resolveInWorkspace(root, 'esc/new.txt')).rejects.toThrow('outside')
      expect(await use('read_file', { path: 'ok.txt' }, root)).toContain('1\tin')
      expect(await use('read_file', { path: 'sub/in.txt' }, join(workspace, 'd/rootlink'))).toContain('1\tin')
      expect(await use('grep_search', { pattern: 'TOP' }, root)).toBe('no line matches TOP')
      expect(await use('grep_search', { pattern: 'TOP', path: 'esc' }, root)).toMatch(/^Error: .* outside/)
      expect(await use('glob_search', { pattern: '**/*.txt' }, root)).not.toContain('secret')
      expect(await use('list_directory', { path: '.' }, root)).toContain(
        "esc (link out of the workspace; can't be read)",
      )
    })
  })

  it('may not lead out by a link to nothing or by a loop of links', async () => {
    await symlink('/nowhere/at/all', join(workspace, 'dangling'))
    await symlink('loop', join(workspace, 'loop'))
    expect(await use('read_file', { path: 'dangling' })).toMatch(
      /^Error: the path is a link to something that does not exist/,
    )
    expect(await use('read_file', { path: 'loop/x' })).toMatch(/^Error: the path leads through a loop/)
  })
})

describe('secret files', () => {
  it('are known by their names, whatever the case', () => {
    const secret = [
      '.env',
      'a/.ENV.local',
      '.envrc',
      'prod.env',
      'key.PEM',
      '.ssh/config',
      'id_rsa',
      'x/id_ed25519.bak',
      '.npmrc',
      '.docker/config.json',
      '.env.',
      '.env ',
    ]
    const harmless = [
      '.env.example',
      '.env.local.sample',
      'id_rsa.pub',
      'environment.ts',
      'src/keys.ts',
      '.docker/nginx.conf',
      'env.ts',
      '.',
    ]
    expect(secret.filter((path) => !isSecretPath(path))).toEqual([])
    expect(harmless.filter(isSecretPath)).toEqual([])
  })

  it('are neither read nor searched nor listed as readable, also through a link', async () => {
    await put('.env', 'TOKEN=hunter2\n')
    await put('.env.example', 'TOKEN=\n')
    await put('keys/server.pem', 'TOKEN inside\n')
    await symlink('.env', join(workspace, 'notes.txt'))
    expect(await use('read_file', { path: '.env' })).toMatch(/^Error: ".env" may hold secrets/)
    expect(await use('read_file', { path: 'notes.txt' })).toMatch(/^Error: "notes.txt" may hold secrets/)
    expect(await use('grep_search', { pattern: 'TOKEN' })).toBe('1 line in 1 file\n.env.example:1: TOKEN=')
    expect(await use('grep_search', { pattern: 'TOKEN', path: '.env' })).toMatch(/^Error: /)
    expect(await use('grep_search', { pattern: 'TOKEN', include: '.env' })).toBe('no file matches .env')
    expect(await use('glob_search', { pattern: '**/*' })).toBe('1 file for **/*\n.env.example')
    expect(await use('list_directory', {})).toContain(".env (may hold secrets; can't be read)\n.env.example (7 bytes)")
  })
})

describe('list_directory', () => {
  it('lists directories first, files with their sizes, links by what they are', async () => {
    await put('b.txt', 'xx')
    await put('a/in.txt', '')
    await symlink('b.txt', join(workspace, 'link'))
    await put('odd\nname', '')
    expect(await use('list_directory', {})).toBe(
      '.: 4 entries\na/\nb.txt (2 bytes)\nlink (link)\n"odd\\nname" (0 bytes)',
    )
    expect(await use('list_directory', { path: '' })).toBe(await use('list_directory', {}))
    await mkdir(join(workspace, 'none'))
    expect(await use('list_directory', { path: 'none' })).toBe('none: empty directory')
    expect(await use('list_directory', { path: 'b.txt' })).toBe('Error: "b.txt" is not a directory')
    expect(await use('list_directory', { path: 'gone' })).toBe('Error: there is no "gone"')
  })

  it('shows at most 500 entries, with the total', async () => {
    await Promise.all(Array.from({ length: 503 }, (_, at) => put(`f${at}`, '')))
    const lines = (await use('list_directory', {})).split('\n')
    expect(lines[0]).toBe('.: 500 of 503 entries')
    expect(lines).toHaveLength(501)
  })
})

describe('glob_search', () => {
  it('finds relative paths, at any depth without a slash, from the given directory with one', async () => {
    for (const path of ['a.ts', 'src/b.ts', 'src/deep/c.ts', 'src/d.js']) await put(path, '')
    expect(await use('glob_search', { pattern: '*.ts' })).toBe('3 files for *.ts\na.ts\nsrc/b.ts\nsrc/deep/c.ts')
    expect(await use('glob_search', { pattern: 'src/*.{ts,js}' })).toBe('2 files for src/*.{ts,js}\nsrc/b.ts\nsrc/d.js')
    expect(await use('glob_search', { pattern: '**/*.ts', path: 'src' })).toBe(
      '2 files for **/*.ts\nsrc/b.ts\nsrc/deep/c.ts',
    )
    expect(await use('glob_search', { pattern: 'deep/*', path: 'src' })).toBe('1 file for deep/*\nsrc/deep/c.ts')
    expect(await use('glob_search', { pattern: 'b.ts', path: './src/' })).toBe('1 file for b.ts\nsrc/b.ts')
    expect(await use('glob_search', { pattern: '*.py' })).toBe('no file matches *.py')
  })

  it('respects .gitignore files, those above the searched directory too, and skips .git and node_modules', async () => {
    await put('.gitignore', 'dist/\n*.min.js\n/src/gen.js\n')
    await put('src/.ignore', 'own.js\n')
    for (const path of [
      'src/a.js',
      'src/a.min.js',
      'src/gen.js',
      'src/in/own.js',
      'dist/x.js',
      'node_modules/m/i.js',
      '.git/h.js',
    ])
      await put(path, '')
    expect(await use('glob_search', { pattern: '*.js' })).toBe('1 file for *.js\nsrc/a.js')
    expect(await use('glob_search', { pattern: '**/*.js', path: 'src' })).toBe('1 file for **/*.js\nsrc/a.js')
    expect(await use('glob_search', { pattern: '*.js', path: 'src/in' })).toBe('no file matches *.js')
    expect(await use('glob_search', { pattern: 'i.js', path: 'node_modules/m' })).toContain('node_modules/m/i.js')
  })

  it('does not obey ignore files outside of the workspace', async () => {
    await put('.gitignore', '*\n')
    await put('inner/a.ts', '')
    expect(await use('glob_search', { pattern: '*.ts' }, join(workspace, 'inner'))).toBe('1 file for *.ts\na.ts')
  })

  it('shows at most 50 paths, with the total', async () => {
    await Promise.all(Array.from({ length: 53 }, (_, at) => put(`f${String(at).padStart(2, '0')}.ts`, '')))
    const lines = (await use('glob_search', { pattern: '*.ts' })).split('\n')
    expect(lines[0]).toBe('50 of 53 files for *.ts')
    expect(lines.slice(1)).toEqual(Array.from({ length: 50 }, (_, at) => `f${String(at).padStart(2, '0')}.ts`))
  })

  it('takes odd names of directories as they are, and a wrong glob as an observation', async () => {
    await put('a [b]{c}*/x.ts', '')
    await put('a b/y.ts', '')
    expect(await use('glob_search', { pattern: '*.ts', path: 'a [b]{c}*' })).toBe('1 file for *.ts\na [b]{c}*/x.ts')
    expect(await use('glob_search', { pattern: '{a' })).toMatch(/^Error: .*glob/s)
    expect(await use('glob_search', { pattern: '*', path: 'none' })).toBe('Error: there is no "none"')
  })
})

describe('grep_search', () => {
  it('lists file:line: text, within the included files', async () => {
    await put('src/a.ts', 'let x\nlet target = 1\n')
    await put('src/b.js', 'target\n')
    await put('c.md', 'no\r\ntarget here\r\n')
    expect(await use('grep_search', { pattern: 'target' })).toBe(
      '3 lines in 3 files\nc.md:2: target here\nsrc/a.ts:2: let target = 1\nsrc/b.js:1: target',
    )
    expect(await use('grep_search', { pattern: '^target here$' })).toContain('c.md:2: target here')
    expect(await use('grep_search', { pattern: 'target', include: '*.ts' })).toBe(
      '1 line in 1 file\nsrc/a.ts:2: let target = 1',
    )
    expect(await use('grep_search', { pattern: 'target', path: 'src', include: '*.{js,md}' })).toContain(
      'src/b.js:1: target',
    )
    expect(await use('grep_search', { pattern: 'target', path: 'c.md' })).toContain('c.md:2: target here')
    expect(await use('grep_search', { pattern: 'nowhere' })).toBe('no line matches nowhere')
  })

  it('respects .gitignore, with an include too', async () => {
    await put('.gitignore', '*.min.js\n')
    await put('a.min.js', 'target\n')
    await put('a.js', 'target\n')
    expect(await use('grep_search', { pattern: 'target', include: '*.js' })).toBe('1 line in 1 file\na.js:1: target')
  })

  it('turns an invalid pattern into an observation, also one that looks like an option', async () => {
    await put('a.txt', '--files\n')
    expect(await use('grep_search', { pattern: '(' })).toMatch(/^Error: .*regex parse error/s)
    expect(await use('grep_search', { pattern: '--files' })).toContain('a.txt:1: --files')
    expect(await use('grep_search', { pattern: '(?=x)' })).toMatch(/^Error: .*look-around/s)
  })

  it('is not slowed down by a pattern that would take a backtracking engine for ever', async () => {
    await put('a.txt', `${'a'.repeat(50_000)}\n`)
    const startedAt = performance.now()
    await use('grep_search', { pattern: '^(a+)+$b' })
    expect(performance.now() - startedAt).toBeLessThan(5_000)
  })

  it('cuts long lines at 500 characters, skips binary files, reads UTF-16', async () => {
    await put('long.txt', `target ${'é'.repeat(4000)}\n`)
    await put('x.bin', Buffer.from('target\0\0\n'))
    await put('wide.txt', Buffer.from('\uFEFFa target ž\n', 'utf16le'))
    const lines = (await use('grep_search', { pattern: 'target' })).split('\n')
    expect(lines[0]).toBe('2 lines in 2 files')
    expect(lines[1]).toMatch(/^long\.txt:1: target é{493}… \[line cut\]$/)
    expect(lines[2]).toBe('wide.txt:1: a target ž')
  })

  it('shows at most 100 lines, with the total', async () => {
    await put('many.txt', 'target\n'.repeat(1234))
    const lines = (await use('grep_search', { pattern: 'target' })).split('\n')
    expect(lines[0]).toBe('100 of 1234 lines in 1 file')
    expect(lines).toHaveLength(101)
  })

  it('stops early when there is no end of matches, and ends with the run', async () => {
    await put('endless.txt', 'target\n'.repeat(150_000))
    expect(await use('grep_search', { pattern: 'target' })).toMatch(/^100 of more than 100000 lines .*stopped early/)
    const controller = new AbortController()
    const search = use('grep_search', { pattern: 'target' }, workspace, controller.signal)
    controller.abort()
    expect(await search).toMatch(/^Error: stopped before it (ran|finished)/)
  })
})
