import { keyRange, type StoreAdapter } from './adapters/adapter.ts'
import { importKey } from './keys.ts'

/**
 * A store as lines of JSON, and back: a first line that names the export, one line for each entry in the order of its key,
 * a last line with their number. Entries travel exactly as they are stored, with the time at which they expire.
 */
export interface ExportHeader {
  toycoder: 'export'
  version: 1
  /** Tells one export from another, so that an import that goes on goes on with the same. */
  id: string
  /** When it was begun, ISO 8601. */
  madeAt: string
}

export interface ExportEntry {
  key: string
  text: string
}

export interface ExportEnd {
  end: true
  entries: number
}

/** How far an import has come; it is in the store until the import has ended. */
export interface ImportProgress {
  id: string
  /** So many entries of the file are dealt with for certain. */
  read: number
  expired: number
}

export interface ImportCounts {
  read: number
  /** Entries whose time was over; all others were written. */
  expired: number
}

const KEYS_PER_PAGE = 1_000
/** Results of tools can have megabytes, so only some are in memory at once. */
const VALUES_PER_PAGE = 32

/** How many entries there are. */
export async function countEntries(adapter: StoreAdapter): Promise<number> {
  let count = 0
  for await (const keys of pagesOfKeys(adapter)) count += keys.length
  return count
}

/** The entries behind `after`, ascending. What expires or is deleted meanwhile is passed over. */
export async function* exportEntries(adapter: StoreAdapter, after?: string): AsyncGenerator<ExportEntry> {
  for await (const keys of pagesOfKeys(adapter, after)) {
    for (let at = 0; at < keys.length; at += VALUES_PER_PAGE) {
      const some = keys.slice(at, at + VALUES_PER_PAGE)
      const texts = await adapter.getMany(some)
      for (const [index, key] of some.entries()) {
        const text = texts[index]
        if (text !== undefined) yield { key, text }
      }
    }
  }
}

/** The import that was begun and has not ended, if there is one. */
export async function importUnderWay(adapter: StoreAdapter): Promise<ImportProgress | undefined> {
  const text = await adapter.get(importKey)
  return text === undefined ? undefined : (JSON.parse(text).value as ImportProgress)
}

/**
 * Writes entries, which come in the order of their keys, and goes on where an earlier import of the same export was cut
 * off. `onEntry` is told of each. The progress stays in the store until `endImport`.
 */
export async function importEntries(
  adapter: StoreAdapter,
  id: string,
  entries: AsyncIterable<ExportEntry>,
  onEntry: () => void,
): Promise<ImportCounts> {
  const before = await importUnderWay(adapter)
  const progress: ImportProgress = before ?? { id, read: 0, expired: 0 }
  const note = () => adapter.set(importKey, JSON.stringify({ value: progress }))
  await note()
  let page: ExportEntry[] = []
  async function write(): Promise<void> {
    const outcomes = await Promise.all(page.map((entry) => writeEntry(adapter, entry)))
    progress.read += page.length
    progress.expired += outcomes.filter((one) => one === 'expired').length
    await note()
    page = []
  }
  let toPass = progress.read
  for await (const entry of entries) {
    onEntry()
    if (toPass-- > 0) continue
    page.push(entry)
    if (page.length === VALUES_PER_PAGE) await write()
  }
  if (page.length > 0) await write()
  const { read, expired } = progress
  return { read, expired }
}

/** The keys of entries that are not in the store as they should be; those that may have expired are taken at their word. */
export async function missingEntries(
  adapter: StoreAdapter,
  entries: AsyncIterable<ExportEntry>,
  onEntry: () => void,
): Promise<string[]> {
  const missing: string[] = []
  let page: ExportEntry[] = []
  async function look(): Promise<void> {
    const texts = await adapter.getMany(page.map(({ key }) => key))
    for (const [index, { key, text }] of page.entries()) if (texts[index] !== text) missing.push(key)
    page = []
  }
  for await (const entry of entries) {
    onEntry()
    if (expiryOf(entry) === undefined) page.push(entry)
    if (page.length === VALUES_PER_PAGE) await look()
  }
  if (page.length > 0) await look()
  return missing
}

/** From here on the store is one like any other. */
export async function endImport(adapter: StoreAdapter): Promise<void> {
  await adapter.delete(importKey)
}

async function writeEntry(adapter: StoreAdapter, entry: ExportEntry): Promise<'written' | 'expired'> {
  const expires = expiryOf(entry)
  if (expires !== undefined && expires <= Date.now()) return 'expired'
  await adapter.set(entry.key, entry.text, expires)
  return 'written'
}

function expiryOf({ text }: ExportEntry): number | undefined {
  const { expires } = JSON.parse(text) as { expires?: unknown }
  return typeof expires === 'number' ? expires : undefined
}

async function* pagesOfKeys(adapter: StoreAdapter, from?: string): AsyncGenerator<string[]> {
  let after = from
  for (;;) {
    const found = await adapter.list(keyRange('', after), KEYS_PER_PAGE)
    yield found.filter((key) => key !== importKey)
    if (found.length < KEYS_PER_PAGE) return
    after = found.at(-1)!
  }
}
