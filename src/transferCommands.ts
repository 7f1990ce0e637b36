import { randomBytes } from 'node:crypto'
import type { StoreAdapter } from './session/adapters/adapter.ts'
import { entriesIn, openForExport, surveyExport } from './session/exportFile.ts'
import {
  countEntries,
  endImport,
  exportEntries,
  type ImportCounts,
  importEntries,
  importUnderWay,
  missingEntries,
} from './session/transfer.ts'
import { SetupError } from './shared/errors.ts'
import type { Progress } from './shared/progress.ts'

/**
 * `toycoder export FILE` and `toycoder import FILE`: everything from one store to another, through a file. Both go on where
 * they were cut off, and both count in the end.
 */
export interface TransferParts {
  /** Closed in the end. */
  adapter: StoreAdapter
  /** Makes a bar for so many entries. */
  progress(total: number): Progress
}

/** Resolves to the number of entries in the file. */
export async function exportStore(path: string, { adapter, progress }: TransferParts): Promise<number> {
  try {
    if (await importUnderWay(adapter)) throw unfinishedImport()
    const { file, handle } = await openForExport(path, {
      toycoder: 'export',
      version: 1,
      id: randomBytes(12).toString('base64url'),
      madeAt: new Date().toISOString(),
    })
    try {
      if (file.isWhole) {
        throw trouble(`${path} holds a whole export already.`, 'Name another file, or remove this one first.')
      }
      let { entries } = file
      const bar = progress(await countEntries(adapter))
      bar.at(entries)
      for await (const entry of exportEntries(adapter, file.lastKey)) {
        await handle.write(`${JSON.stringify(entry)}\n`)
        bar.at(++entries)
      }
      await handle.write(`${JSON.stringify({ end: true, entries })}\n`)
      await handle.sync()
      bar.end()
      return entries
    } finally {
      await handle.close()
    }
  } finally {
    await adapter.disconnect()
  }
}

/** Into an empty store, or one in which an import of the same file was begun. Rejects where the counts differ in the end. */
export async function importStore(
  path: string,
  { adapter, progress }: TransferParts,
): Promise<ImportCounts & { found: number }> {
  try {
    const { header, entries, isWhole } = await surveyExport(path)
    if (!isWhole) {
      const mend = 'Run `toycoder export` with the same file again: it goes on.'
      throw trouble(`${path} is an export that was not finished.`, mend)
    }
    const before = await importUnderWay(adapter)
    if (before && before.id !== header.id) throw unfinishedImport()
    const present = before ? 0 : await countEntries(adapter)
    if (present > 0) {
      throw trouble(
        `STORE_URL names a store that is not empty (${present} entries).`,
        'Import into an empty one: a new file, database or Redis database number.',
      )
    }
    const bar = progress(entries * 2)
    let steps = 0
    const step = () => bar.at(++steps)
    const counts = await importEntries(adapter, header.id, entriesIn(path), step)
    const missing = await missingEntries(adapter, entriesIn(path), step)
    bar.end()
    const found = await countEntries(adapter)
    if (counts.read !== entries || missing.length > 0 || found > counts.read - counts.expired) {
      const example = missing.length > 0 ? `, ${missing.length} missing (such as ${missing[0]})` : ''
      throw new Error(`the counts differ: ${entries} in the file, ${counts.read} read, ${found} found${example}`)
    }
    await endImport(adapter)
    return { ...counts, found }
  } finally {
    await adapter.disconnect()
  }
}

/** For whoever finds a store whose import has not ended. */
export function unfinishedImport(): SetupError {
  return trouble(
    'The import into the store that STORE_URL names was not finished.',
    'Run `toycoder import` with the same file again (it goes on), or empty the store.',
  )
}

function trouble(problem: string, mend: string): SetupError {
  return new SetupError([{ problem, mend }])
}
