import { type FileHandle, open } from 'node:fs/promises'
import { messageOf, SetupError } from '../shared/errors.ts'
import type { ExportEnd, ExportEntry, ExportHeader } from './transfer.ts'

/** A file with an export, see `transfer.ts`. Only its owner may read it: conversations are nobody else's business. */
export interface ExportFile {
  header: ExportHeader
  /** How many entries it has so far, and the key of the last one. */
  entries: number
  lastKey: string | undefined
  isWhole: boolean
}

const NEWLINE = 0x0a
const BLOCK = 64 * 1024
const MODE = 0o600

/**
 * Begins a file, or cuts one that was left unfinished behind its last whole line. Rejects with a `SetupError` where
 * something else is in the file.
 */
export async function openForExport(
  path: string,
  fresh: ExportHeader,
): Promise<{ file: ExportFile; handle: FileHandle }> {
  const handle = await opened(path, 'a+')
  try {
    const { size } = await handle.stat()
    const known = size === 0 ? undefined : await survey(handle, path)
    if (known) {
      await handle.truncate(known.bytes)
      return { file: known, handle }
    }
    await handle.truncate(0)
    await handle.write(`${JSON.stringify(fresh)}\n`)
    return { file: { header: fresh, entries: 0, lastKey: undefined, isWhole: false }, handle }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** What is in a file. Rejects with a `SetupError` where that is no export. */
export async function surveyExport(path: string): Promise<ExportFile> {
  const handle = await opened(path, 'r')
  try {
    const known = await survey(handle, path)
    if (!known) throw notAnExport(path)
    return known
  } finally {
    await handle.close()
  }
}

/** The entries of a whole export, in the order of their keys. */
export async function* entriesIn(path: string): AsyncGenerator<ExportEntry> {
  const handle = await opened(path, 'r')
  try {
    let isFirst = true
    for await (const { text } of linesOf(handle)) {
      if (isFirst) isFirst = false
      else {
        const line = JSON.parse(text) as ExportEntry | ExportEnd
        if ('end' in line) return
        yield line
      }
    }
  } finally {
    await handle.close()
  }
}

async function opened(path: string, flags: 'a+' | 'r'): Promise<FileHandle> {
  try {
    return await open(path, flags, MODE)
  } catch (error) {
    throw trouble(`${path} can't be opened: ${messageOf(error)}.`, 'Check the path, and that you may use the file.')
  }
}

/** Undefined for a file whose first line was not finished. */
async function survey(handle: FileHandle, path: string): Promise<(ExportFile & { bytes: number }) | undefined> {
  let first: string | undefined
  let last = ''
  let lines = 0
  let bytes = 0
  for await (const { text, end } of linesOf(handle)) {
    first ??= text
    last = text
    lines++
    bytes = end
  }
  if (first === undefined) return undefined
  const header = parsed(first) as Partial<ExportHeader> | undefined
  if (header?.toycoder !== 'export' || typeof header.id !== 'string') throw notAnExport(path)
  if (header.version !== 1) throw newerExport(path)
  const end = parsed(last) as Partial<ExportEnd & ExportEntry> | undefined
  const isWhole = end?.end === true
  const entries = lines - (isWhole ? 2 : 1)
  if (isWhole && end?.entries !== entries) throw damaged(path)
  const lastKey = isWhole || lines === 1 ? undefined : end?.key
  if (!isWhole && lines > 1 && lastKey === undefined) throw damaged(path)
  return { header: header as ExportHeader, entries, lastKey, isWhole, bytes }
}

/**
 * The lines that end with a line feed, and where each ends. Node's `readline` would also take the separators U+2028 and
 * U+2029, which JSON may hold, for ends of lines.
 */
async function* linesOf(handle: FileHandle): AsyncGenerator<{ text: string; end: number }> {
  let parts: Buffer[] = []
  for (let at = 0; ; ) {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(BLOCK), 0, BLOCK, at)
    if (bytesRead === 0) return
    const block = buffer.subarray(0, bytesRead)
    let from = 0
    for (let to = block.indexOf(NEWLINE); to >= 0; to = block.indexOf(NEWLINE, from)) {
      parts.push(block.subarray(from, to))
      yield { text: Buffer.concat(parts).toString(), end: at + to + 1 }
      parts = []
      from = to + 1
    }
    parts.push(block.subarray(from))
    at += bytesRead
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const notAnExport = (path: string) =>
  trouble(`${path} holds something else than an export.`, 'Give the path of a file that `toycoder export` wrote.')
const newerExport = (path: string) =>
  trouble(`${path} was written by a newer version of ToyCoder.`, 'Import it with that version or a later one.')
const damaged = (path: string) =>
  trouble(`${path} is damaged: lines are missing or can't be read.`, 'Export anew, into another file.')

function trouble(problem: string, mend: string): SetupError {
  return new SetupError([{ problem, mend }])
}
