import { createHash } from 'node:crypto'
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { editFileTool } from '../../src/tool/builtin/editFile.ts'
import { writeFileTool } from '../../src/tool/builtin/writeFile.ts'
import type { ToolContext } from '../../src/tool/tool.ts'

let workspace: string
let context: ToolContext

beforeEach(async () => {
  workspace = await mkdtemp(join(tmpdir(), 'toycoder-write-'))
  context = { signal: new AbortController().signal, callKey: 'c1.0', threadKey: null, requester: null, workspace }
})
afterEach(() => rm(workspace, { recursive: true, force: true }))

const at = (path: string) => join(workspace, path)
const bytes = (path: string) => readFile(at(path))
const write = (path: string, content: string, more: Partial<ToolContext> = {}) =>
  writeFileTool.invoke({ path, content }, { ...context, ...more })
const edit = (path: string, old_string: string, new_string: string, more: Partial<ToolContext> = {}) =>
  editFileTool.invoke({ path, old_string, new_string }, { ...context, ...more })
const preview = (path: string, old_string: string, new_string: string) =>
  editFileTool.approval!.preview({ path, old_string, new_string }, context)

describe('write_file', () => {
  it('makes a file with its folders, exactly as it is to be', async () => {
    expect(await write('a/b/c.txt', 'one\r\ntwo $& $1 \ufeff')).toMatch(/^a\/b\/c\.txt was made\./)
    expect((await bytes('a/b/c.txt')).toString()).toBe('one\r\ntwo $& $1 \ufeff')
  })

  it('replaces a file whole and keeps its mode bits', async () => {
    await writeFile(at('run.sh'), 'old')
    await chmod(at('run.sh'), 0o755)
    await write('run.sh', 'new')
    expect((await stat(at('run.sh'))).mode & 0o777).toBe(0o755)
    expect((await bytes('run.sh')).toString()).toBe('new')
    expect(await readdir(workspace)).toEqual(['run.sh'])
  })

  it('writes what a link inside of the workspace leads to, and refuses links out of it', async () => {
    await writeFile(at('real.txt'), 'old')
    await symlink('real.txt', at('link.txt'))
    await symlink('/etc', at('out'))
    await write('link.txt', 'new')
    expect((await lstat(at('link.txt'))).isSymbolicLink()).toBe(true)
    expect((await bytes('real.txt')).toString()).toBe('new')
    await expect(write('out/passwd', 'x')).rejects.toThrow(/outside|workspace/)
    await expect(write('../x', 'x')).rejects.toThrow(/outside|workspace/)
  })

  it('refuses what would run or break things: .git, folders, secrets, half characters', async () => {
    await mkdir(at('.git/hooks'), { recursive: true })
    for (const path of ['.git/hooks/pre-commit', '.GIT/config', 'sub/.git/config']) {
      await expect(write(path, 'x')).rejects.toThrow(/\.git/)
    }
    await mkdir(at('folder'))
    await expect(write('folder', 'x')).rejects.toThrow(/directory/)
    await expect(write('.', 'x')).rejects.toThrow(/workspace itself/)
    await expect(write('.env', 'x')).rejects.toThrow(/secret/)
    await expect(write('x', 'a\ud800')).rejects.toThrow(/half of a character/)
  })

  it('refuses when the file changed since the card was shown, also at the last moment', async () => {
    await writeFile(at('f'), 'one')
    const { basis } = await writeFileTool.approval!.preview({ path: 'f', content: 'mine' }, context)
    await writeFile(at('f'), 'two')
    await expect(write('f', 'mine', { basis: basis! })).rejects.toThrow(/changed since/)
    const now = await writeFileTool.approval!.preview({ path: 'f', content: 'mine' }, context)
    const beforeEffect = () => writeFile(at('f'), 'three')
    await expect(write('f', 'mine', { basis: now.basis!, beforeEffect })).rejects.toThrow(/changed since/)
    expect((await bytes('f')).toString()).toBe('three')
    expect(await readdir(workspace)).toEqual(['f'])
  })

  it('has no effect when people gave the call up meanwhile, and leaves nothing behind', async () => {
    const beforeEffect = () => Promise.reject(new Error('given up'))
    await expect(write('f', 'mine', { beforeEffect })).rejects.toThrow('given up')
    expect(await readdir(workspace)).toEqual([])
  })

  it('shows what it would do: the diff, how many lines, and line endings and marks in words', async () => {
    const of = (path: string, content: string) => writeFileTool.approval!.preview({ path, content }, context)
    expect(await of('new.txt', 'a\nb\n')).toMatchObject({
      summary: 'new.txt (new, +2)',
      format: 'diff',
      basis: 'absent',
    })
    await writeFile(at('f'), 'a\nb\nc\n')
    const changed = await of('f', 'a\nB\nc\n')
    expect(changed.summary).toBe('f (+1 −1)')
    expect(changed.body).toContain('-b\n+B')
    expect((await of('f', 'a\r\nb\r\nc\r\n')).body).toContain('line endings: LF become CRLF')
    expect((await of('f', '\ufeffa\nb\nc\n')).body).toContain('byte order mark')
    expect((await of('f', 'a\nb\nc')).body).toContain('No newline at end of file')
  })

  it('hides nothing: direction changes, zero-width and control characters are shown by their numbers', async () => {
    const content = 'if (admin\u202e \u2066// ok\u2069) x\u200b = \u001b[31m1\u00a0'
    const { body } = await writeFileTool.approval!.preview({ path: 'x\u202ey', content }, context)
    for (const sign of ['202E', '2066', '2069', '200B', '001B', '00A0']) expect(body).toContain(`⟨U+${sign}⟩`)
    expect(body).not.toMatch(/[\u202e\u2066\u2069\u200b\u001b\u00a0]/)
  })

  it('tells after an interruption whether it took effect', async () => {
    await writeFile(at('f'), 'one')
    const check = (content: string, basis: string) =>
      writeFileTool.approval!.check!({ path: 'f', content }, context, basis)
    const basis = createHash('sha256').update('one').digest('base64url')
    expect(await check('two', basis)).toMatch(/did not take effect/)
    await writeFile(at('f'), 'two')
    expect(await check('two', basis)).toMatch(/took effect/)
    await writeFile(at('f'), 'three')
    expect(await check('two', basis)).toMatch(/something else/)
  })

  it('reaches .git by no link either', async () => {
    await mkdir(at('.git/hooks'), { recursive: true })
    await symlink('.git', at('g'))
    await symlink('.git/hooks', at('h'))
    for (const path of ['g/config', 'h/pre-commit']) await expect(write(path, 'x')).rejects.toThrow(/\.git/)
    expect(await readdir(at('.git/hooks'))).toEqual([])
  })

  it('says on the card where a link leads, and keeps the name of a file in one line', async () => {
    const of = (path: string) => writeFileTool.approval!.preview({ path, content: 'x' }, context)
    await writeFile(at('real.txt'), 'old')
    await symlink('real.txt', at('link.txt'))
    expect((await of('link.txt')).summary).toBe('link.txt → real.txt (+1 −1)')
    expect(await of('a\nApproved: b')).toMatchObject({
      summary: 'a⟨U+000A⟩Approved: b (new, +1)',
      fileName: 'a⟨U+000A⟩Approved: b.diff',
    })
    expect(await of('src/a.ts')).toMatchObject({ summary: 'src/a.ts (new, +1)', fileName: 'a.ts.diff' })
  })

  it('shows every change of line endings and marks in the lines it concerns', async () => {
    const of = (content: string) => writeFileTool.approval!.preview({ path: 'f', content }, context)
    await writeFile(at('f'), 'a\r\nb\nc\r\n')
    const mixed = await of('a\nb\r\nc\r\n')
    expect(mixed.summary).toBe('f (+2 −2)')
    expect(mixed.body).toContain('-a⟨U+000D⟩\n-b\n+a\n+b⟨U+000D⟩\n c⟨U+000D⟩')
    await writeFile(at('f'), 'a\nb\n')
    expect((await of('a\r\nb\r\n')).summary).toBe('f (+2 −2)')
    expect((await of('\ufeffa\nb\n')).body).toContain('-a\n+⟨U+FEFF⟩a')
    await writeFile(at('f'), '\ufeffa\r\nb\r\n')
    expect((await of('\ufeffa\r\nB\r\n')).body).toBe('@@ -1,2 +1,2 @@\n a\n-b\n+B')
  })

  it('does not overwrite what no diff can show: binary files, other encodings, huge files', async () => {
    await writeFile(at('binary'), Buffer.from([1, 0, 2]))
    await writeFile(at('latin1'), Buffer.from([0x63, 0xe9]))
    await writeFile(at('huge'), Buffer.alloc(2_000_001, 'a'))
    for (const path of ['binary', 'latin1']) await expect(write(path, 'x')).rejects.toThrow(/not UTF-8/)
    await expect(write('huge', 'x')).rejects.toThrow(/too large.*2000001 bytes/)
    await expect(write('new', 'a\0')).rejects.toThrow(/NUL/)
  })

  it('takes names as long as they can be, and names no place outside of the workspace when it fails', async () => {
    await write('漢'.repeat(85), 'x')
    await expect(write('漢'.repeat(86), 'x')).rejects.toThrow(/ENAMETOOLONG/)
    await expect(write(`new/${'漢'.repeat(86)}`, 'x')).rejects.not.toThrow(workspace)
    await expect(write('folder/', 'x')).rejects.toThrow(/directory/)
  })

  it('has no effect once the run is stopped, and takes back the folders it made', async () => {
    const stop = new AbortController()
    const beforeEffect = async () => stop.abort()
    await expect(write('a/b/f', 'x', { signal: stop.signal, beforeEffect })).rejects.toThrow(/abort/)
    expect(await readdir(workspace)).toEqual([])
  })

  it('puts every way to a file under the rule for where it leads; "always" reaches both tools', async () => {
    const { subjects, always } = writeFileTool.approval!
    const args = { path: './docs/../src/a.ts', content: '' }
    await mkdir(at('src'))
    await writeFile(at('src/a.ts'), 'a')
    await symlink('src', at('easy'))
    for (const path of ['src/a.ts', './docs/../src/a.ts', at('src/a.ts'), 'easy/a.ts']) {
      expect(await subjects({ ...args, path }, context)).toContain('src/a.ts')
      expect(await editFileTool.approval!.subjects({ path, old_string: 'a', new_string: '' }, context)).toContain(
        'src/a.ts',
      )
    }
    expect(always(args)).toEqual({ key: 'fileEdits', kind: 'fileEdits', detail: '' })
    expect(editFileTool.approval!.always({ ...args, old_string: 'a', new_string: '' })).toEqual(always(args))
  })

  it('manages a large change in good time', async () => {
    const lines = (sign: string) => Array.from({ length: 30_000 }, (_, n) => `${sign}${n}`).join('\n')
    await writeFile(at('f'), lines('a'))
    const { summary } = await writeFileTool.approval!.preview({ path: 'f', content: lines('b') }, context)
    expect(summary).toBe('f (+30000 −30000)')
  })
})

