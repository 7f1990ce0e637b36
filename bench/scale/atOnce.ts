import { setTimeout as sleep } from 'node:timers/promises'
import type { LlmReply } from '../../test/doubles/llm/reply.ts'
import type { LlmRequest } from '../../test/doubles/llm/server.ts'
import { type Bot, startBot } from './bot.ts'
import { openRoom, type Room } from './room.ts'

export interface AtOnce {
  threads: number
  /** Answers that were there in whole in the end; all of them, or the other figures mean little. */
  whole: number
  seconds: number
  loopP99Ms: number
  loopMaxMs: number
  peakRssMb: number
  cpuMsPerTurn: number
}

export const PIECES = 200
/** About as a fast model streams: 200 pieces in 10 s. */
const PIECE_MS = 50
const LIMIT_MS = 600_000
const PIECE = 'Some words '

/** Asks in so many threads at the same moment; each answer takes two tool calls and `PIECES` pieces. */
export async function measureAtOnce(threads: number): Promise<AtOnce> {
  const room = await openRoom()
  room.llm.respond(answer)
  const bot = await startBot(room.env, room.file)
  try {
    await askAll(room, 5)
    const before = await bot.ask('begin')
    const { came, ms } = await askAll(room, threads)
    const after = await bot.ask('now')
    return {
      threads,
      whole: came,
      seconds: ms / 1_000,
      loopP99Ms: after.loopP99Ms,
      loopMaxMs: after.loopMaxMs,
      peakRssMb: after.peakRssMb,
      cpuMsPerTurn: (after.cpuMs - before.cpuMs) / threads,
    }
  } finally {
    await end(bot, room)
  }
}

export async function end(bot: Bot, room: Room): Promise<void> {
  await bot.stop()
  await room.close()
}

export async function askAll(room: Room, count: number) {
  const asked = []
  for (let number = 0; number < count; number++) {
    asked.push(room.ask(number, `question ${number}`))
    // The double's own process has other threads to serve as well.
    if (number % 50 === 49) await sleep(0)
  }
  return room.until(asked, (text) => text.includes('The end.'), LIMIT_MS)
}

export function answer({ body }: LlmRequest): LlmReply {
  const asked = body.messages.findLastIndex(({ role }) => role === 'user')
  const done = body.messages.slice(asked).filter(({ role }) => role === 'tool').length
  if (done === 0) return { toolCalls: [{ name: 'list_directory', arguments: { path: '.' } }] }
  if (done === 1) return { toolCalls: [{ name: 'read_file', arguments: { path: 'README.md' } }] }
  return { text: [...Array.from({ length: PIECES - 1 }, () => PIECE), 'The end.'], delayMs: PIECE_MS }
}
