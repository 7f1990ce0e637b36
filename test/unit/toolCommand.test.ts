import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { askUserTool } from '../../src/tool/builtin/askUser.ts'
import { createOutputWindow } from '../../src/tool/builtin/outputWindow.ts'
import { runCommandTool } from '../../src/tool/builtin/runCommand.ts'
import type { ToolContext } from '../../src/tool/tool.ts'

let workspace: string
let stop: AbortController

beforeEach(async () => {
  workspace = await mkdtemp(join(tmpdir(), 'toycoder-run-'))
  stop = new AbortController()
})
afterEach(() => rm(workspace, { recursive: true, force: true }))

const context = (more: Partial<ToolContext> = {}): ToolContext => ({
  ...{ signal: stop.signal, callKey: 'c1.0', threadKey: null, requester: null, workspace },
  ...more,
})
const CASES = join(import.meta.dirname, '../../../shared/cases/shell')
const run = (command: string, more: { workdir?: string; timeout?: number } = {}) =>
  runCommandTool.invoke({ command, ...more }, context()) as Promise<string>
const preview = (command: string, more: { workdir?: string; timeout?: number } = {}) =>
  runCommandTool.approval!.preview({ command, ...more }, context())
async function until(file: string): Promise<void> {
  while (!existsSync(join(workspace, file))) await new Promise((resolve) => setTimeout(resolve, 10))
}
/** Whether a process still runs; one that is dead but not yet taken note of by its parent does not. */
function lives(pid: number): boolean {
  try {
    return !/\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

describe('run_command', () => {
  it('gives both outputs together and in order, and the exit code, which is no failure', async () => {
    expect(await run('echo one; echo two >&2; exit 3')).toBe('one\ntwo\n\n[exit code 3]')
    expect(await run('true')).toBe('(no output)\n\n[exit code 0]')
    expect(await run('kill -9 $$')).toMatch(/\[ended by SIGKILL\]/)
  })

  it('works in the workspace or a folder of it, and nowhere else', async () => {
    await mkdir(join(workspace, 'sub'))
    expect(await run('basename "$PWD"', { workdir: 'sub' })).toMatch(/^sub\n/)
    await expect(run('pwd', { workdir: '..' })).rejects.toThrow(/outside|workspace/)
    await expect(preview('pwd', { workdir: '/etc' })).rejects.toThrow(/outside|workspace/)
  })

  it('keeps the order of what it prints to either output', async () => {
    const both = 'for i in 1 2 3 4 5 6 7 8 9; do echo o$i; echo e$i >&2; done'
    const text = Array.from({ length: 9 }, (_, index) => `o${index + 1}\ne${index + 1}\n`).join('')
    expect(await run(both)).toBe(`${text}\n[exit code 0]`)
  })

  it('is refused with a sentence, and asked of nobody, where it could not run', async () => {
    await writeFile(join(workspace, 'file'), '')
    for (const [command, workdir, why] of [
      ['ls', 'none', 'there is no folder "none"'],
      ['ls', 'file', '"file" is not a folder'],
      [' \n', '.', 'the command is empty'],
      ['ls \0', '.', 'holds a character that no shell takes'],
      ['ls \ud800', '.', 'holds a character that no shell takes'],
      [`: ${'x'.repeat(32_000)}`, '.', 'longer than 32000 bytes'],
    ] as const) {
      await expect(preview(command, { workdir })).rejects.toThrow(why)
      await expect(run(command, { workdir })).rejects.toThrow(why)
    }
  })

  it("has no input and nothing of the bot's own environment (SH-06)", async () => {
    process.env.TOYCODER_TEST_SECRET = 'hunter2'
    try {
      const names = (await run('cat; env')).match(/^\w+(?==)/gm)!
      const allowed = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'TERM', 'PWD', 'OLDPWD', 'SHLVL', '_']
      expect(names.filter((name) => !allowed.includes(name))).toEqual([])
      expect(await run('echo "$TERM"')).toMatch(/^dumb\n/)
    } finally {
      delete process.env.TOYCODER_TEST_SECRET
    }
  })

  it('is ended after its time with all it has started, and what it printed until then is told (SH-02)', async () => {
    const command = 'echo begun; trap "" TERM; (trap "" TERM; sleep 60) & echo $! > pid; wait; sleep 60'
    await expect(run(command, { timeout: 1 })).rejects.toThrow(/ended after 1 s[\s\S]*begun/)
    expect(lives(Number(await readFile(join(workspace, 'pid'), 'utf8')))).toBe(false)
  })

  it('gives what it has started time to end by itself', async () => {
    const child = `sh -c 'trap "sleep 0.3; echo tidy > tidied; exit" TERM; touch ready; while :; do sleep 0.1; done'`
    const running = run(`${child} & wait`)
    await until('ready')
    stop.abort()
    await expect(running).rejects.toThrow('stopped')
    expect(existsSync(join(workspace, 'tidied'))).toBe(true)
  })

  it('never begins in a run that is stopped already', async () => {
    const beforeEffect = async () => stop.abort()
    const given = runCommandTool.invoke({ command: 'touch f' }, context({ beforeEffect }))
    await expect(given).rejects.toThrow('stopped before it began')
    expect(existsSync(join(workspace, 'f'))).toBe(false)
  })

  it('is ended when the run is stopped, also where it does not want to, in the time that tools have (SD-01)', async () => {
    const running = run('echo begun; trap "" TERM; touch ready; sleep 60; sleep 60')
    await until('ready')
    const from = performance.now()
    stop.abort()
    await expect(running).rejects.toThrow(/stopped before it finished[\s\S]*begun/)
    expect(performance.now() - from).toBeLessThan(1_950)
  })

  it('is ended when the run is stopped', async () => {
    const running = run('echo begun; touch ready; sleep 60')
    await until('ready')
    stop.abort()
    await expect(running).rejects.toThrow(/stopped before it finished[\s\S]*begun/)
  })

  it('does not wait for what it leaves behind, and ends it (SH-01)', async () => {
    expect(await run('sleep 60 & echo $! > pid; echo done')).toBe('done\n\n[exit code 0]')
    expect(lives(Number(await readFile(join(workspace, 'pid'), 'utf8')))).toBe(false)
  })

  it('cuts long output in the middle, says how much is left out, and needs little memory for endless output', async () => {
    const text = await run('yes abcdefghi | head -c 50000000; echo; echo the end')
    expect(text.length).toBeLessThan(10_300)
    expect(text).toMatch(/^abcdefghi\n[\s\S]*\[… \d{8} characters left out …\][\s\S]*the end\n\n\[exit code 0\]$/)
  })

  it('does not wait for what got away and holds its output open', async () => {
    const away = `setsid sh -c 'echo $$ > pid; sleep 60' & while [ ! -s pid ]; do sleep 0.02; done; echo done`
    expect(await run(away)).toBe('done\n\n[exit code 0]')
    process.kill(-Number(await readFile(join(workspace, 'pid'), 'utf8')), 'SIGKILL')
  })

  it('never holds the program up, however much it prints (SH-09)', async () => {
    // In time of the processor: on a busy machine the program may have to wait for its turn.
    let longest = 0
    let last = process.cpuUsage()
    const probe = setInterval(() => {
      const { user, system } = process.cpuUsage(last)
      longest = Math.max(longest, (user + system) / 1_000)
      last = process.cpuUsage()
    }, 10)
    await expect(run('yes', { timeout: 1 })).rejects.toThrow(/^the command was ended after 1 s[\s\S]*left out/)
    clearInterval(probe)
    expect(longest).toBeLessThan(200)
  })

  it('keeps characters whole that come in parts (SH-05)', async () => {
    const halves = String.raw`printf '\305'; sleep 0.05; printf '\276 '; printf '\360\237'; sleep 0.05; printf '\232\200\n'`
    expect(await run(halves)).toBe('\u017e \u{1f680}\n\n[exit code 0]')
    const many = await run(`awk 'BEGIN { for (i = 0; i < 70000; i++) printf "%s", "\u6f22" }'`)
    expect(many).toMatch(/^\u6f22{5000}\n\[\u2026 60000 characters left out \u2026\]\n\u6f22{5000}\n/)
    expect(await run(`awk 'BEGIN { printf "x"; for (i = 0; i < 9000; i++) printf "\u{1f680}" }'`)).not.toContain(
      '\ufffd',
    )
  })

  it('says that output is binary instead of showing it', async () => {
    expect(await run('head -c 3000 /bin/ls')).toBe('(binary output, not shown)\n\n[exit code 0]')
    expect(await run(String.raw`printf 'a.ts\0b.ts\0'`)).toBe('a.ts\nb.ts\n\n[exit code 0]')
    expect(await run(String.raw`printf 'gr\374n and more words\n'`)).toMatch(/^gr\ufffdn and/)
  })

  it.skipIf(!existsSync(CASES))('holds in the shell cases as they are written down', async () => {
    const script = (name: string) => run(`. ${join(CASES, name)}`)
    expect(await script('background.sh')).toMatch(/^done\n\n/)
    expect(await script('utf8_halves.sh')).toMatch(/^\u017e \u6f22\u{1f680}\n\n/u)
  })

  it('shows colours and other control sequences of terminals as nothing', async () => {
    expect(await run(String.raw`printf '\033[31mred\033[0m \033]0;title\007\033(Bplain\r\n1%%\r2%%'`)).toBe(
      'red plain\n1%\n2%\n\n[exit code 0]',
    )
  })

  it('looks at the last moment whether people gave it up', async () => {
    const beforeEffect = () => Promise.reject(new Error('given up'))
    const given = runCommandTool.invoke({ command: 'touch f' }, context({ beforeEffect }))
    await expect(given).rejects.toThrow('given up')
    expect(existsSync(join(workspace, 'f'))).toBe(false)
  })

  it('is shown whole, and what hides in it is made visible (AP-03)', async () => {
    const command = `npm test${' '.repeat(300)}; rm -rf ~\u200b\t# \u202eok`
    const { body } = await preview(command, { workdir: '.', timeout: 60 })
    expect(body).toBe('# in ., up to 60 s\nnpm test ⟨300 blanks⟩ ; rm -rf ~⟨U+200B⟩→# ⟨U+202E⟩ok')
    expect((await preview('a\nb')).body).toBe('a\nb')
    expect((await preview('a', { workdir: '.', timeout: 30 })).body).toBe('a')
    // What says where it runs is never the command's own word.
    expect((await preview('# in scratch, up to 5 s\nrm -rf *')).body).toMatch(/^# in \., up to 30 s\n# in scratch/)
    const away = `ls\n${' '.repeat(200)}id${'\n'.repeat(50)}id`
    expect((await preview(away)).body).toBe('ls\n ⟨200 blanks⟩ id\n⟨49 empty lines⟩\nid')
    const signs = [
      '\u00a0',
      '\u3000',
      '\u2800',
      '\u3164',
      '\u00ad',
      '\u034f',
      '\ufe01',
      '\u{e0041}',
      '\r',
      '\u001b',
      '\u2028',
    ]
    for (const sign of signs) expect((await preview(`a${sign}b`)).body).toMatch(/^a⟨U\+[0-9A-F]{4,5}⟩b$/)
  })

  it('"always" is for exactly this line in this folder, never for what begins like it (SH-07)', () => {
    const scope = (command: string, workdir?: string) =>
      runCommandTool.approval!.always({ command, ...(workdir && { workdir }) }).key
    expect(scope('ls')).toBe(scope('ls', '.'))
    expect(new Set([scope('ls'), scope('ls && rm -rf x'), scope('ls '), scope('ls', 'sub')]).size).toBe(4)
  })
})

describe('a window on output', () => {
  it('is the same however the pieces are cut', () => {
    const terminal = fc.string({
      unit: fc.constantFrom('\u001b', '[', ']', '3', 'm', ';', '\u0007', '\\', 'P', '(', 'B', '\r', '\n'),
    })
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string({ maxLength: 30 }), terminal), { maxLength: 40 }), (pieces) => {
        const [many, one] = [createOutputWindow(100), createOutputWindow(100)]
        for (const piece of pieces) many.add(piece)
        one.add(pieces.join(''))
        expect(many.text()).toBe(one.text())
      }),
      { examples: [[['a\r\u001b[3m', '\n']], [['a\r\u0007', '\nb']]], numRuns: 1_000 },
    )
  })
})

describe('ask_user', () => {
  it('is a question to people and never runs', async () => {
    expect(askUserTool.question!({ question: 'Which?', options: ['a', 'b'] })).toEqual({
      text: 'Which?',
      options: ['a', 'b'],
    })
    await expect(askUserTool.invoke({ question: 'Which?', options: [] }, context())).rejects.toThrow()
  })
})
