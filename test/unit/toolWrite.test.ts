import { createHash } from 'node:crypto'
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
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

  it('changes no byte but those of the place, whatever is in the file', async () => {
    const piece = fc.constantFrom('a', '\n', '\r\n', '\r', 'ß', '\u{1f600}', '$&', '\t', ' ', '\ufeff')
    const text = fc.array(piece, { maxLength: 12 }).map((all) => all.join(''))
    await fc.assert(
      fc.asyncProperty(text, text, text, async (before, fresh, after) => {
        const [head, tail] = [Buffer.from(before), Buffer.from(after)]
        await writeFile(at('f'), Buffer.concat([head, Buffer.from('MARK'), tail]))
        await edit('f', 'MARK', fresh)
        expect(await bytes('f')).toEqual(Buffer.concat([head, Buffer.from(fresh), tail]))
      }),
      { numRuns: 60 },
    )
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
    expect(await check()).toMatch(/took effect/)
  })
})