describe('edit_file', () => {
  it('replaces the one place, a dollar sign in the new text included', async () => {
    await writeFile(at('f'), 'let price = old;\n')
    expect(await edit('f', 'old', "'$& $1 $$'")).toContain("+let price = '$& $1 $$';")
    expect((await bytes('f')).toString()).toBe("let price = '$& $1 $$';\n")
  })

  it('says how often and where a text stands that is not there once', async () => {
    await writeFile(at('f'), 'a\nb\na\naa\n')
    await expect(edit('f', 'a', 'x')).rejects.toThrow(/4 times in "f" \(lines 1, 3, 4, 4\)/)
    await expect(edit('f', 'z', 'x')).rejects.toThrow(/not in "f"/)
    await expect(edit('nowhere', 'z', 'x')).rejects.toThrow(/no "nowhere"; write_file/)
    expect(editFileTool.parameters).toSatisfy((schema: { safeParse(value: unknown): { success: boolean } }) => {
      return !schema.safeParse({ path: 'f', old_string: '', new_string: 'x' }).success
    })
  })

  it('counts places that overlap, because each would be another edit', async () => {
    await writeFile(at('f'), 'aXaXa')
    await expect(edit('f', 'aXa', 'x')).rejects.toThrow(/2 times/)
  })

  it('keeps the line endings, the mark at the start and a missing last line break', async () => {
    await writeFile(at('f'), '\ufeffone\r\ntwo\r\nthree')
    await edit('f', 'one\ntwo', 'eins\nzwei')
    expect((await bytes('f')).toString()).toBe('\ufeffeins\r\nzwei\r\nthree')
  })

  it('changes no byte but those of the place, whatever is in the file; new line breaks are those of the file', async () => {
    const piece = fc.constantFrom('a', '\n', '\r\n', '\r', 'ß', '\u{1f600}', '$&', '\t', ' ', '\ufeff')
    const text = fc.array(piece, { maxLength: 12 }).map((all) => all.join(''))
    const plain = (of: Buffer | string) => of.toString().replaceAll('\r\n', '\n')
    await fc.assert(
      fc.asyncProperty(text, text, text, async (before, fresh, after) => {
        const [head, tail] = [Buffer.from(before), Buffer.from(after)]
        await writeFile(at('f'), Buffer.concat([head, Buffer.from('MARK'), tail]))
        await edit('f', 'MARK', fresh)
        const now = await bytes('f')
        expect(now.subarray(0, head.length)).toEqual(head)
        expect(now.subarray(now.length - tail.length)).toEqual(tail)
        const middle = now.subarray(head.length, now.length - tail.length)
        expect(plain(middle)).toBe(plain(fresh))
        // Without a bare \n in it the new text is written to the byte.
        if (!/(^|[^\r])\n/.test(fresh)) expect(middle).toEqual(Buffer.from(fresh))
      }),
      { numRuns: 60 },
    )
  })

  it('finds a text of several lines whatever their breaks are, and every line that stays keeps its own', async () => {
    const line = fc.tuple(fc.constantFrom('a', 'ß', '', ' b'), fc.constantFrom('\n', '\r\n'))
    const lines = fc.array(line, { maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(lines, lines, lines, lines, fc.boolean(), async (above, upper, lower, below, marked) => {
        const raw = (of: [string, string][]) => of.map(([text, ending]) => text + ending).join('')
        const around = (middle: string) => (marked ? '\ufeff' : '') + raw(above) + middle + raw(below)
        await writeFile(at('f'), around(`<${raw(upper)}old${raw([['', '\r\n'], ...lower])}>`))
        const asked = (word: string) => `<${raw(upper)}${word}${raw([['', '\n'], ...lower])}>`.replaceAll('\r\n', '\n')
        await edit('f', asked('old'), asked('new'))
        expect((await bytes('f')).toString()).toBe(around(`<${raw(upper)}new${raw([['', '\r\n'], ...lower])}>`))
      }),
      { numRuns: 60 },
    )
  })

  it('refuses what would harm a character, change nothing, or make the file too large', async () => {
    await writeFile(at('f'), 'a\u{1f600}b')
    await expect(edit('f', '\ude00', 'x')).rejects.toThrow(/half of a character/)
    await expect(edit('f', 'a', '\ud83d')).rejects.toThrow(/half of a character/)
    await expect(edit('f', 'a', 'a')).rejects.toThrow(/nothing would change/)
    await expect(edit('f', 'a', 'x'.repeat(2_000_001))).rejects.toThrow(/too large/)
    expect((await bytes('f')).toString()).toBe('a\u{1f600}b')
  })

  it('takes returns of the texts themselves at their word, and keeps endings where only the new text has none', async () => {
    await writeFile(at('f'), 'a\r\nb\nc\rd')
    await edit('f', 'c\rd', 'c\r\nd')
    await edit('f', 'a\r\nb', 'A\nB')
    expect((await bytes('f')).toString()).toBe('A\r\nB\nc\r\nd')
    await expect(edit('f', 'A\r\nB', 'A\nB')).rejects.toThrow(/line endings are kept/)
  })

  it('leaves files alone that are no UTF-8 text', async () => {
    const latin = Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a])
    await writeFile(at('latin1'), latin)
    await writeFile(at('binary'), Buffer.from([1, 0, 2]))
    await expect(edit('latin1', 'caf', 'x')).rejects.toThrow(/not UTF-8/)
    await expect(edit('binary', '\u0001', 'x')).rejects.toThrow(/not UTF-8/)
    expect(await bytes('latin1')).toEqual(latin)
  })

  it('refuses when the file changed since the card was shown, even where the text is still there', async () => {
    await writeFile(at('f'), 'one two')
    const { basis } = await preview('f', 'one', 'eins')
    await writeFile(at('f'), 'one two three')
    await expect(edit('f', 'one', 'eins', { basis: basis! })).rejects.toThrow(/changed since/)
    await writeFile(at('f'), 'gone')
    await expect(edit('f', 'one', 'eins', { basis: basis! })).rejects.toThrow(/changed since/)
  })

  it('has no preview where it can not be made, so that nobody is asked', async () => {
    await writeFile(at('f'), 'one')
    await expect(preview('f', 'two', 'x')).rejects.toThrow(/not in "f"/)
  })

  it('tells after an interruption whether it took effect', async () => {
    await writeFile(at('f'), 'one two')
    const { basis } = await preview('f', 'one', 'eins')
    const check = () =>
      editFileTool.approval!.check!({ path: 'f', old_string: 'one', new_string: 'eins' }, context, basis)
    expect(await check()).toMatch(/did not take effect/)
    await edit('f', 'one', 'eins')
    expect(await check()).toMatch(/: it took effect/)
    await writeFile(at('f'), 'eins two three')
    expect(await check()).toMatch(/something else changed it, too: it probably took effect/)
    await writeFile(at('f'), 'three')
    expect(await check()).toMatch(/something else changed it\.$/)
  })

  it('tells so also where the new text is nothing, holds the old one, or stood there before', async () => {
    for (const [content, old_string, new_string] of [
      ['a\r\nb\r\n', 'a\n', ''],
      ['a b', 'a', 'aa'],
      ['x y', 'y', 'x'],
      ['one\r\ntwo\n', 'one\ntwo', '1\n2'],
    ] as const) {
      await writeFile(at('f'), content)
      const { basis } = await preview('f', old_string, new_string)
      await edit('f', old_string, new_string)
      const args = { path: 'f', old_string, new_string }
      expect(await editFileTool.approval!.check!(args, context, basis)).toMatch(/: it took effect/)
    }
  })
})

