import { z } from 'zod'
import { RESULT_LIMITS } from './observation.ts'
import type { Tool, ToolContext } from './tool.ts'

/**
 * Keeps whole results that were too long for the model, so that it can page through them. Both calls get the context of the
 * call at hand: a result must be found only from the thread (`context.threadKey`) it came from.
 */
export interface ResultKeeper {
  /** Stores the whole text; resolves to the id by which `read` finds it. May reject: the result is then shown cut only. */
  keep(text: string, context: ToolContext): Promise<string>
  /** Resolves to `undefined` for an id that is unknown, gone, or another thread's. */
  read(id: string, context: ToolContext): Promise<string | undefined>
}

export const READ_RESULT = 'read_result'

/** Longer lines are counted in pieces of this many characters, so that a result of one endless line can be paged too. */
const PIECE = 2_000
/** The header is a line too. */
const MOST_LINES = RESULT_LIMITS.lines - 1
/** Room for the header within the limit of an observation, in bytes. */
const HEADER = 512

/** The tool `read_result`: lines of an earlier result that was cut. */
export function readResultTool(keeper: ResultKeeper): Tool<{ call: string; offset: number; limit: number }> {
  return {
    name: READ_RESULT,
    description:
      'Reads on in the result of an earlier call that was cut because it was too long. The note at the cut names the id.',
    permission: 'safe',
    parameters: z.object({
      call: z.string().min(1).describe('The id from the note'),
      offset: z.int().min(1).default(1).describe('First line to read, counted from 1'),
      limit: z.int().min(1).default(200).describe(`How many lines, at most ${MOST_LINES}`),
    }),
    async invoke({ call, offset, limit }, context) {
      const text = await keeper.read(call, context)
      if (text === undefined) throw new Error(`no kept result has the id "${call}"`)
      const lines = text.split('\n').flatMap(pieces)
      if (offset > lines.length) throw new Error(`the result has ${lines.length} lines; there is no line ${offset}`)
      const shown = withinBytes(
        lines.slice(offset - 1, offset - 1 + Math.min(limit, MOST_LINES)),
        RESULT_LIMITS.bytes - HEADER,
      )
      const last = offset + shown.length - 1
      const more = last < lines.length ? `; read on with offset ${last + 1}` : ''
      return [`[lines ${offset}-${last} of ${lines.length}${more}]`, ...shown].join('\n')
    },
  }
}

function pieces(line: string): string[] {
  if (line.length <= PIECE) return [line]
  const found: string[] = []
  for (let start = 0; start < line.length; ) {
    let end = Math.min(line.length, start + PIECE)
    if ((line.codePointAt(end - 1) ?? 0) > 0xffff) end--
    found.push(line.slice(start, end))
    start = end
  }
  return found
}

function withinBytes(lines: string[], bytes: number): string[] {
  let used = 0
  const end = lines.findIndex((line) => {
    used += Buffer.byteLength(line) + 1
    return used > bytes
  })
  // One piece always fits: 2,000 characters are at most 6,000 bytes.
  return end < 0 ? lines : lines.slice(0, end)
}
