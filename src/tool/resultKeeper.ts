import { z } from 'zod'
import { cutText } from './cutText.ts'
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

/**
 * A text within the limits of an observation. What is too long is handed to the keeper and cut, with a note of the full size
 * and of how to read on.
 */
export async function shorten(
  text: string,
  keep: 'head' | 'tail',
  keeper: ResultKeeper | undefined,
  context: ToolContext,
): Promise<string> {
  const cut = cutText(text, keep, RESULT_LIMITS)
  if (!cut) return text
  const part = cut.insideLine ? `a part of line ${cut.from}` : `lines ${cut.from}-${cut.to}`
  const size = `${kilobytes(cut.text)} of ${kilobytes(text)} KB`
  const note = `[cut: ${part} of ${cut.lines} lines, ${size}; ${await keepWhole(text, keeper, context)}]`
  return keep === 'head' ? `${cut.text}\n${note}` : `${note}\n${cut.text}`
}

async function keepWhole(text: string, keeper: ResultKeeper | undefined, context: ToolContext): Promise<string> {
  if (!keeper) return 'the rest was not kept'
  try {
    return `${READ_RESULT} with call "${await keeper.keep(text, context)}" shows the rest`
  } catch {
    return 'the rest could not be kept'
  }
}

function kilobytes(text: string): string {
  return (Buffer.byteLength(text) / 1_024).toFixed(1)
}

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
