import { createHash, randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { ToolContext } from '../context.ts'
import { resolveInWorkspace } from '../workspacePath.ts'

/** Files beyond this many bytes are not edited or shown as a diff. */
export const LARGEST_TEXT = 2_000_000

/** A file as it is, or as it would be made. */
export interface Target {
  absolute: string
  shown: string
  /** `null`: there is none. */
  bytes: Buffer | null
  /** Tells one state of the file from another. */
  basis: string
}

/** Finds the file that a path means, inside of the workspace. Rejects with a sentence for what can't be written. */
export async function targetOf(path: string, workspace: string): Promise<Target> {
  const { absolute, shown } = await resolveInWorkspace(workspace, path)
  if (shown === '.') throw new Error('the path is the workspace itself')
  if (/(^|\/)\.git(\/|$)/i.test(shown)) throw new Error('files in .git are not written: git runs some of them')
  const stats = await stat(absolute).catch(() => null)
  if (stats?.isDirectory()) throw new Error(`"${shown}" is a directory`)
  if (stats && !stats.isFile()) throw new Error(`"${shown}" is no regular file (a device, pipe or socket)`)
  if (stats && stats.size > LARGEST_TEXT)
    throw new Error(`"${shown}" is too large to be changed here (${stats.size} bytes)`)
  const bytes = stats ? await readFile(absolute) : null
  return { absolute, shown, bytes, basis: basisOf(bytes) }
}

export function basisOf(bytes: Buffer | null): string {
  return bytes === null ? 'absent' : createHash('sha256').update(bytes).digest('base64url')
}

/**
 * Replaces the file by `bytes` at once: whoever reads it sees the old or the new one, never a part, also after a crash. Mode
 * bits stay. Rejects where the file is no longer as `target` found it, and where people have given the call up meanwhile.
 */
export async function replaceFile(target: Target, bytes: Buffer, path: string, context: ToolContext): Promise<void> {
  if (context.basis !== undefined && context.basis !== target.basis) throw changed(target)
  const folder = dirname(target.absolute)
  await mkdir(folder, { recursive: true })
  const mode = target.bytes === null ? 0o666 : (await stat(target.absolute)).mode & 0o7777
  const temporary = join(folder, `.${basename(target.absolute).slice(0, 100)}.${randomBytes(6).toString('hex')}.tmp`)
  try {
    const file = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, mode)
    try {
      await file.writeFile(bytes)
      // The process's mask does not apply to a file that had its bits before.
      if (target.bytes !== null) await file.chmod(mode)
      await file.sync()
    } finally {
      await file.close()
    }
    await context.beforeEffect?.()
    const now = await targetOf(path, context.workspace)
    if (now.absolute !== target.absolute || now.basis !== target.basis) throw changed(target)
    await rename(temporary, target.absolute)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  await syncFolder(folder)
}

function changed({ shown }: Target): Error {
  return new Error(`"${shown}" has changed since this was asked for; read it again and make a new call`)
}

/** The new name is on the disk, too. Not every file system can do that. */
async function syncFolder(folder: string): Promise<void> {
  if (!(await lstat(folder)).isDirectory()) return
  const handle = await open(folder, constants.O_RDONLY)
  try {
    await handle.sync().catch(() => {})
  } finally {
    await handle.close()
  }
}
