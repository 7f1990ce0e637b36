import { Pool } from 'pg'
import { messageOf, SetupError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { StoreAdapter } from './adapter.ts'

export interface ServerStoreOptions {
  log: Log
  /** How long the server may take for one call. */
  timeoutMs: number
  /** What the table or the keys on the server are named after, so that several bots can share one: letters, digits, `_`. */
  namespace: string
}

/** Calls are short, so a few connections carry many threads; PostgreSQL's default limit is 100 for everybody. */
const CONNECTIONS = 10
const PURGE_EVERY_MS = 10 * 60_000
/** Any number will do, as long as nobody else in the database uses it: instances that start together make the table once. */
const SETUP_LOCK = 7_069_217_634

/**
 * One table in PostgreSQL (12 or later), shared by any number of processes. Keys are collated by bytes, whatever the
 * database's language. A dropped connection is logged and replaced; only the calls on it fail.
 *
 * Rejects with `SetupError` when the server can't be reached or does not let us in.
 */
export async function postgresAdapter(
  url: string,
  { log, timeoutMs, namespace }: ServerStoreOptions,
): Promise<StoreAdapter> {
  const table = `${namespace}_entry`
  const pool = new Pool({
    connectionString: url,
    max: CONNECTIONS,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    statement_timeout: timeoutMs,
    keepAlive: true,
    application_name: 'toycoder',
  })
  // Without a listener the end of an idle connection would end the process.
  pool.on('error', (error) => log.warn({ error }, 'a connection to PostgreSQL was lost; the next call opens another'))
  try {
    await prepare(pool, table)
  } catch (error) {
    await pool.end()
    throw error instanceof SetupError ? error : unreachable(error)
  }

  const purge = setInterval(() => {
    pool.query(`DELETE FROM ${table} WHERE expires <= $1`, [Date.now()]).catch((error: unknown) => {
      log.warn({ error }, 'expired entries could not be removed; the next round comes')
    })
  }, PURGE_EVERY_MS)
  purge.unref()

  async function getMany(keys: readonly string[]): Promise<(string | undefined)[]> {
    const { rows } = await pool.query<{ key: string; value: string }>(
      `SELECT key, value FROM ${table} WHERE key = ANY($1) AND (expires IS NULL OR expires > $2)`,
      [keys, Date.now()],
    )
    const found = new Map(rows.map(({ key, value }) => [key, value]))
    return keys.map((key) => found.get(key))
  }

  return {
    capabilities: { expires: true },
    async get(key) {
      return (await getMany([key]))[0]
    },
    getMany,
    async set(key, value, expires) {
      await pool.query(
        `INSERT INTO ${table} (key, expires, value) VALUES ($1, $2, $3)
         ON CONFLICT (key) DO UPDATE SET expires = excluded.expires, value = excluded.value`,
        [key, expires ?? null, value],
      )
      return true
    },
    async putIfAbsent(key, value, expires) {
      const { rowCount } = await pool.query(
        `INSERT INTO ${table} AS present (key, expires, value) VALUES ($1, $2, $3)
         ON CONFLICT (key) DO UPDATE SET expires = excluded.expires, value = excluded.value WHERE present.expires <= $4`,
        [key, expires ?? null, value, Date.now()],
      )
      return rowCount === 1
    },
    async delete(key) {
      await pool.query(`DELETE FROM ${table} WHERE key = $1`, [key])
      return true
    },
    async list({ from, exclusive, below }, limit) {
      const { rows } = await pool.query<{ key: string }>(
        `SELECT key FROM ${table} WHERE key ${exclusive ? '>' : '>='} $1 ${below === undefined ? '' : 'AND key < $4'}
         AND (expires IS NULL OR expires > $2) ORDER BY key LIMIT $3`,
        [from, Date.now(), limit, ...(below === undefined ? [] : [below])],
      )
      return rows.map(({ key }) => key)
    },
    async disconnect() {
      clearInterval(purge)
      await pool.end()
    },
  }
}

async function prepare(pool: Pool, table: string): Promise<void> {
  const client = await pool.connect()
  try {
    const { rows } = await client.query<{ server_encoding: string }>('SHOW server_encoding')
    if (rows[0]?.server_encoding !== 'UTF8') throw notUtf8(rows[0]?.server_encoding)
    await client.query('BEGIN')
    await client.query('SELECT pg_advisory_xact_lock($1)', [SETUP_LOCK])
    await client.query(`
      CREATE TABLE IF NOT EXISTS ${table} (key text COLLATE "C" PRIMARY KEY, expires bigint, value text NOT NULL);
      CREATE INDEX IF NOT EXISTS ${table}_expires ON ${table} (expires) WHERE expires IS NOT NULL;
    `)
    await client.query('COMMIT')
    client.release()
  } catch (error) {
    // Not back into the pool: it may be in the middle of a transaction.
    client.release(true)
    throw error
  }
}

function unreachable(cause: unknown): SetupError {
  return new SetupError(
    [
      {
        problem: `STORE_URL names a PostgreSQL server that can't be used: ${reasonOf(cause)}.`,
        mend: 'Check that it runs, and the host, port, user, password and database in STORE_URL=postgres://USER:PASSWORD@HOST:5432/DATABASE; the user must be allowed to create tables.',
      },
    ],
    { cause },
  )
}

function notUtf8(encoding: string | undefined): SetupError {
  return new SetupError([
    {
      problem: `STORE_URL names a PostgreSQL database with the encoding ${encoding}, which can't hold every text.`,
      mend: "Create one with ENCODING 'UTF8' and name it in STORE_URL.",
    },
  ])
}

/** A refused connection to a name with several addresses is an `AggregateError` without a message of its own. */
function reasonOf(cause: unknown): string {
  return cause instanceof AggregateError ? cause.errors.map(messageOf).join(', ') : messageOf(cause)
}
