import { z } from 'zod'
import type { Tool, ToolContext } from '../tool.ts'
import { basisOf, LARGEST_TEXT, refuseChanged, replaceFile, type Target, targetOf } from './atomicWrite.ts'
import { previewOf, textOf } from './fileDiff.ts'
import { FILE_EDITS, found, pathsOf, written } from './writeFile.ts'

/** Line numbers of matches that an error names. */
const MOST_NAMED = 10
/** Matches are counted up to here. */
const MOST_COUNTED = 1_000
/** So many bytes are hashed at most to find out whether an edit took effect. */
const MOST_HASHED = 10_000_000

const parameters = z.object({
  path: z.string().min(1).describe('Path relative to the workspace'),
  old_string: z
    .string()
    .min(1, 'must not be empty: take the text that is to be replaced, or use write_file for a new file')
    .describe('The text to replace, exactly as it stands in the file, with enough around it to be there once'),
  new_string: z.string().describe('The text that takes its place'),
})

type Args = z.infer<typeof parameters>

/** A part of a text; `end` is behind its last character. */
interface Span {
  start: number
  end: number
}

/** The tool `edit_file`: replaces one place in a text file; every other byte stays. */
export const editFileTool: Tool<Args> = {
  name: 'edit_file',
  description:
    'Replaces one piece of text in a file of the workspace by another. old_string has to be in the file exactly once; read the file first. Line endings of the file are kept.',
  permission: 'sensitive',
  parameters,
  async invoke(args, context) {
    const target = await targetOf(args.path, context.workspace)
    // A file that changed since people saw the diff is said to be so, not searched for what may be gone.
    refuseChanged(target, context)
    const bytes = edited(target, args)
    await replaceFile(target, bytes, args.path, context)
    return written(target, bytes)
  },
  approval: {
    preview: async (args, context) => {
      const target = await targetOf(args.path, context.workspace)
      return previewOf(target, edited(target, args))
    },
    always: () => FILE_EDITS,
    subjects: ({ path }, { workspace }) => pathsOf(path, workspace),
    check,
  },
}

/** The bytes of the file after the edit. Throws with a sentence where it can't be made. */
function edited({ shown, bytes }: Target, { old_string: old, new_string: fresh }: Args): Buffer {
  if (bytes === null) throw new Error(`there is no "${shown}"; write_file makes files`)
  // Half of a character could match within a whole one, and could not be written.
  if (![old, fresh].every((text) => text.isWellFormed())) throw new Error('a text holds half of a character')
  if (fresh.includes('\0')) throw new Error('new_string holds a NUL character; binary files are not written')
  const text = textOf(bytes)
  if (text === null) throw new Error(`"${shown}" is not UTF-8 text, so it is not edited: other bytes could be harmed`)
  const after = Buffer.from(replaced(text, theOnly(text, old, shown), fresh))
  if (after.equals(bytes))
    throw new Error('nothing would change: the two texts are the same, and line endings are kept')
  if (after.length > LARGEST_TEXT) throw new Error(`"${shown}" would become too large (${after.length} bytes)`)
  return after
}

function theOnly(text: string, old: string, shown: string): Span {
  const spans = spansOf(text, old)
  if (spans.length === 1) return spans[0]!
  if (spans.length > 1) throw new Error(manyText(shown, text, spans))
  throw new Error(
    `old_string is not in "${shown}"; it has to be there exactly as it stands in the file, blanks included`,
  )
}

/**
 * Where a text stands, places that overlap included: each would be another edit. A line break of a model is `\n`, which
 * stands for those of the file, `\r\n` as well; a text with breaks of its own (`\r`) is first taken at its word.
 */
function spansOf(text: string, wanted: string): Span[] {
  const exact = wanted.includes('\r') ? placesOf(text, wanted) : []
  if (exact.length > 0) return exact.map((start) => ({ start, end: start + wanted.length }))
  const plain = wanted.replaceAll('\r\n', '\n')
  const places = placesOf(text.replaceAll('\r\n', '\n'), plain)
  const starts = withReturns(text, places)
  const ends = withReturns(
    text,
    places.map((at) => at + plain.length),
  )
  return starts.map((start, index) => ({ start, end: ends[index]! }))
}

