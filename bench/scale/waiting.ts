import { setTimeout as sleep } from 'node:timers/promises'
import { end } from './atOnce.ts'
import { startBot } from './bot.ts'
import { openRoom, type Room } from './room.ts'

export interface Waiting {
  threads: number
  /** How many came to wait; all of them, or the other figures mean little. */
  waiting: number
  /** Live memory of the process with one thread that waits, without garbage. */
  emptyMb: number
  /** And with all of them. */
  fullMb: number
  aboveMb: number
}

const LIMIT_MS = 120_000
/** So many are asked together: the benchmark is about the memory of those that wait, not about the rush. */
const BATCH = 500
/** What ends with a turn, such as connections that are kept alive for a while, is over after so long. */
const SETTLE_MS = 8_000

/** Brings so many threads to a card that nobody answers. */
export async function measureWaiting(threads: number): Promise<Waiting> {
  const room = await openRoom()
  room.llm.respond(() => ({
    toolCalls: [{ name: 'write_file', arguments: { path: 'notes.txt', content: 'A line for the notes.\n' } }],
  }))
  const bot = await startBot(room.env, room.file)
  try {
    // The first ones warm the process up.
    let waiting = await batch(room, 0, BATCH)
    await sleep(SETTLE_MS)
    const empty = await bot.ask('rest')
    for (let asked = 0; asked < threads; asked += BATCH) {
      waiting += await batch(room, BATCH + asked, Math.min(BATCH, threads - asked))
    }
    await sleep(SETTLE_MS)
    const full = await bot.ask('rest')
    return {
      threads,
      waiting: waiting - BATCH,
      emptyMb: empty.heapMb,
      fullMb: full.heapMb,
      aboveMb: full.heapMb - empty.heapMb,
    }
  } finally {
    await end(bot, room)
  }
}

async function batch(room: Room, from: number, count: number): Promise<number> {
  const asked = Array.from({ length: count }, (_, n) => room.ask(from + n, `Write note ${from + n}`))
  return (await room.until(asked, (text) => text.includes('Approve'), LIMIT_MS)).came
}
