import type { Gate } from '../../test/doubles/llm/reply.ts'
import { startLlmDouble } from '../../test/doubles/llm/server.ts'
import { makeSource, type Source } from './source.ts'

/** Pieces of an answer, about as a fast model sends them, and how long the whole takes. */
export const PIECES = 250
export const ANSWER_MS = 20_000

/** One answer as the model gives it. */
export interface Telling {
  source: Source
  /** When each piece was written, on the clock of `performance.now()`. Empty until it was asked for. */
  toldAt: number[]
}

/** A model server that answers `answer N` with the Nth text in timed pieces, and anything else with a word. */
export async function startModel(answers: number) {
  const tellings = Array.from({ length: answers }, (_, n): Telling => ({ source: makeSource(n), toldAt: [] }))
  const llm = await startLlmDouble()
  llm.respond(({ lastUser }) => {
    const number = /answer (\d+)/.exec(lastUser)?.[1]
    const telling = number === undefined ? undefined : tellings[Number(number)]
    if (!telling) return { text: ['Ready', ' when', ' you', ' are.'], delayMs: 200 }
    const { text } = telling.source
    const size = Math.ceil(text.length / PIECES)
    const pieces = Array.from({ length: PIECES }, (_, n) => text.slice(n * size, (n + 1) * size))
    return { text: pieces, gate: paced(telling) }
  })
  return { llm, tellings }
}

/** Lets one piece through every so often, whatever the delay of the piece before, and notes when. */
function paced({ toldAt }: Telling): Gate {
  const everyMs = ANSWER_MS / (PIECES - 1)
  return {
    release() {},
    open() {},
    waiting: 0,
    pass: () =>
      new Promise((resolve) => {
        const start = toldAt[0] ?? performance.now()
        const waitMs = start + toldAt.length * everyMs - performance.now()
        setTimeout(
          () => {
            toldAt.push(performance.now())
            resolve()
          },
          Math.max(0, waitMs),
        )
      }),
  }
}

/** When the model had told so many characters, or null if it has not yet. */
export function toldBy({ source, toldAt }: Telling, characters: number): number | null {
  const size = Math.ceil(source.text.length / PIECES)
  return toldAt[Math.ceil(characters / size) - 1] ?? null
}