function placesOf(text: string, wanted: string): number[] {
  const places: number[] = []
  for (let at = text.indexOf(wanted); at >= 0 && places.length < MOST_COUNTED; at = text.indexOf(wanted, at + 1)) {
    places.push(at)
  }
  return places
}

/** The places in a text of places, in order, in the same text without the returns of its `\r\n`. */
function withReturns(text: string, plainPlaces: readonly number[]): number[] {
  let returns = 0
  let next = text.indexOf('\r\n')
  return plainPlaces.map((place) => {
    for (; next >= 0 && next < place + returns; next = text.indexOf('\r\n', next + 2)) returns++
    return place + returns
  })
}

function manyText(shown: string, text: string, spans: readonly Span[]): string {
  const lines = spans.slice(0, MOST_NAMED).map(({ start }) => text.slice(0, start).split('\n').length)
  const more = spans.length > MOST_NAMED ? ' …' : ''
  const count = spans.length === MOST_COUNTED ? `at least ${MOST_COUNTED}` : spans.length
  return `old_string is ${count} times in "${shown}" (lines ${lines.join(', ')}${more}); it has to be there once: take more of what stands around it`
}

/** The text with another one in place of a part of it; all the rest stays as it is. */
function replaced(text: string, { start, end }: Span, fresh: string): string {
  return text.slice(0, start) + withEndingsOf(text, { start, end }, fresh) + text.slice(end)
}

/**
 * The new text with the line breaks of the old one: lines that stay keep theirs, the others take that of the line whose place
 * they take, or of the line around. A `\r\n` of the new text itself stays.
 */
function withEndingsOf(text: string, { start, end }: Span, fresh: string): string {
  const old = text.slice(start, end)
  const oldBreaks = old.match(/\r?\n/g) ?? []
  const oldLines = old.split(/\r?\n/)
  const lines = fresh.split('\n')
  const [last, oldLast] = [lines.length - 1, oldLines.length - 1]
  const common = Math.min(last, oldLast)
  let head = 0
  while (head < common && lines[head] === oldLines[head]) head++
  let tail = 0
  while (head + tail < common && lines[last - tail] === oldLines[oldLast - tail]) tail++
  const around = /\r?\n/.exec(text.slice(end))?.[0] ?? text.slice(0, start).match(/\r?\n(?=[^\n]*$)/)?.[0] ?? '\n'
  const breakAfter = (index: number) => {
    if (lines[index]!.endsWith('\r')) return '\n'
    const counterpart = index >= last - tail ? oldLast - (last - index) : Math.min(index, oldLast - 1)
    return oldBreaks[counterpart] ?? around
  }
  return lines.map((line, index) => (index < last ? line + breakAfter(index) : line)).join('')
}

/** The new content is known no more once it is written, but with the old text put back it has to be what the basis says. */
async function check(args: Args, context: ToolContext, basis: string | undefined): Promise<string> {
  const target = await targetOf(args.path, context.workspace)
  const text = target.bytes && textOf(target.bytes)
  if (text === null || basis === undefined || target.basis === basis) return found(target, null, basis)
  if (isEditOf(basis, text, args)) return found(target, target.bytes, basis)
  const isThere = args.new_string !== '' && spansOf(text, args.new_string).length > 0
  if (isThere && spansOf(text, args.old_string).length === 0) {
    return `${target.shown} has the new text and no longer the old one, but something else changed it, too: it probably took effect.`
  }
  return found(target, null, basis)
}

function isEditOf(basis: string, text: string, { old_string: old, new_string: fresh }: Args): boolean {
  const spans = fresh === '' ? everywhere(text) : spansOf(text, fresh)
  const texts = new Set([old, old.replace(/\r?\n/g, '\r\n')])
  return spans.slice(0, Math.ceil(MOST_HASHED / (text.length + old.length))).some((span) => {
    const before = [...texts].map((each) => text.slice(0, span.start) + each + text.slice(span.end))
    return [...before, replaced(text, span, old)].some((each) => basisOf(Buffer.from(each)) === basis)
  })
}

/** What took nothing's place could have stood between any two characters. */
function everywhere(text: string): Span[] {
  const most = Math.ceil(MOST_HASHED / (text.length + 1))
  return Array.from({ length: Math.min(text.length + 1, most) }, (_, at) => ({ start: at, end: at }))
}
