import type { Dirent } from 'node:fs'
import { opendir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { Tool, ToolContext } from '../tool.ts'
import { isInside, isSecretPath, realRootOf, resolveInWorkspace } from '../workspacePath.ts'
import { openProblem } from './textFile.ts'

/** Most entries shown. */
const SHOWN = 500
/** Most entries looked at; a directory beyond it is reported as larger. */
const COUNTED = 100_000

const parameters = z.object({ path: z.string().default('.').describe('Directory relative to the workspace') })

/** The tool `list_directory`: names with a `/` behind directories and sizes behind files. */
export const listDirectoryTool: Tool<z.infer<typeof parameters>> = {
  name: 'list_directory',
  description: 'Lists what is in a directory of the workspace: subdirectories first, then files with their sizes.',
  permission: 'safe',
  parameters,
  invoke: list,
}

async function list({ path }: z.infer<typeof parameters>, context: ToolContext): Promise<string> {
  const { absolute, shown } = await resolveInWorkspace(context.workspace, path)
  const root = await realRootOf(context.workspace)
  const { entries, more } = await entriesOf(absolute, shown, context.signal)
  if (entries.length === 0) return `${shown}: empty directory`
  const sorted = entries.toSorted((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1))
  const lines = await Promise.all(sorted.slice(0, SHOWN).map((entry) => describe(root, absolute, shown, entry)))
  const all = more ? `more than ${entries.length}` : String(entries.length)
  const header = entries.length > SHOWN ? `${shown}: ${SHOWN} of ${all} entries` : `${shown}: ${all} entries`
  return [header, ...lines].join('\n')
}

async function entriesOf(absolute: string, shown: string, signal: AbortSignal) {
  const entries: Dirent[] = []
  try {
    // `opendir` closes itself when the loop ends, early too.
    for await (const entry of await opendir(absolute)) {
      signal.throwIfAborted()
      if (entries.length === COUNTED) return { entries, more: true }
      entries.push(entry)
    }
  } catch (error) {
    if (signal.aborted) throw error
    throw new Error(openProblem(error as NodeJS.ErrnoException, shown), { cause: error })
  }
  return { entries, more: false }
}

function rank(entry: Dirent): number {
  return entry.isDirectory() ? 0 : 1
}

async function describe(root: string, folder: string, shown: string, entry: Dirent): Promise<string> {
  const name = printable(entry.name)
  if (isSecretPath(`${shown}/${entry.name}`)) return `${name} (may hold secrets; can't be read)`
  if (entry.isDirectory()) return `${name}/`
  const path = join(folder, entry.name)
  if (entry.isSymbolicLink()) return `${name} (${await linkNote(root, path)})`
  if (!entry.isFile()) return `${name} (no regular file)`
  const stats = await stat(path).catch(() => null)
  return stats ? `${name} (${stats.size} bytes)` : name
}

async function linkNote(root: string, path: string): Promise<string> {
  const target = await realpath(path).catch(() => null)
  if (target === null) return 'link to nothing'
  if (!isInside(root, target)) return "link out of the workspace; can't be read"
  const stats = await stat(target).catch(() => null)
  return stats?.isDirectory() ? 'link to a directory' : 'link'
}

/** A name on one line: line breaks and other control characters are escaped. */
function printable(name: string): string {
  return /[\u0000-\u001f\u007f]/.test(name) ? JSON.stringify(name) : name
}
