import { spawn } from 'node:child_process'
import { access } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { rgPath } from '@vscode/ripgrep'
import { realRootOf, resolveInWorkspace } from '../workspacePath.ts'

/** A search takes at most so long, in milliseconds. */
const TIME_LIMIT_MS = 20_000
/** At most so much of ripgrep's output is read. */
const OUTPUT_BYTES = 32 * 1024 * 1024
/** More of its complaints than this is not kept. */
const COMPLAINT_CHARACTERS = 2_000

/** Directories that are never searched unless the path leads into them. */
const SKIPPED = ['.git', '.hg', '.svn', 'node_modules', '.venv', '__pycache__', '.pnpm-store', '.yarn']

/** A directory or file to search, as ripgrep is told of it: it runs in `root`, so that paths come out relative to it. */
export interface SearchPlace {
  root: string
  /** Relative to the root, with `/`; `.` for the root itself. */
  path: string
  /** Ignore files between the root and the place, which ripgrep would not see because it starts below them. */
  ignoreFiles: string[]
}

export type SearchEnd = 'complete' | 'timeLimit' | 'outputLimit' | 'enough'

/** Resolves a model's path to a place in the workspace; rejects with a sentence when it is not there or leads out. */
export async function searchPlace(workspace: string, path: string): Promise<SearchPlace> {
  const { absolute, shown } = await resolveInWorkspace(workspace, path)
  if (!(await exists(absolute))) throw new Error(`there is no "${shown}"`)
  const root = await realRootOf(workspace)
  // The real place, so that a link inside of the workspace is searched as what it leads to.
  const place = absolute === root ? '.' : absolute.slice(root.length + 1)
  return { root, path: place, ignoreFiles: await ignoreFilesAbove(root, absolute) }
}

async function ignoreFilesAbove(root: string, absolute: string): Promise<string[]> {
  const found: string[] = []
  for (let folder = absolute; folder !== root; ) {
    folder = dirname(folder)
    for (const name of ['.ignore', '.gitignore']) {
      const file = join(folder, name)
      if (await exists(file)) found.unshift(file)
    }
  }
  return found
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

/** The options that make all searches alike: hidden files too, the workspace's own ignore files and nobody else's. */
export function commonOptions(place: SearchPlace): string[] {
  return [
    '--no-config',
    '--no-messages',
    '--color=never',
    '--hidden',
    '--no-require-git',
    '--no-ignore-parent',
    '--no-ignore-global',
    '--sort=path',
    ...place.ignoreFiles.map((file) => `--ignore-file=${file}`),
  ]
}

/** Globs that leave the skipped directories out; they have to come after all others, because the last match counts. */
export function skippedGlobs(): string[] {
  return SKIPPED.map((name) => `--glob=!${name}`)
}

/**
 * Runs ripgrep and hands each piece of its output, split at `separator`, to `onRecord`, until that returns false, the time or
 * the output limit is reached, or the signal aborts. Rejects when ripgrep refuses the request (a wrong pattern), with its reason.
 */
export async function runRipgrep(
  args: readonly string[],
  options: { cwd: string; separator: '\n' | '\0'; signal: AbortSignal; onRecord: (record: string) => boolean },
): Promise<SearchEnd> {
  const { cwd, separator, signal, onRecord } = options
  signal.throwIfAborted()
  const child = spawn(rgPath, args, { cwd, env: {}, stdio: ['ignore', 'pipe', 'pipe'] })
  let end: SearchEnd = 'complete'
  const stop = (reason: SearchEnd) => {
    if (end === 'complete') end = reason
    child.kill('SIGKILL')
  }
  const timer = setTimeout(() => stop('timeLimit'), TIME_LIMIT_MS)
  const aborted = () => void child.kill('SIGKILL')
  signal.addEventListener('abort', aborted, { once: true })
  try {
    let complaint = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(0, COMPLAINT_CHARACTERS)
    })
    const closed = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
    closed.catch(() => {})
    let rest = Buffer.alloc(0)
    let bytes = 0
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      bytes += chunk.length
      rest = eachRecord(Buffer.concat([rest, chunk]), separator, (record) => {
        if (end !== 'complete') return
        if (!onRecord(record)) stop('enough')
      })
      if (bytes > OUTPUT_BYTES) stop('outputLimit')
      if (end !== 'complete') break
    }
    const code = await closed
    signal.throwIfAborted()
    if (end === 'complete' && code !== 0 && code !== 1 && complaint.trim()) throw new Error(complaint.trim())
    return end
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', aborted)
    child.kill('SIGKILL')
  }
}

/** Hands on every whole record and returns what is left; split as bytes, so that no character is torn. */
function eachRecord(buffer: Buffer, separator: string, onRecord: (record: string) => void): Buffer<ArrayBuffer> {
  let start = 0
  for (let end = buffer.indexOf(separator); end >= 0; end = buffer.indexOf(separator, start)) {
    onRecord(buffer.toString('utf8', start, end))
    start = end + 1
  }
  return Buffer.from(buffer.subarray(start))
}
