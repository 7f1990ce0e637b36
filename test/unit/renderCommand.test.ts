import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { type RenderOptions, renderedFile, renderOptions } from '../../src/renderCommand.ts'
import { SetupError } from '../../src/shared/errors.ts'

const folder = mkdtempSync(join(tmpdir(), 'toycoder-render-'))
afterAll(() => rmSync(folder, { recursive: true }))

function fileOf(content: string | Uint8Array, name = 'text.md'): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

const rendered = async (target: RenderOptions['target'], file: string, input = '') =>
  JSON.parse(await renderedFile({ target, file }, Readable.from([Buffer.from(input)])))

async function problems(act: () => unknown): Promise<string> {
  try {
    await act()
  } catch (error) {
    if (error instanceof SetupError) return error.message
  }
  throw new Error('nothing was refused')
}

describe('toycoder render', () => {
  it('prints the messages of a text for Slack, each within its limit, with what is sent', async () => {
    const [first, ...more] = await rendered('slack', fileOf('Some **bold** words in a line. '.repeat(300)))
    expect(more.length).toBeGreaterThan(1)
    expect(first).toMatchObject({ limit: 4_000, blocks: [{ type: 'markdown' }] })
    for (const { length, text, blocks } of [first, ...more]) {
      expect(length).toBe(Math.max(text.length, blocks[0].text.length))
      expect(length).toBeLessThanOrEqual(4_000)
    }
  })

  it('counts code points for Discord and shows that nobody is notified', async () => {
    const [message, ...more] = await rendered('discord', fileOf('😀 @everyone'))
    expect(more).toEqual([])
    expect(message).toMatchObject({ length: 12, limit: 2_000, allowed_mentions: { parse: [], users: [] } })
    expect(message.content).not.toContain('@everyone')
  })

  it('prints one message of HTML or plain text, without a limit', async () => {
    const file = fileOf('# A & B')
    expect(await rendered('html', file)).toEqual([{ length: 18, limit: null, html: '<h1>A &amp; B</h1>' }])
    expect(await rendered('text', file)).toEqual([{ length: 5, limit: null, text: 'A & B' }])
  })

  it('reads standard input for -, and a blank text becomes no message', async () => {
    expect(await rendered('text', '-', '**hi**')).toMatchObject([{ text: 'hi' }])
    for (const target of ['slack', 'discord', 'html', 'text'] as const) {
      expect(await rendered(target, '-', ' \n\n')).toEqual([])
    }
  })

  it.each([
    [['FILE'], /No platform was given.*slack\|discord\|html\|text/],
    [['--platform', 'irc', 'FILE'], /no platform "irc".*slack\|discord\|html\|text/],
    [['--platform', 'slack'], /No file was given.*standard input/],
    [['--platform=slack', 'a', 'b'], /2 files.*one Markdown file/],
    [['--platform', 'slack', '--all', 'a'], /no option --all.*--help/],
  ])('%j is refused with the mend', async (words, said) => {
    expect(await problems(() => renderOptions(words))).toMatch(said)
  })

  it('names what is wrong with a file, and the mend', async () => {
    expect(await problems(() => rendered('text', folder))).toMatch(/is a folder.*one file/)
    expect(await problems(() => rendered('text', join(folder, 'none.md')))).toMatch(/no file.*Check the path/)
    const latin1 = fileOf(Uint8Array.of(0x67, 0x72, 0xfc, 0xdf), 'latin1.md')
    expect(await problems(() => rendered('text', latin1))).toMatch(/not UTF-8.*Convert/)
  })

  it('works from the command line without any setting, and ends with 2 where it is misused', () => {
    const toycoder = (...words: string[]) =>
      spawnSync(process.execPath, [fileURLToPath(new URL('../../bin/toycoder.js', import.meta.url)), ...words], {
        cwd: folder,
        env: {},
        input: 'Hello',
        encoding: 'utf8',
      })
    const fine = toycoder('render', '--platform', 'text', '-')
    expect(fine).toMatchObject({ status: 0, stderr: '' })
    expect(JSON.parse(fine.stdout)).toEqual([{ length: 5, limit: null, text: 'Hello' }])
    expect(toycoder('render', '--help').stdout).toMatch(/^Usage: toycoder render --platform/)
    expect(toycoder('render', '--platform', 'irc', '-')).toMatchObject({ status: 2, stdout: '' })
    expect(toycoder('help').stdout).toContain('toycoder render')
  })
})
