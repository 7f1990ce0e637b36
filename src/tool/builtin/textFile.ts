import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { TextDecoder } from 'node:util'

/** How the bytes of a file become text. `note` is for the reader where it is not plain UTF-8. */
export interface Encoding {
  decoder: TextDecoder
  note?: string
}

/** The first bytes by which formats are told apart, for naming what a binary file is. */
const MAGIC: readonly (readonly [name: string, bytes: string])[] = [
  ['PNG image', '89504e47'],
  ['JPEG image', 'ffd8ff'],
  ['GIF image', '47494638'],
  ['RIFF file, such as a WebP image', '52494646'],
  ['PDF document', '25504446'],
  ['ZIP archive or office document', '504b0304'],
  ['gzip archive', '1f8b'],
  ['ELF program', '7f454c46'],
  ['SQLite database', '53514c69746520666f726d6174203300'],
]

/**
 * Opens a regular file for reading, following no link in its last part and never waiting for a pipe; rejects with a sentence
 * for everything else.
 */
export async function openRegular(absolute: string, shown: string): Promise<{ file: FileHandle; bytes: number }> {
  const file = await open(absolute, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((error) => {
    throw new Error(openProblem(error as NodeJS.ErrnoException, shown), { cause: error })
  })
  try {
    const stats = await file.stat()
    if (stats.isDirectory()) throw new Error(`"${shown}" is a directory; list_directory shows what is in it`)
    if (!stats.isFile()) throw new Error(`"${shown}" is no regular file (a device, pipe or socket)`)
    return { file, bytes: stats.size }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** A failure of the file system in words that name no path outside of the workspace. */
export function openProblem({ code }: NodeJS.ErrnoException, shown: string): string {
  switch (code) {
    case 'ENOENT':
      return `there is no "${shown}"`
    case 'EACCES':
    case 'EPERM':
      return `"${shown}" may not be read`
    case 'ENOTDIR':
      return `"${shown}" is not a directory`
    case 'ELOOP':
      return `"${shown}" changed into a link just now`
    default:
      return `"${shown}" can't be read (${code ?? 'unknown reason'})`
  }
}

/**
 * The encoding of a file from its first bytes: by its byte order mark, else UTF-8 where the bytes are that, else UTF-16 where
 * every other byte is zero, else GB 18030 or Windows-1252 by how the high bytes stand. `null` for a binary file. The mark
 * itself is not part of the text.
 */
export function encodingOf(sample: Uint8Array): Encoding | null {
  const [first, second, third] = sample
  if (first === 0xef && second === 0xbb && third === 0xbf)
    return { decoder: new TextDecoder('utf-8'), note: 'UTF-8 with BOM' }
  if (first === 0xff && second === 0xfe) return { decoder: new TextDecoder('utf-16le'), note: 'UTF-16 LE' }
  if (first === 0xfe && second === 0xff) return { decoder: new TextDecoder('utf-16be'), note: 'UTF-16 BE' }
  if (sample.includes(0)) return utf16WithoutMark(sample)
  if (isUtf8(sample)) return { decoder: new TextDecoder('utf-8') }
  return inPairs(sample)
    ? { decoder: new TextDecoder('gb18030'), note: 'not UTF-8; read as GB 18030' }
    : { decoder: new TextDecoder('windows-1252'), note: 'not UTF-8; read as Windows-1252' }
}

/** What a binary file is, by its first bytes; `null` when that is not known. */
export function binaryKind(sample: Uint8Array): string | null {
  const hex = Buffer.from(sample.subarray(0, 16)).toString('hex')
  return MAGIC.find(([, bytes]) => hex.startsWith(bytes))?.[0] ?? null
}

function isUtf8(sample: Uint8Array): boolean {
  try {
    // `stream`: a character cut at the end of the sample is no fault.
    new TextDecoder('utf-8', { fatal: true }).decode(sample, { stream: true })
    return true
  } catch {
    return false
  }
}

/** Mostly Latin text in UTF-16 has a zero in nearly every other byte, all on the same side. */
function utf16WithoutMark(sample: Uint8Array): Encoding | null {
  const zeros = [0, 0]
  for (const [index, byte] of sample.entries()) if (byte === 0) zeros[index % 2]!++
  const half = sample.length / 2
  const [even, odd] = zeros as [number, number]
  if (odd > half * 0.7 && even < half * 0.05) return { decoder: new TextDecoder('utf-16le'), note: 'UTF-16 LE' }
  if (even > half * 0.7 && odd < half * 0.05) return { decoder: new TextDecoder('utf-16be'), note: 'UTF-16 BE' }
  return null
}

/** True when nearly all high bytes come in pairs, as those of Chinese characters do. */
function inPairs(sample: Uint8Array): boolean {
  let paired = 0
  let single = 0
  for (let index = 0; index < sample.length; index++) {
    if (sample[index]! < 0x80) continue
    const next = sample[index + 1]
    if (sample[index]! > 0x80 && next !== undefined && next >= 0xa1) {
      paired++
      index++
    } else single++
  }
  return paired > 0 && single <= paired / 10
}
