import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { z } from 'zod'
import type { Tool, ToolContext } from '../tool.ts'
import { resolveInWorkspace } from '../workspacePath.ts'
import { simpleCommands } from './commandParts.ts'
import { runInGroup } from './processGroup.ts'
import { visibleCommand } from './visibleText.ts'

const DEFAULT_TIMEOUT_S = 30
const LONGEST_TIMEOUT_S = 600
/** The output that the model gets, in characters (spec, tool table). */
const OUTPUT_CHARACTERS = 10_000
/** People are to read it. Linux takes up to 128 KiB. */
const MOST_BYTES = 32_000

const parameters = z.object({
  command: z.string().min(1).describe('A command line for /bin/sh'),
  workdir: z.string().optional().describe('Folder relative to the workspace; default: the workspace itself'),
  timeout: z
    .number()
    .min(1)
    .max(LONGEST_TIMEOUT_S)
    .optional()
    .describe(`Seconds until it is ended; default ${DEFAULT_TIMEOUT_S}`),
})

type Args = z.infer<typeof parameters>

/** The tool `run_command`: a command line in the workspace, with its output and exit code. Without a sandbox. */
export const runCommandTool: Tool<Args> = {
  name: 'run_command',
  description:
    'Runs a command line with /bin/sh in the workspace and returns what it prints (standard output and error together) and its exit code. There is no terminal and no input; use options that ask nothing. Processes left behind are ended.',
  permission: 'dangerous',
  parameters,
  invoke: run,
  keep: 'tail',
  approval: {
    preview: async (args, context) => {
      await folderOf(args, context)
      return { summary: '', body: body(args), format: 'shell', fileName: 'command.sh' }
    },
    always: ({ command, workdir = '.' }) => ({
      // Exactly this line in this folder: a prefix would allow whatever is put behind it.
      key: `command:${createHash('sha256')
        .update(`${isWorkspace(workdir) ? '.' : workdir}\0${command}`)
        .digest('base64url')}`,
      kind: 'command',
      detail: visibleCommand(command),
    }),
    // A line that is too long is refused; nothing is looked for in it.
    subjects: ({ command }) => (command.length > MOST_BYTES ? [command] : [command, ...simpleCommands(command)]),
    check: null,
  },
}

function body({ command, workdir = '.', timeout = DEFAULT_TIMEOUT_S }: Args): string {
  const isUsual = isWorkspace(workdir) && timeout === DEFAULT_TIMEOUT_S
  // A command that begins with a comment could itself say where it runs, so then it is said in any case.
  const note =
    isUsual && !command.trimStart().startsWith('#')
      ? ''
      : `# in ${visibleCommand(workdir).replaceAll('\n', '⟨U+000A⟩')}, up to ${timeout} s\n`
  return note + visibleCommand(command)
}

function isWorkspace(workdir: string): boolean {
  return workdir === '.' || workdir === './'
}

/** The folder to run in. Rejects with a sentence for a call that could not run, or not as people would see it. */
async function folderOf({ command, workdir = '.' }: Args, { workspace }: ToolContext): Promise<string> {
  if (command.trim() === '') throw new Error('the command is empty')
  if (command.includes('\0') || !command.isWellFormed())
    throw new Error('the command holds a character that no shell takes')
  if (Buffer.byteLength(command) > MOST_BYTES)
    throw new Error(`the command is longer than ${MOST_BYTES} bytes; write a script to a file and run that`)
  const { absolute, shown } = await resolveInWorkspace(workspace, workdir)
  const stats = await stat(absolute).catch(() => null)
  if (!stats) throw new Error(`there is no folder "${shown}"`)
  if (!stats.isDirectory()) throw new Error(`"${shown}" is not a folder`)
  return absolute
}

async function run(args: Args, context: ToolContext): Promise<string> {
  const seconds = args.timeout ?? DEFAULT_TIMEOUT_S
  const cwd = await folderOf(args, context)
  await context.beforeEffect?.()
  const { signal } = context
  if (signal.aborted) throw new Error('the command was stopped before it began')
  const ended = await runInGroup(args.command, {
    cwd,
    signal,
    timeoutMs: seconds * 1_000,
    characters: OUTPUT_CHARACTERS,
  })
  const output = ended.output.trimEnd() || '(no output)'
  switch (ended.how) {
    case 'exit':
      return `${output}\n\n[exit code ${ended.code}]`
    case 'signal':
      return `${output}\n\n[ended by ${ended.signal}]`
    case 'timeout':
      throw new Error(
        `the command was ended after ${seconds} s. What it printed until then:\n${output}\n\n[ended after ${seconds} s]`,
      )
    case 'stopped':
      throw new Error(`the command was stopped before it finished. What it printed until then:\n${output}\n\n[stopped]`)
  }
}
