import { createHash, randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { mkdir, open, realpath, rename, rm, rmdir } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import type { ToolContext } from '../context.ts'
import { realRootOf, resolveInWorkspace } from '../workspacePath.ts'
import { openRegular } from './textFile.ts'

/** Files beyond this many bytes are not edited or shown as a diff. */
export const LARGEST_TEXT = 2_000_000

/** A file as it is, or as it would be made. */
export interface Target {
  absolute: string
  /** As it was asked for. */
  shown: string
  /** The same file without links on the way; relative to the workspace, with `/`. */
  real: string
  /** `null`: there is none. */
  bytes: Buffer | null
  /** Permission bits; those of a new file before the process's mask. */
  mode: number
  /** Tells one state of the file from another. */
  basis: string
}

/** Finds the file that a path means, inside of the workspace. Rejects with a sentence for what can't be written. */
export async function targetOf(path: string, workspace: string): Promise<Target> {
  const { absolute, shown } = await resolveInWorkspace(workspace, path)
  if (shown === '.') throw new Error('the path is the workspace itself')
  if (/[\\/]$/.test(path)) throw new Error(`"${path}" names a directory, not a file`)
  const real = relative(await realRootOf(workspace), absolute)
    .split(sep)
    .join('/')
  // By both names: a link to .git, and a link inside of it, lead to the same hooks.
  if ([shown, real].some(isInGit)) throw new Error('files in .git are not written: git runs some of them')
  return { absolute, shown, real, ...(await contentOf(absolute, shown)) }
}

function isInGit(path: string): boolean {
  return path.split('/').some((part) => part.toLowerCase() === '.git')
}

async function contentOf(absolute: string, shown: string): Promise<Pick<Target, 'bytes' | 'mode' | 'basis'>> {
  const opened = await openRegular(absolute, shown).catch((error: Error) => {
    if ((error.cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return null
    throw error
  })
  if (!opened) return { bytes: null, mode: 0o666, basis: basisOf(null) }
  try {
    if (opened.bytes > LARGEST_TEXT)
      throw new Error(`"${shown}" is too large to be changed here (${opened.bytes} bytes)`)
    const bytes = await opened.file.readFile()
    return { bytes, mode: (await opened.file.stat()).mode & 0o7777, basis: basisOf(bytes) }
  } finally {
    await opened.file.close()
  }
}

export function basisOf(bytes: Buffer | null): string {
  return bytes === null ? 'absent' : createHash('sha256').update(bytes).digest('base64url')
}

/** Throws where people approved a change to something else than the file is now. */
export function refuseChanged(target: Target, { basis }: ToolContext): void {
  if (basis !== undefined && basis !== target.basis) throw changed(target)
}

function changed({ shown }: Target): Error {
  return new Error(`"${shown}" has changed since the card was shown; read it again and make a new call`)
}

/**
 * Replaces the file by `bytes` at once: whoever reads it sees the old or the new one, never a part, also after a crash. Mode
 * bits stay. Rejects where the file is no longer as `target` found it, and where people have given the call up meanwhile or
 * the run was stopped; nothing is left behind then, folders included.
 */
export async function replaceFile(target: Target, bytes: Buffer, path: string, context: ToolContext): Promise<void> {
  refuseChanged(target, context)
  const folder = dirname(target.absolute)
  // Of a fixed length, because the name of the file itself may be as long as names can be.
  const temporary = join(folder, `.toycoder-${randomBytes(8).toString('hex')}.tmp`)
  let made: string | undefined
  try {
    made = await mkdir(folder, { recursive: true })
    if ((await realpath(folder)) !== folder) throw changed(target)
    await writeSynced(temporary, bytes, target)
    await context.beforeEffect?.()
    const now = await targetOf(path, context.workspace)
    if (now.absolute !== target.absolute || now.basis !== target.basis) throw changed(target)
    context.signal.throwIfAborted()
    await rename(temporary, target.absolute)
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {})
    await removeEmpty(folder, made)
    throw inOwnWords(error, target)
  }
  for (const each of [folder, ...(made ? upTo(folder, dirname(made)) : [])]) await syncFolder(each)
}

async function writeSynced(path: string, bytes: Buffer, target: Target): Promise<void> {
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, target.mode)
  try {
    await file.writeFile(bytes)
    // The process's mask does not apply to a file that had its bits before.
    if (target.bytes !== null) await file.chmod(target.mode)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Failures of the file system name places outside of the workspace, which are nobody's business. */
function inOwnWords(error: unknown, { shown }: Target): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  return code && syscall ? new Error(`"${shown}" can't be written (${code})`, { cause: error }) : error
}

/** Takes back the folders that were made, as long as nobody has put anything into them. */
async function removeEmpty(folder: string, made: string | undefined): Promise<void> {
  if (made === undefined) return
  for (const each of [folder, ...upTo(folder, made)]) {
    if (
      !(await rmdir(each).then(
        () => true,
        () => false,
      ))
    )
      return
  }
}

/** The folders above one, up to and with the last. */
function upTo(folder: string, last: string): string[] {
  const way: string[] = []
  for (let at = folder; at !== last && at !== dirname(at); way.push(at)) at = dirname(at)
  return way
}

/** The new name is on the disk, too. Not every file system can do that, and the file is written by now. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY).catch(() => null)
  await handle?.sync().catch(() => {})
  await handle?.close()
}
