import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { messageOf, SetupError } from '../../shared/errors.ts'
import type { KeyRange, StoreAdapter } from './adapter.ts'
import { createTurns } from './turns.ts'

/** Grows when the tables change; a file of a newer version is refused instead of being misread. */
const SCHEMA_VERSION = 1

const SQLITE_BUSY = 5
const SQLITE_LOCKED = 6
/** How long a call goes on trying while somebody else (a backup, the sqlite3 shell) holds a lock on the file. */
const BUSY_FOR_MS = 4_000
const BUSY_PAUSE_MS = 25

/** Expired entries are invisible at once; their space is taken back at the start and this often. */
const PURGE_EVERY_MS = 10 * 60_000

/**
 * One SQLite file for one process. WAL with `synchronous=FULL`: what was reported as written survives a power cut, for
 * about 0.2 ms per write (measured). The calls are synchronous inside, which costs the event loop less than a thread would,
 * and take turns with everything else on it; what would block it is waiting for a lock, so SQLite's own waiting is off and a busy file is tried again from here.
 *
 * Rejects with `SetupError` when the folder or file can't be used, or another process holds the store.
 */
export function sqliteAdapter(path: string): StoreAdapter {
  const release = holdAlone(path)
  let db: DatabaseSync
  try {
    db = openDatabase(path)
  } catch (error) {
    release()
    throw error instanceof SetupError ? error : unusable(path, error)
  }

  const { read, list } = readsOf(db)
  const call = createCalls()
  const setRow = db.prepare(
    `INSERT INTO entry (key, expires, value) VALUES (?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET expires = excluded.expires, value = excluded.value`,
  )
  const putRow = db.prepare(
    `INSERT INTO entry (key, expires, value) VALUES (?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET expires = excluded.expires, value = excluded.value WHERE entry.expires <= ?`,
  )
  const deleteRow = db.prepare('DELETE FROM entry WHERE key = ?')
  const purgeRows = db.prepare('DELETE FROM entry WHERE expires <= ?')

  const purge = setInterval(() => {
    try {
      purgeRows.run(Date.now())
    } catch {
      // Only space is at stake; the next round comes.
    }
  }, PURGE_EVERY_MS)
  purge.unref()

  return {
    capabilities: { expires: true },
    get: (key) => call(() => read(key)),
    getMany: (keys) => call(() => keys.map(read)),
    set: (key, value, expires) =>
      call(() => {
        setRow.run(key, expires ?? null, value)
        return true
      }),
    putIfAbsent: (key, value, expires) => call(() => putRow.run(key, expires ?? null, value, Date.now()).changes === 1),
    delete: (key) =>
      call(() => {
        deleteRow.run(key)
        return true
      }),
    list: (range, limit) => call(() => list(range, limit)),
    async disconnect() {
      clearInterval(purge)
      if (db.isOpen) db.close()
      release()
    },
  }
}

/**
 * The same file for a look beside a process that holds it, which it does not disturb: reads see the store as it is at the
 * first of them, and writes are refused. Rejects with `SetupError` where there is no such store.
 */
export function sqliteReader(path: string): StoreAdapter {
  if (!existsSync(path)) {
    const mend = 'Start ToyCoder once with these settings, or set STORE_URL to the store that it uses.'
    throw new SetupError([{ problem: `STORE_URL names the file ${path}, which is not there.`, mend }])
  }
  let db: DatabaseSync
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout: 0 })
    if (Number(db.prepare('PRAGMA user_version').get()?.user_version) > SCHEMA_VERSION) throw newerFile(path)
    db.exec('BEGIN')
  } catch (error) {
    throw error instanceof SetupError ? error : unusable(path, error)
  }
  const { read, list } = readsOf(db)
  const call = createCalls()
  const refuse = () => Promise.reject(new Error('the store was opened for reading only'))
  return {
    capabilities: { expires: true },
    get: (key) => call(() => read(key)),
    getMany: (keys) => call(() => keys.map(read)),
    list: (range, limit) => call(() => list(range, limit)),
    ...{ set: refuse, putIfAbsent: refuse, delete: refuse },
    async disconnect() {
      if (db.isOpen) db.close()
    },
  }
}

