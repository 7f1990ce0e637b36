import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { ensureWorkspace, SAMPLE_PROJECT } from '../../src/sampleWorkspace.ts'
import { SetupError } from '../../src/shared/errors.ts'

const run = promisify(execFile)
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toycoder-workspace-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
})

describe('the workspace', () => {
  it('is made with the whole sample project where there is none, and nothing else is left beside it', async () => {
    const path = join(folder, 'deep', 'workspace')
    expect(await ensureWorkspace(path)).toBe('made')
    for (const [name, content] of Object.entries(SAMPLE_PROJECT))
      expect(readFileSync(join(path, name), 'utf8')).toBe(content)
    expect(readdirSync(join(folder, 'deep'))).toEqual(['workspace'])
    expect(await ensureWorkspace(path)).toBe('found')
  })

  it('is left as it is where there is one, also an empty one', async () => {
    expect(await ensureWorkspace(folder)).toBe('found')
    expect(readdirSync(folder)).toEqual([])
    writeFileSync(join(folder, 'README.md'), 'mine')
    expect(await ensureWorkspace(folder)).toBe('found')
    expect(readFileSync(join(folder, 'README.md'), 'utf8')).toBe('mine')
  })

  it('may be a link to a folder', async () => {
    mkdirSync(join(folder, 'project'))
    symlinkSync('project', join(folder, 'workspace'))
    expect(await ensureWorkspace(join(folder, 'workspace'))).toBe('found')
  })

  it('that is a file or a broken link is a problem with a mend, and stays as it is', async () => {
    writeFileSync(join(folder, 'file'), 'x')
    symlinkSync('nowhere', join(folder, 'link'))
    for (const name of ['file', 'link']) {
      const failure = await ensureWorkspace(join(folder, name)).catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(SetupError)
      expect((failure as SetupError).problems[0]!.mend).toContain('TOYCODER_WORKSPACE')
    }
    expect(readdirSync(folder).toSorted()).toEqual(['file', 'link'])
  })

  it('that can’t be made is a problem, not half a folder', async () => {
    writeFileSync(join(folder, 'file'), 'x')
    await expect(ensureWorkspace(join(folder, 'file', 'workspace'))).rejects.toBeInstanceOf(SetupError)
  })

  it('is made once by several starts at the same time', async () => {
    const path = join(folder, 'workspace')
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => ensureWorkspace(path)))
    expect(outcomes.filter((outcome) => outcome === 'made')).toHaveLength(1)
    expect(readdirSync(folder)).toEqual(['workspace'])
  })
})

describe('the sample project', () => {
  it('runs, passes its own tests, and has the bug that its list of things to do tells of', async () => {
    const path = join(folder, 'workspace')
    await ensureWorkspace(path)
    const here = { cwd: path, env: { PATH: process.env.PATH } }
    const { stdout: fair } = await run(process.execPath, ['src/cli.js', '40.00', '4', '--tip', '10'], here)
    expect(fair.split('\n')[0]).toBe('person 1 pays 11.00')
    const { stdout: unfair } = await run(process.execPath, ['src/cli.js', '10.00', '3'], here)
    expect(unfair).toBe('person 1 pays 3.33\nperson 2 pays 3.33\nperson 3 pays 3.33\n')
    const { stdout: tests } = await run(process.execPath, ['--test'], here)
    expect(tests).toMatch(/fail 0/)
    expect(tests).toMatch(/pass 4/)
  })
})
