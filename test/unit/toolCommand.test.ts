import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { askUserTool } from '../../src/tool/builtin/askUser.ts'
import { simpleCommands } from '../../src/tool/builtin/commandParts.ts'
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
const run = (command: string, more: { workdir?: string; timeout?: number } = {}) =>
  runCommandTool.invoke({ command, ...more }, context()) as Promise<string>
const preview = (command: string, more: { workdir?: string; timeout?: number } = {}) =>
  runCommandTool.approval!.preview({ command, ...more }, context())
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

  it("has no input and nothing of the bot's own environment", async () => {
    process.env.TOYCODER_TEST_SECRET = 'hunter2'
    try {
      expect(await run('cat; env')).not.toContain('hunter2')
      expect(await run('echo "$TERM"')).toMatch(/^dumb\n/)
    } finally {
      delete process.env.TOYCODER_TEST_SECRET
    }
  })

  it('is ended after its time with all it has started, and what it printed until then is told', async () => {
    const command = 'echo begun; trap "" TERM; (trap "" TERM; sleep 60) & echo $! > pid; wait; sleep 60'
    await expect(run(command, { timeout: 1 })).rejects.toThrow(/ended after 1 s[\s\S]*begun/)
    expect(lives(Number(await readFile(join(workspace, 'pid'), 'utf8')))).toBe(false)
  })

  it('is ended when the run is stopped', async () => {
    const running = run('echo begun; touch ready; sleep 60')
    while (!existsSync(join(workspace, 'ready'))) await new Promise((resolve) => setTimeout(resolve, 10))
    stop.abort()
    await expect(running).rejects.toThrow(/stopped before it finished[\s\S]*begun/)
  })

  it('does not wait for what it leaves behind, and ends it', async () => {
    expect(await run('sleep 60 & echo $! > pid; echo done')).toBe('done\n\n[exit code 0]')
    expect(lives(Number(await readFile(join(workspace, 'pid'), 'utf8')))).toBe(false)
  })

  it('cuts long output in the middle, says how much is left out, and needs little memory for endless output', async () => {
    const text = await run('yes abcdefghi | head -c 50000000; echo; echo the end')
    expect(text.length).toBeLessThan(10_300)
    expect(text).toMatch(/^abcdefghi\n[\s\S]*\[… \d{8} characters left out …\][\s\S]*the end\n\n\[exit code 0\]$/)
  })

  it('shows colours and other control sequences of terminals as nothing', async () => {
    expect(await run(String.raw`printf '\033[31mred\033[0m \033]0;title\007plain\r\n'`)).toBe(
      'red plain\n\n[exit code 0]',
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
    expect(body).toBe('# in ., for at most 60 s\nnpm test ⟨300 blanks⟩ ; rm -rf ~⟨U+200B⟩→# ⟨U+202E⟩ok')
    expect((await preview('a\nb')).body).toBe('a\nb')
  })

  it('"always" is for exactly this line in this folder, never for what begins like it', () => {
    const scope = (command: string, workdir?: string) =>
      runCommandTool.approval!.always({ command, ...(workdir && { workdir }) }).key
    expect(scope('ls')).toBe(scope('ls', '.'))
    expect(new Set([scope('ls'), scope('ls && rm -rf x'), scope('ls '), scope('ls', 'sub')]).size).toBe(4)
  })
})

describe('the commands of a line', () => {
  it.each([
    ['cd app && deploy prod', 'deploy prod'],
    ['true; deploy prod', 'deploy prod'],
    ['false || deploy prod', 'deploy prod'],
    ['cat x | deploy prod', 'deploy prod'],
    ['echo $(deploy prod)', 'deploy prod'],
    ['echo `deploy prod`', 'deploy prod'],
    ["sh -c 'deploy prod'", 'deploy prod'],
    ['sudo env A=1 deploy prod', 'deploy prod'],
    ['if true; then deploy prod; fi', 'deploy prod'],
    ['(deploy prod)&', 'deploy prod'],
    ['echo a\ndeploy prod', 'deploy prod'],
  ])('%j has %j among them', (line, command) => {
    expect(simpleCommands(line)).toContain(command)
  })

  it('are found wherever operators put them', () => {
    const word = fc.constantFrom('ls', 'echo a', 'cat f', 'true')
    const operator = fc.constantFrom(' && ', '; ', ' | ', ' || ', '\n', ' & ', ';', '&&')
    fc.assert(
      fc.property(
        fc.array(fc.tuple(word, operator), { maxLength: 6 }),
        fc.array(fc.tuple(operator, word), { maxLength: 6 }),
        (before, after) => {
          const line = `${before.map(([a, b]) => a + b).join('')}deploy prod${after.map(([a, b]) => a + b).join('')}`
          expect([line, ...simpleCommands(line)]).toContain('deploy prod')
        },
      ),
    )
  })
})

describe('a window on output', () => {
  it('is the same however the pieces are cut', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 30 }), { maxLength: 40 }), (pieces) => {
        const [many, one] = [createOutputWindow(100), createOutputWindow(100)]
        for (const piece of pieces) many.add(piece)
        one.add(pieces.join(''))
        expect(many.text()).toBe(one.text())
      }),
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
