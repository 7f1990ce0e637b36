import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { simpleCommands } from '../../src/tool/builtin/commandParts.ts'
import { runCommandTool } from '../../src/tool/builtin/runCommand.ts'

const context = {
  signal: new AbortController().signal,
  callKey: 'c1.0',
  threadKey: null,
  requester: null,
  workspace: '/',
}
const subjects = (command: string) => runCommandTool.approval!.subjects({ command }, context) as string[]

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
    [' deploy prod', 'deploy prod'],
    ['ls; deploy {a,b} prod', 'deploy {a,b} prod'],
    ['ls; deploy "a; b" prod | cat', 'deploy "a; b" prod'],
    ['ls; deploy $(date) prod', 'deploy $(date) prod'],
    ['ls; dep\\\nloy prod', 'deploy prod'],
    ['ls; \\deploy  "prod" >log 2>&1', 'deploy prod'],
    ['>log </dev/null deploy prod', 'deploy prod'],
    ["de''ploy prod; ls", 'deploy prod'],
    ['/usr/local/bin/deploy prod', 'deploy prod'],
    ['ls && timeout 10 deploy prod', 'deploy prod'],
    ['sudo -u root -- deploy prod', 'deploy prod'],
    ['find . -exec deploy prod', 'deploy prod'],
    ['eval "ls; deploy \\"a b\\" prod" && echo x', 'deploy "a b" prod'],
    [`sh -c 'echo '\\''x'\\''; deploy prod'`, 'deploy prod'],
    ['echo "$(echo "$(deploy "a b" prod)")"', 'deploy "a b" prod'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's, not ours
    ['echo ${x:-$(deploy "a b" prod)}', 'deploy "a b" prod'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's, not ours
    ['${x:- deploy prod}', 'deploy prod'],
    ['cat <(deploy "a b" prod)', 'deploy "a b" prod'],
    ["ls # don't\ndeploy 'a b' prod", "deploy 'a b' prod"],
    ["cat <<E\ndon't\nE\ndeploy 'a b' prod", "deploy 'a b' prod"],
    ['case x in x) deploy prod;; esac', 'deploy prod'],
    ['f() { deploy prod; }; f', 'deploy prod'],
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

  it('are found in whatever they are wrapped, as they stand', () => {
    const quoted = (command: string) => `'${command.replaceAll("'", `'\\''`)}'`
    const wrap = fc.constantFrom<(command: string) => string>(
      (command) => `ls; ${command}`,
      (command) => `${command} | cat 'f'`,
      (command) => `true && ${command} || echo "no"`,
      (command) => `echo $(${command})`,
      (command) => `echo "so: $(${command})"`,
      (command) => `(${command}) > log`,
      (command) => `if true; then ${command}; fi`,
      (command) => `cd x &&\n${command} &`,
      (command) => `sh -c ${quoted(command)}`,
      (command) => `ls; bash -ec ${quoted(command)} || true`,
      (command) => `echo it is # what it isn't\n${command}`,
    )
    const command = fc.constantFrom<string[]>(
      'deploy prod',
      'deploy "a b" prod',
      "deploy 'x; y' prod",
      'deploy $HOME {a,b} prod',
    )
    fc.assert(
      fc.property(command, fc.array(wrap, { maxLength: 4 }), (inner, wraps) => {
        const line = wraps.reduce((text, wrapped) => wrapped(text), inner)
        expect(subjects(line)).toContain(inner)
      }),
    )
  })

  it('takes a moment only, however the line is made', () => {
    const makers = ['$(', '`', '"', "'", '(', '"a"$(', '${', '\\', 'sh ', 'a;', '#', '\n', `"'`, '"$(']
    for (const maker of makers) {
      const from = performance.now()
      subjects(maker.repeat(Math.floor(32_000 / maker.length)))
      expect([maker, performance.now() - from < 1_000]).toEqual([maker, true])
    }
  })

  describe('as a real shell sees it', () => {
    let folder: string
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'toycoder-parts-'))
    })
    afterEach(() => rm(folder, { recursive: true, force: true }))

    it('has every command among them that the shell runs', async () => {
      // A made-up program notes for which line it was run; no line can reach anything else.
      await mkdir(join(folder, 'bin'))
      await writeFile(join(folder, 'bin/deploy'), '#!/bin/sh\necho "$LINE_NUMBER" >> "$RAN"\n')
      await chmod(join(folder, 'bin/deploy'), 0o755)
      const token = fc.oneof(
        { weight: 3, arbitrary: fc.constantFrom('deploy', ' deploy x', 'echo', 'true', ' ') },
        fc.constantFrom(' ', '\n', ';', '&&', '||', '|', '&', '(', ')', '{ ', ' }', '$(', '`', '"', "'", '\\', '# '),
        fc.constantFrom(
          'eval ',
          'exec ',
          'sh -c ',
          'A=1 ',
          '! ',
          '<<E\n',
          '\nE\n',
          'if ',
          '; then ',
          '; fi',
          '${a:-',
          '}',
        ),
        fc.constantFrom('command ', '<', '>/dev/null ', "''", '""', 'dep', 'loy'),
      )
      const lines = fc
        .sample(fc.array(token, { minLength: 1, maxLength: 9 }), { numRuns: 1_500, seed: 4 })
        .map((tokens) => tokens.join(''))
      const plausible = lines.filter((line) => /dep[\s\S]*loy/.test(line))
      const script = plausible.map((line, number) => {
        const quoted = `'${line.replaceAll("'", `'\\''`)}'`
        return `LINE_NUMBER=${number} /bin/sh -c ${quoted} </dev/null >/dev/null 2>&1`
      })
      await writeFile(join(folder, 'all.sh'), `${script.join('\n')}\nwait\n`)
      const ran = join(folder, 'ran')
      await writeFile(ran, '')
      await promisify(execFile)('/bin/sh', [join(folder, 'all.sh')], {
        cwd: folder,
        env: { PATH: `${join(folder, 'bin')}:/bin:/usr/bin`, RAN: ran },
      }).catch(() => {})
      const numbers = new Set((await readFile(ran, 'utf8')).split('\n').filter(Boolean).map(Number))
      expect(numbers.size).toBeGreaterThan(30)
      const hidden = [...numbers]
        .map((number) => plausible[number]!)
        .filter((line) => !subjects(line).some((subject) => /^deploy\b/.test(subject)))
      expect(hidden).toEqual([])
    })
  })
})
