import { Redis } from 'ioredis'
import { messageOf, SetupError } from '../../shared/errors.ts'
import type { StoreAdapter } from './adapter.ts'
import type { ServerStoreOptions } from './postgres.ts'

/**
 * Redis (6.2 or later) or Valkey, shared by any number of processes.
 *
 * Values are strings of their own; two sorted sets stand beside them: all keys (every score 0, so that ranges go by bytes,
 * for `list`) and those that expire, by when. Scripts keep the three in step. Redis lets values expire by itself, so each
 * script that writes takes some names of long expired ones out of the sets.
 *
 * Commands are never queued or sent again behind the caller's back: what was not answered has failed, as far as anybody
 * may know, and a repeated put-if-absent would answer "somebody was there" of its own first try.
 *
 * Rejects with `SetupError` when the server can't be reached or does not let us in.
 */
export async function redisAdapter(
  url: string,
  { log, timeoutMs, namespace }: ServerStoreOptions,
): Promise<StoreAdapter> {
  let lastError: unknown
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: timeoutMs,
    // A server that stays silent has its connection dropped and opened anew; else a dead machine would be waited for.
    socketTimeout: timeoutMs,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 6), RECONNECT_MS),
    connectionName: 'toycoder',
  })
  client.on('error', (error) => {
    lastError = error
    log.warn({ error }, 'the connection to Redis failed; it is opened again')
  })
  try {
    await client.connect()
    await warnOfLoss(client, log)
  } catch (error) {
    client.disconnect()
    throw unreachable(lastError ?? error)
  }

  const valuePrefix = `${namespace}:value:`
  const sets = [`${namespace}:keys`, `${namespace}:expiring`]
  const run = (script: string, key: string, ...args: (string | number)[]) =>
    client.eval(script, 3, valuePrefix + key, ...sets, key, valuePrefix, ...args)

  return {
    capabilities: { expires: true },
    async get(key) {
      return (await client.get(valuePrefix + key)) ?? undefined
    },
    async getMany(keys) {
      const values = await client.mget(keys.map((key) => valuePrefix + key))
      return values.map((value) => value ?? undefined)
    },
    async set(key, value, expires) {
      await run(SET, key, value, expires ?? '')
      return true
    },
    async putIfAbsent(key, value, expires) {
      return (await run(PUT_IF_ABSENT, key, value, expires ?? '')) === 1
    },
    async delete(key) {
      await run(DELETE, key)
      return true
    },
    async list({ from, exclusive, below }, limit) {
      const keys = await run(
        LIST,
        '',
        `${exclusive ? '(' : '['}${from}`,
        below === undefined ? '+' : `(${below}`,
        limit,
      )
      return keys as string[]
    },
    async disconnect() {
      // `quit` would wait for a server that may be gone; every call that matters has been answered.
      client.disconnect()
    },
  }
}

/** The longest pause between two tries to connect again. */
const RECONNECT_MS = 1_000

/*
 * KEYS: the value's key, the set of keys, the set of expiring keys. ARGV[1]: the key as the store knows it,
 * ARGV[2]: the prefix of values, then what each script says.
 */

/** ARGV[3]: the value, ARGV[4]: when it expires, or nothing. The sets come first: a name without a value is harmless. */
const WRITE = `
redis.call('ZADD', KEYS[2], 0, ARGV[1])
if ARGV[4] == '' then
  redis.call('ZREM', KEYS[3], ARGV[1])
  redis.call('SET', KEYS[1], ARGV[3])
else
  redis.call('ZADD', KEYS[3], ARGV[4], ARGV[1])
  redis.call('SET', KEYS[1], ARGV[3], 'PXAT', ARGV[4])
end
local now = redis.call('TIME')
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now[1] * 1000 - 1000, 'LIMIT', 0, 10)) do
  redis.call('ZREM', KEYS[3], name)
  if redis.call('EXISTS', ARGV[2] .. name) == 0 then redis.call('ZREM', KEYS[2], name) end
end
return 1`

const SET = WRITE

const PUT_IF_ABSENT = `if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end${WRITE}`

const DELETE = `
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
return 1`

/** ARGV[3], ARGV[4]: the range as ZRANGEBYLEX takes it, ARGV[5]: how many. Names whose value expired are passed over. */
const LIST = `
local found, from, limit = {}, ARGV[3], tonumber(ARGV[5])
while #found < limit do
  local page = redis.call('ZRANGEBYLEX', KEYS[2], from, ARGV[4], 'LIMIT', 0, limit)
  for _, name in ipairs(page) do
    if #found < limit and redis.call('EXISTS', ARGV[2] .. name) == 1 then found[#found + 1] = name end
  end
  if #page < limit then break end
  from = '(' .. page[#page]
end
return found`

/** Says at the start what a server that is set up as a cache would lose. Servers that don't tell are taken at their word. */
async function warnOfLoss(client: Redis, log: ServerStoreOptions['log']): Promise<void> {
  const info = await client.info().catch(() => '')
  if (info.includes('maxmemory_policy:') && !info.includes('maxmemory_policy:noeviction')) {
    log.warn({}, 'Redis may drop threads when its memory is full: set maxmemory-policy to noeviction')
  }
  if (info.includes('aof_enabled:0')) {
    log.warn({}, 'Redis writes no append-only file, so its threads are lost with its process: set appendonly to yes')
  }
}

function unreachable(cause: unknown): SetupError {
  return new SetupError(
    [
      {
        problem: `STORE_URL names a Redis server that can't be used: ${messageOf(cause)}.`,
        mend: 'Check that it runs, and the host, port, password and database number in STORE_URL=redis://:PASSWORD@HOST:6379/0.',
      },
    ],
    { cause },
  )
}
