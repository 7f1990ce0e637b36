import { z } from 'zod'
import { headOf } from '../cutText.ts'
import { RESULT_LIMITS } from '../observation.ts'
import type { Tool, ToolContext } from '../tool.ts'
import { resolveInWorkspace } from '../workspacePath.ts'
import { binaryKind, encodingOf, openRegular } from './textFile.ts'

/** Longer lines are cut with a note, so that one line of a minified file does not fill the whole result. */
const LINE_CHARACTERS = 2_000
/** The encoding is judged by so many bytes at the beginning. */
const SAMPLE_BYTES = 64 * 1024
/** Once the wanted lines are found, lines are counted on up to this many bytes; beyond it the header says "at least". */
const COUNTED_BYTES = 64 * 1024 * 1024
/** The header is a line too. */
const MOST_LINES = RESULT_LIMITS.lines - 1
/** Room for the header within the limit of an observation. */
const HEADER_BYTES = 1_024

const parameters = z.object({
  path: z.string().min(1).describe('Path relative to the workspace'),
  offset: z.int().min(1).default(1).describe('First line to read, counted from 1'),
  limit: z.int().min(1).default(200).describe(`How many lines, at most ${MOST_LINES}`),
})

/** The tool `read_file`: numbered lines of a text file under a header that says which lines of how many. */
export const readFileTool: Tool<z.infer<typeof parameters>> = {
  name: 'read_file',
  description:
    'Reads lines of a text file in the workspace, numbered. The header says which lines of how many are shown; read on with offset.',
  permission: 'safe',
  parameters,
  invoke: readLines,
}

async function readLines({ path, offset, limit }: z.infer<typeof parameters>, context: ToolContext): Promise<string> {
  const { absolute, shown } = await resolveInWorkspace(context.workspace, path)
  const { file, bytes } = await openRegular(absolute, shown)
  try {
    const sample = new Uint8Array(Math.min(SAMPLE_BYTES, bytes))
    const { bytesRead } = await file.read(sample, 0, sample.length, 0)
    const start = sample.subarray(0, bytesRead)
    const encoding = encodingOf(start)
    if (!encoding) {
      throw new Error(
        `"${shown}" is a binary file (${binaryKind(start) ?? 'unknown format'}, ${bytes} bytes), not text`,
      )
    }
    const lines = new LineWindow(offset, Math.min(limit, MOST_LINES))
    let read = 0
    // From a position of its own: the handle is closed here, not by the stream.
    for await (const chunk of file.createReadStream({ start: 0, autoClose: false, signal: context.signal })) {
      read += chunk.length
      lines.add(encoding.decoder.decode(chunk, { stream: true }))
      if (lines.isFull && read >= COUNTED_BYTES) break
    }
    const complete = !(lines.isFull && read >= COUNTED_BYTES && read < bytes)
    if (complete) lines.end(encoding.decoder.decode())
    return report(shown, lines, complete, encoding.note)
  } finally {
    await file.close()
  }
}

function report(shown: string, lines: LineWindow, complete: boolean, encoding: string | undefined): string {
  const { offset, total, texts } = lines
  if (total === 0) return `${shown}: empty file`
  if (texts.length === 0) throw new Error(`"${shown}" has ${total} lines; there is no line ${offset}`)
  const numbered = withinLimit(texts.map((text, index) => `${offset + index}\t${text}`))
  const last = offset + numbered.length - 1
  const notes = [
    complete ? `lines ${offset}-${last} of ${total}` : `lines ${offset}-${last} of at least ${total}`,
    ...(encoding ? [encoding] : []),
    ...(lines.hasCarriageReturns ? ['CRLF line ends'] : []),
    ...(last < total ? [`read on with offset ${last + 1}`] : []),
  ]
  return [`${shown}: ${notes.join('; ')}`, ...numbered].join('\n')
}

/** As many lines as fit into one observation, always at least one. */
function withinLimit(lines: string[]): string[] {
  const room = RESULT_LIMITS.bytes - HEADER_BYTES
  let used = 0
  const end = lines.findIndex((line) => {
    used += Buffer.byteLength(line) + 1
    return used > room
  })
  if (end < 0) return lines
  return end === 0 ? [headOf(lines[0]!, room)] : lines.slice(0, end)
}

/** Takes text in pieces of any size and keeps the wanted lines only: memory does not grow with the file or with a line. */
class LineWindow {
  readonly offset: number
  readonly texts: string[] = []
  hasCarriageReturns = false
  total = 0
  readonly #limit: number
  /** The beginning of the line under way; the rest of a long one is only counted. */
  #line = ''
  #length = 0
  #endsWithReturn = false

  constructor(offset: number, limit: number) {
    this.offset = offset
    this.#limit = limit
  }

  get isFull(): boolean {
    return this.texts.length === this.#limit
  }

  add(text: string): void {
    let start = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      this.#extend(text, start, end)
      this.#close(true)
      start = end + 1
    }
    this.#extend(text, start, text.length)
  }

  end(rest: string): void {
    this.add(rest)
    // A final line break ends the last line; it does not begin another one.
    if (this.#length > 0) this.#close(false)
  }

  #extend(text: string, start: number, end: number): void {
    if (end === start) return
    this.#length += end - start
    this.#endsWithReturn = text.charCodeAt(end - 1) === 13
    const wanted = this.total + 1 >= this.offset && !this.isFull
    // One more than is shown, so that a pair of surrogates at the border is seen whole.
    const room = LINE_CHARACTERS + 2 - this.#line.length
    if (wanted && room > 0) this.#line += text.slice(start, Math.min(end, start + room))
  }

  #close(byNewline: boolean): void {
    this.total++
    const crlf = byNewline && this.#endsWithReturn
    if (crlf) this.hasCarriageReturns = true
    if (this.total >= this.offset && !this.isFull) this.texts.push(this.#shownLine(this.#length - (crlf ? 1 : 0)))
    this.#line = ''
    this.#length = 0
    this.#endsWithReturn = false
  }

  #shownLine(length: number): string {
    if (length <= LINE_CHARACTERS) return this.#line.slice(0, length)
    const kept = this.#line.slice(0, LINE_CHARACTERS).replace(/[\uD800-\uDBFF]$/, '')
    return `${kept}… [${length - kept.length} more characters in this line]`
  }
}