describe('cases from the field', () => {
  it('FI-11: an edit with plain line breaks applies to a CRLF file, and new lines get CRLF, too', async () => {
    await writeFile(at('f'), 'one\r\ntwo\r\nthree\r\n')
    await edit('f', 'one\ntwo', 'one\nmore\ntwo')
    await edit('f', 'three', 'three\nfour')
    expect((await bytes('f')).toString()).toBe('one\r\nmore\r\ntwo\r\nthree\r\nfour\r\n')
  })

  it('FI-13: the first line behind a byte order mark is found; mark and mode bits stay', async () => {
    await writeFile(at('f'), '\ufeffa = 1\r\n')
    await chmod(at('f'), 0o755)
    await edit('f', 'a = 1', 'a = 2')
    expect(await bytes('f')).toEqual(Buffer.from('\ufeffa = 2\r\n'))
    expect((await stat(at('f'))).mode & 0o777).toBe(0o755)
  })

  it('SC-01: paths out of the workspace are neither shown, written nor edited', async () => {
    const out = ['../ws-other/x', '/etc/passwd', 'a/../../x', '..', 'a\0b', '~/x', '/proc/self/environ', '..\\..\\x']
    for (const path of [...out, `${workspace}-other/x`]) {
      await expect(writeFileTool.approval!.preview({ path, content: 'x' }, context)).rejects.toThrow()
      await expect(write(path, 'x')).rejects.toThrow(/outside|NUL/)
      await expect(edit(path, 'a', 'b')).rejects.toThrow(/outside|NUL/)
    }
    for (const path of ['./a/../b.txt', '..foo/bar', 'sub/dir/...txt', at('a.txt'), 'файл.txt']) await write(path, 'x')
    expect((await readdir(workspace)).sort()).toEqual(['..foo', 'a.txt', 'b.txt', 'sub', 'файл.txt'])
  })

  it('SC-02: links out of the workspace are refused, links within it and to it work', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'toycoder-outside-'))
    await symlink(outside, at('esc'))
    await symlink(workspace, join(outside, 'root'))
    await expect(write('esc/new.txt', 'x')).rejects.toThrow(/outside/)
    await write('in.txt', 'x', { workspace: join(outside, 'root') })
    expect(await readdir(outside)).toEqual(['root'])
    expect((await bytes('in.txt')).toString()).toBe('x')
    await rm(outside, { recursive: true })
  })

  it('SC-02: a folder that becomes a link while people decide is noticed at the last moment', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'toycoder-outside-'))
    await mkdir(at('sub'))
    const beforeEffect = async () => {
      await rename(at('sub'), at('moved'))
      await symlink(outside, at('sub'))
    }
    await expect(write('sub/x', 'x', { beforeEffect })).rejects.toThrow(/outside/)
    expect(await readdir(outside)).toEqual([])
    await rm(outside, { recursive: true })
  })
})
