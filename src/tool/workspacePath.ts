import { lstat, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

/** A place inside the workspace. */
export interface WorkspacePath {
  /** The real path, symbolic links resolved: use this one for access. */
  absolute: string
  /** As people see it: relative to the workspace, with `/`; `.` for the workspace itself. */
  shown: string
}

/**
 * Resolves a path that a model wrote and refuses what leads out of the workspace, by whatever means: `..`, an absolute path, a
 * symbolic link anywhere on the way. What does not exist yet is judged by its deepest existing ancestor. Secret files (see
 * `isSecretPath`) are refused by either of their names, the written and the real one. Rejects with a sentence for the model.
 *
 * The check and the access that follows are two steps: a process that may write in the workspace can swap a link in between.
 * Running commands is therefore a matter for the sandbox, not for this check.
 */
export async function resolveInWorkspace(root: string, path: string): Promise<WorkspacePath> {
  if (path.includes('\0')) throw new Error('the path contains a NUL character')
  // A backslash is an ordinary character here, but to people who write it it is a separator: judged as both.
  const asSeparators = path.replaceAll('\\', '/')
  const realRoot = await realRootOf(root)
  for (const candidate of new Set([path, asSeparators])) {
    if (!isInside(realRoot, placeOf(root, realRoot, candidate))) throw outside(path)
  }
  if (path === '~' || path.startsWith('~/')) throw outside(path)
  const lexical = placeOf(root, realRoot, path)
  const absolute = await realpathOfDeepest(lexical)
  if (!isInside(realRoot, absolute)) throw outside(path)
  const shown = relative(realRoot, lexical).split(sep).join('/') || '.'
  if (isSecretPath(shown) || isSecretPath(relative(realRoot, absolute))) {
    throw new Error(`"${shown}" may hold secrets and is neither read nor changed`)
  }
  return { absolute, shown }
}

/** The workspace's own real path; rejects with a sentence when there is none. */
export async function realRootOf(root: string): Promise<string> {
  if (root === '') throw new Error('there is no workspace here')
  try {
    return await realpath(root)
  } catch (error) {
    throw new Error('the workspace folder is not there', { cause: error })
  }
}

/** The path as it is meant, before links are followed; an absolute one may name the workspace by its given or its real name. */
function placeOf(root: string, realRoot: string, path: string): string {
  if (!isAbsolute(path)) return resolve(realRoot, path)
  const given = relative(resolve(root), resolve(path))
  return isAbsolute(given) || given === '..' || given.startsWith(`..${sep}`) ? resolve(path) : join(realRoot, given)
}

/** True for the root and what lies below it, compared by whole names: `/ws-other` is not inside `/ws`. */
export function isInside(root: string, path: string): boolean {
  const way = relative(root, path)
  return !isAbsolute(way) && way !== '..' && !way.startsWith(`..${sep}`)
}

/** The real path of what exists of a path, with the rest of it attached. A dangling link counts as a way out. */
async function realpathOfDeepest(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOTDIR') throw new Error('a part of the path is a file, not a directory', { cause: error })
    if (code === 'ELOOP') throw new Error('the path leads through a loop of links', { cause: error })
    // In words of our own: those of the system name places outside of the workspace.
    if (code !== 'ENOENT') throw new Error(`the path can't be followed (${code})`, { cause: error })
    await refuseDanglingLink(path)
    return join(await realpathOfDeepest(dirname(path)), basename(path))
  }
}

async function refuseDanglingLink(path: string): Promise<void> {
  const stats = await lstat(path).catch(() => null)
  if (stats?.isSymbolicLink()) throw new Error('the path is a link to something that does not exist')
}

function outside(path: string): Error {
  return new Error(`"${path}" is outside of the workspace; paths are relative to it`)
}

/**
 * Names of files that usually hold secrets, as globs over the base name, lower case. Kept short and certain: a name here makes
 * the file invisible to every tool.
 */
const SECRET_NAMES = [
  '.env*',
  '*.env',
  '*.pem',
  '*.key',
  '*.p12',
  '*.pfx',
  '*.jks',
  '*.keystore',
  '*.kdbx',
  '*.ppk',
  '*.tfstate',
  '*.tfstate.backup',
  'id_rsa*',
  'id_dsa*',
  'id_ecdsa*',
  'id_ed25519*',
  '.netrc',
  '_netrc',
  '.pgpass',
  '.npmrc',
  '.pypirc',
  '.git-credentials',
  '.htpasswd',
  '.dockercfg',
  'credentials.json',
  'service-account*.json',
].map(matcher)

/** Templates and public halves, which hold no secrets by their purpose. */
const HARMLESS_NAMES = [
  '.env*.example',
  '.env*.sample',
  '.env*.template',
  '.env*.dist',
  'example.env',
  'sample.env',
  '*.pub',
].map(matcher)

/** Folders all of whose files are secret. */
const SECRET_FOLDERS = ['.ssh', '.aws', '.gnupg', '.kube']

/** True when a file of this path (relative, `/` or the system's separator) is taken to hold secrets. Case does not matter. */
export function isSecretPath(path: string): boolean {
  const parts = path.toLowerCase().split(/[\\/]/)
  // Trailing dots and blanks are dropped by some file systems, so they do not make another name.
  const name = parts.at(-1)!.replace(/[. ]+$/, '')
  if (parts.some((part) => SECRET_FOLDERS.includes(part))) return true
  if (name === 'config.json' && parts.at(-2) === '.docker') return true
  return SECRET_NAMES.some((matches) => matches(name)) && !HARMLESS_NAMES.some((matches) => matches(name))
}

/** A glob with `*` only, as a function; made of string comparisons, so no regular expression is compiled. */
function matcher(glob: string): (name: string) => boolean {
  const [head = '', tail] = glob.split('*')
  if (tail === undefined) return (name) => name === head
  return (name) => name.length >= head.length + tail.length && name.startsWith(head) && name.endsWith(tail)
}
