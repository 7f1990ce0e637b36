import { readFile } from 'node:fs/promises'
import { messagesOf, TARGETS, type Target } from './delivery/messages.ts'
import { messageOf, SetupError } from './shared/errors.ts'

export const RENDER_USAGE = `Usage: toycoder render --platform slack|discord|html|text FILE

Prints the messages that a Markdown text would become, as JSON: what is sent, its \`length\` as the platform counts it, and the
\`limit\` it has to keep to (null where there is none). FILE may be - for standard input. Needs no settings.
`

export interface RenderOptions {
  target: Target
  /** A path, or `-` for standard input. */
  file: string
}

/** `help` where it is asked for. Throws a `SetupError` that names each mistake. */
export function renderOptions(words: readonly string[]): RenderOptions | 'help' {
  if (words.includes('--help') || words.includes('-h')) return 'help'
  let platform: string | undefined
  const files: string[] = []
  const problems: { problem: string; mend: string }[] = []
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    if (word === '--platform') platform = words[++at] ?? ''
    else if (word.startsWith('--platform=')) platform = word.slice('--platform='.length)
    else if (word.startsWith('-') && word !== '-') {
      problems.push({ problem: `There is no option ${word}.`, mend: 'toycoder render --help shows them.' })
    } else files.push(word)
  }
  const target = TARGETS.find((one) => one === platform)
  if (!target) {
    const problem = platform ? `There is no platform "${platform}".` : 'No platform was given.'
    problems.push({ problem, mend: `Give one: --platform ${TARGETS.join('|')}` })
  }
  const [file] = files
  if (files.length !== 1) {
    const problem = file === undefined ? 'No file was given.' : `There are ${files.length} files, and one is rendered.`
    problems.push({ problem, mend: 'Give the path of one Markdown file, or - for standard input.' })
  }
  if (problems.length > 0 || !target || file === undefined) throw new SetupError(problems)
  return { target, file }
}

/** The messages as JSON. Throws a `SetupError` where the file is not to be read. */
export async function renderedFile({ target, file }: RenderOptions, input: NodeJS.ReadableStream): Promise<string> {
  const bytes = file === '-' ? await bytesOf(input) : await bytesIn(file)
  return `${JSON.stringify(messagesOf(target, textOf(bytes, file)), null, 2)}\n`
}

async function bytesIn(file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EISDIR') throw trouble(`${file} is a folder.`, 'Give the path of one file in it.')
    if (code === 'ENOENT') throw trouble(`There is no file ${file}.`, 'Check the path, or give - for standard input.')
    if (code === 'EACCES') throw trouble(`${file} may not be read.`, 'Give yourself the right to read it (chmod u+r).')
    throw trouble(`${file} can't be read: ${messageOf(error)}`, 'Give the path of a text file.')
  }
}

async function bytesOf(input: NodeJS.ReadableStream): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of input) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}

function textOf(bytes: Buffer, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    const name = file === '-' ? 'Standard input' : file
    throw trouble(`${name} is not UTF-8 text.`, 'Convert it, for example with iconv -t UTF-8, and render that.')
  }
}

function trouble(problem: string, mend: string): SetupError {
  return new SetupError([{ problem, mend }])
}
