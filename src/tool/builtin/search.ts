import { z } from 'zod'
import { shortLine } from '../cutText.ts'
import type { Tool, ToolContext } from '../tool.ts'
import { isSecretPath } from '../workspacePath.ts'
import { commonOptions, runRipgrep, type SearchEnd, type SearchPlace, searchPlace, skippedGlobs } from './ripgrep.ts'

/** Most paths that `glob_search` shows. */
const SHOWN_PATHS = 50
/** Most lines that `grep_search` shows. */
const SHOWN_LINES = 100
/** Longer lines are cut in `grep_search`, in characters (as pi does; facts/llm.md, section d). */
const LINE_CHARACTERS = 500
/** Counting goes on behind what is shown up to this number; beyond it the total is "more than". */
const COUNTED = 100_000

const globParameters = z.object({
  pattern: z.string().min(1).describe('Glob such as **/*.ts or src/*.{js,ts}; without a slash it matches at any depth'),
  path: z.string().default('.').describe('Directory to search in, relative to the workspace'),
})

export const globSearchTool: Tool<z.infer<typeof globParameters>> = {
  name: 'glob_search',
  description: `Finds files by a glob and lists their paths (at most ${SHOWN_PATHS}, with the total). Leaves out what .gitignore names, .git and node_modules.`,
  permission: 'safe',
  parameters: globParameters,
  async invoke({ pattern, path }, { workspace, signal }) {
    const place = await searchPlace(workspace, path)
    const { paths, end } = await filesOf(place, pattern, signal)
    if (paths.size === 0) return `no file matches ${pattern}${limitNote(end)}`
    const shown = [...paths].slice(0, SHOWN_PATHS)
    const total = `${atLeast(end)}${counted(paths.size, 'file')}`
    const header = shown.length < paths.size ? `${shown.length} of ${total}` : total
    return [`${header} for ${pattern}${limitNote(end)}`, ...shown].join('\n')
  },
}

const grepParameters = z.object({
  pattern: z.string().min(1).describe("Regular expression in ripgrep's (Rust's) syntax; matched within single lines"),
  path: z.string().default('.').describe('File or directory to search in, relative to the workspace'),
  include: z.string().min(1).optional().describe('Glob of the files to search, such as *.ts'),
})

export const grepSearchTool: Tool<z.infer<typeof grepParameters>> = {
  name: 'grep_search',
  description: `Searches file contents for a regular expression and lists file:line: text (at most ${SHOWN_LINES}). Leaves out what .gitignore names, .git and node_modules, and binary files.`,
  permission: 'safe',
  parameters: grepParameters,
  invoke: grep,
}

async function grep(
  { pattern, path, include }: z.infer<typeof grepParameters>,
  { workspace, signal }: ToolContext,
): Promise<string> {
  const place = await searchPlace(workspace, path)
  // A glob makes ripgrep forget the ignore files, so the files it may name are looked up first.
  const included = include === undefined ? null : await filesOf(place, include, signal)
  if (included?.paths.size === 0) return `no file matches ${include}${limitNote(included.end)}`
  const shown: string[] = []
  const files = new Set<string>()
  let total = 0
  const args = [
    ...commonOptions(place),
    ...(include === undefined ? [] : [globOption(place, include)]),
    ...skippedGlobs(),
    '--line-number',
    '--with-filename',
    '--no-heading',
    '--null',
    '--crlf',
    // In bytes: at least as much as the characters that are shown of a line.
    `--max-columns=${LINE_CHARACTERS * 4}`,
    '--max-columns-preview',
    `--regexp=${pattern}`,
    '--',
    place.path === '.' ? './' : `./${place.path}`,
  ]
  const onRecord = (record: string) => {
    const match = matchOf(record)
    if (!match || isSecretPath(match.path) || (included && !included.paths.has(match.path))) return true
    total++
    files.add(match.path)
    if (shown.length < SHOWN_LINES) shown.push(`${match.path}:${match.line}: ${shortLine(match.text, LINE_CHARACTERS)}`)
    return total < COUNTED
  }
  const end = await runRipgrep(args, { cwd: place.root, separator: '\n', signal, onRecord })
  if (total === 0) return `no line matches ${pattern}${limitNote(end)}`
  const all = `${atLeast(end)}${counted(total, 'line')} in ${counted(files.size, 'file')}`
  const header = shown.length < total ? `${shown.length} of ${all}` : all
  return [`${header}${limitNote(end)}`, ...shown].join('\n')
}

/** The parts of ripgrep's `PATH NUL LINE:TEXT`; `null` for its own remarks, such as those on binary files. */
function matchOf(record: string): { path: string; line: string; text: string } | null {
  const nul = record.indexOf('\0')
  const colon = record.indexOf(':', nul)
  if (nul < 0 || colon < 0) return null
  const text = record.slice(colon + 1).replace(/\r$/, '')
  return { path: plain(record.slice(0, nul)), line: record.slice(nul + 1, colon), text }
}

/**
 * The files that a glob names and no ignore file does, without secret ones, in order of their paths. Two runs, because
 * ripgrep gives a glob precedence over ignore files: what both lists hold is what is meant.
 */
async function filesOf(
  place: SearchPlace,
  glob: string,
  signal: AbortSignal,
): Promise<{ paths: Set<string>; end: SearchEnd }> {
  const named = await listFiles(place, [globOption(place, glob)], signal, () => true)
  if (named.paths.size === 0) return named
  const kept = await listFiles(place, [], signal, (path) => named.paths.has(path))
  return { paths: kept.paths, end: named.end === 'complete' ? kept.end : named.end }
}

async function listFiles(
  place: SearchPlace,
  globs: readonly string[],
  signal: AbortSignal,
  wanted: (path: string) => boolean,
): Promise<{ paths: Set<string>; end: SearchEnd }> {
  const paths = new Set<string>()
  const target = place.path === '.' ? './' : `./${place.path}`
  const args = [...commonOptions(place), ...globs, ...skippedGlobs(), '--files', '--null', '--', target]
  const onRecord = (record: string) => {
    const path = plain(record)
    if (!isSecretPath(path) && wanted(path)) paths.add(path)
    return paths.size < COUNTED
  }
  return { paths, end: await runRipgrep(args, { cwd: place.root, separator: '\0', signal, onRecord }) }
}

/** A glob that is meant from the searched directory, as seen from the root. */
function globOption(place: SearchPlace, glob: string): string {
  const excludes = glob.startsWith('!')
  const meant = (excludes ? glob.slice(1) : glob).replace(/^(\.?\/)+/, '')
  const below = place.path === '.' ? '' : `${place.path.replace(/[*?[\]{}\\!]/g, '\\$&')}/`
  // A glob with a slash counts from the directory, one without from any depth below it.
  const from = meant.includes('/') ? `/${below}` : below && `/${below}**/`
  return `--glob=${excludes ? '!' : ''}${from}${meant}`
}

function plain(path: string): string {
  return path.startsWith('./') ? path.slice(2) : path
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function atLeast(end: SearchEnd): string {
  return end === 'complete' ? '' : 'more than '
}

function limitNote(end: SearchEnd): string {
  switch (end) {
    case 'timeLimit':
      return ' (stopped at the time limit; narrow the search down)'
    case 'outputLimit':
    case 'enough':
      return ' (stopped early, there is too much; narrow the search down)'
    case 'complete':
      return ''
  }
}
