import { z } from 'zod'
import type { Tool, ToolContext } from '../tool.ts'
import { replaceFile, type Target, targetOf } from './atomicWrite.ts'
import { previewOf, textOf } from './fileDiff.ts'
import { FILE_EDITS, found, written } from './writeFile.ts'

/** Line numbers of matches that an error names. */
const MOST_NAMED = 10

const parameters = z.object({
  path: z.string().min(1).describe('Path relative to the workspace'),
  old_string: z
    .string()
    .min(1)
    .describe('The text to replace, exactly as it stands in the file, with enough around it to be there once'),
  new_string: z.string().describe('The text that takes its place'),
})

type Args = z.infer<typeof parameters>

/** The tool `edit_file`: replaces one place in a text file; every other byte stays. */
export const editFileTool: Tool<Args> = {
  name: 'edit_file',
  description:
    'Replaces one piece of text in a file of the workspace by another. old_string has to be in the file exactly once; read the file first.',
  permission: 'sensitive',
  parameters,
  async invoke(args, context) {
    const target = await targetOf(args.path, context.workspace)
    // A file that changed since people saw the diff is said to be so, not searched for what may be gone.
    if (context.basis === undefined || context.basis === target.basis) {
      const bytes = edited(target, args)
      await replaceFile(target, bytes, args.path, context)
      return written(target, bytes)
    }
    await replaceFile(target, target.bytes ?? Buffer.alloc(0), args.path, context)
    return ''
  },
  approval: {
    preview: async (args, context) => {
      const target = await targetOf(args.path, context.workspace)
      return previewOf(target, edited(target, args))
    },
    always: () => FILE_EDITS,
    subjects: ({ path }) => [path],
    check,
  },
}

/** The bytes of the file after the edit. Throws with a sentence where it can't be made. */
function edited({ shown, bytes }: Target, args: Args): Buffer {
  if (bytes === null) throw new Error(`there is no "${shown}"; write_file makes files`)
  const text = textOf(bytes)
  if (text === null) throw new Error(`"${shown}" is not UTF-8 text, so it is not edited: other bytes could be harmed`)
  // A model writes line breaks as \\n; in a file with other ones both its texts take on those.
  const candidates = [args, withCrlf(args)]
  for (const { old_string: old, new_string: fresh } of candidates) {
    const places = placesOf(text, old)
    if (places.length === 1) {
      const [at] = places
      return Buffer.from(text.slice(0, at!) + fresh + text.slice(at! + old.length))
    }
    if (places.length > 1) throw new Error(manyText(shown, text, places))
  }
  throw new Error(
    `old_string is not in "${shown}"; it has to be there exactly as it stands in the file, blanks included`,
  )
}

function withCrlf(args: Args): Args {
  const crlf = (text: string) => text.replace(/\r?\n/g, '\r\n')
  return { ...args, old_string: crlf(args.old_string), new_string: crlf(args.new_string) }
}

/** Where a text stands, places that overlap included: each would be another edit. */
function placesOf(text: string, wanted: string): number[] {
  const places: number[] = []
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) places.push(at)
  return places
}

function manyText(shown: string, text: string, places: readonly number[]): string {
  const lines = places.slice(0, MOST_NAMED).map((at) => text.slice(0, at).split('\n').length)
  const more = places.length > MOST_NAMED ? ' …' : ''
  return `old_string is ${places.length} times in "${shown}" (lines ${lines.join(', ')}${more}); it has to be there once: take more of what stands around it`
}

/** The old text can't be found any more once it is replaced, so the new one is looked for. */
async function check(args: Args, context: ToolContext, basis: string | undefined): Promise<string> {
  const target = await targetOf(args.path, context.workspace)
  const text = target.bytes && textOf(target.bytes)
  const isThere = text !== null && args.new_string !== '' && placesOf(text, args.new_string).length > 0
  const isGone = text !== null && placesOf(text, args.old_string).length === 0
  if (target.basis !== basis && isThere && isGone)
    return `${target.shown} has the new text in place of the old one: it took effect.`
  return found(target, null, basis)
}