/** What reading takes; entries whose time is over are not there. */
function readsOf(db: DatabaseSync) {
  const getRow = db.prepare('SELECT value FROM entry WHERE key = ? AND (expires IS NULL OR expires > ?)')
  // A statement of its own for each: with an end that may be null, SQLite would read on to the end of the table.
  const selecting = (end: string) =>
    db.prepare(
      `SELECT key FROM entry WHERE key >= ?1 AND (?2 = 0 OR key > ?1) ${end}
       AND (expires IS NULL OR expires > ?3) ORDER BY key LIMIT ?4`,
    )
  const listToEnd = selecting('')
  const listBelow = selecting('AND key < ?5')
  return {
    read(key: string): string | undefined {
      const row = getRow.get(key, Date.now())
      return row === undefined ? undefined : String(row.value)
    },
    list({ from, exclusive, below }: KeyRange, limit: number): string[] {
      const given = [from, exclusive ? 1 : 0, Date.now(), limit]
      const rows = below === undefined ? listToEnd.all(...given) : listBelow.all(...given, below)
      return rows.map((row) => String(row.key))
    },
  }
}

function openDatabase(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: 0 })
  try {
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    const version = Number(db.prepare('PRAGMA user_version').get()?.user_version)
    if (version > SCHEMA_VERSION) throw newerFile(path)
    // `expires` stands before `value`, so that looking at it never walks through a value of megabytes.
    db.exec(`
      CREATE TABLE IF NOT EXISTS entry (key TEXT NOT NULL PRIMARY KEY, expires INTEGER, value TEXT NOT NULL) STRICT;
      CREATE INDEX IF NOT EXISTS entry_expires ON entry (expires) WHERE expires IS NOT NULL;
      PRAGMA user_version = ${SCHEMA_VERSION};
    `)
    db.prepare('DELETE FROM entry WHERE expires <= ?').run(Date.now())
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/**
 * Holds the store for this process: an exclusive transaction on a file beside it, which the operating system lets go of
 * the moment the process dies, however it dies. Answers how to let go.
 */
function holdAlone(path: string): () => void {
  let lock: DatabaseSync | undefined
  try {
    makeFolder(dirname(path))
    lock = new DatabaseSync(`${path}.lock`, { timeout: 0 })
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock?.close()
    throw isBusy(error) ? heldElsewhere(path) : unusable(path, error)
  }
  const held = lock
  return () => {
    if (held.isOpen) held.close()
  }
}

/** Like `mkdir -p`, without Node's `recursive`, which never returns where a system refuses with "no such file" (as below /proc). */
function makeFolder(path: string): void {
  if (existsSync(path)) return
  if (dirname(path) !== path) makeFolder(dirname(path))
  try {
    // Conversations are nobody else's business: a folder that we make is its owner's alone.
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (!existsSync(path)) throw error
  }
}

/** Runs a call in its turn, and again for a while where the file is busy. */
type Calls = <T>(run: () => T) => Promise<T>

function createCalls(): Calls {
  const turns = createTurns()
  return async (run) => {
    const giveUpAt = performance.now() + BUSY_FOR_MS
    for (;;) {
      try {
        return await turns(run)
      } catch (error) {
        if (!isBusy(error) || performance.now() > giveUpAt) throw error
      }
      await pause(BUSY_PAUSE_MS)
    }
  }
}

/** Extended result codes carry the plain one in their low byte. */
function isBusy(error: unknown): boolean {
  const code = (error as { errcode?: unknown }).errcode
  return typeof code === 'number' && [SQLITE_BUSY, SQLITE_LOCKED].includes(code & 0xff)
}

function heldElsewhere(path: string): SetupError {
  return new SetupError([
    {
      problem: `STORE_URL names the file ${path}, which another running ToyCoder already uses.`,
      mend: 'Stop the other one, or give this one a file of its own; several instances share a store by STORE_URL=postgres://… or redis://….',
    },
  ])
}

function newerFile(path: string): SetupError {
  return new SetupError([
    {
      problem: `STORE_URL names the file ${path}, which was written by a newer version of ToyCoder.`,
      mend: 'Start that version or a later one, or name another file.',
    },
  ])
}

function unusable(path: string, cause: unknown): SetupError {
  return new SetupError(
    [
      {
        problem: `STORE_URL names the file ${path}, which can't be used as a store: ${messageOf(cause)}.`,
        mend: 'Name a path in a folder that this user may write to, such as STORE_URL=sqlite:data/toycoder.sqlite.',
      },
    ],
    { cause },
  )
}
