import { z } from 'zod'
import type { Tool } from '../tool.ts'
import { LARGEST_TEXT, replaceFile, type Target, targetOf } from './atomicWrite.ts'
import { diffOf, previewOf } from './fileDiff.ts'

const parameters = z.object({
  path: z.string().min(1).describe('Path relative to the workspace'),
  content: z.string().describe('The whole content of the file, exactly as it is to be'),
})

type Args = z.infer<typeof parameters>

/** "Always" for one of the tools that change files is for both. */
export const FILE_EDITS = { key: 'fileEdits', kind: 'fileEdits', detail: '' } as const

/** The tool `write_file`: makes a file or replaces it whole, with its folders. */
export const writeFileTool: Tool<Args> = {
  name: 'write_file',
  description:
    'Writes a file in the workspace: makes it, with its folders, or replaces all of it. To change a part of a file use edit_file.',
  permission: 'sensitive',
  parameters,
  async invoke(args, context) {
    const target = await targetOf(args.path, context.workspace)
    const bytes = bytesOf(args)
    await replaceFile(target, bytes, args.path, context)
    return written(target, bytes)
  },
  approval: {
    preview: async (args, context) => previewOf(await targetOf(args.path, context.workspace), bytesOf(args)),
    always: () => FILE_EDITS,
    subjects: ({ path }) => [path],
    check: async (args, context, basis) => {
      const target = await targetOf(args.path, context.workspace)
      return found(target, bytesOf(args), basis)
    },
  },
}

function bytesOf({ content }: Args): Buffer {
  if (!content.isWellFormed()) throw new Error('the content holds half of a character, which no file can')
  const bytes = Buffer.from(content)
  if (bytes.length > LARGEST_TEXT) throw new Error(`the content is too large (${bytes.length} bytes)`)
  return bytes
}

/** What a change did, for the model and the thread. */
export function written({ shown, bytes: before }: Target, after: Buffer): string {
  const { body } = diffOf(shown, before, after)
  const verb = before === null ? 'made' : before.equals(after) ? 'left as it was' : 'changed'
  return `${shown} was ${verb}.\n\n${body}`
}

/** What a look at the file says of a change that may or may not have been made. */
export function found({ shown, bytes, basis: now }: Target, wanted: Buffer | null, basis: string | undefined): string {
  if (wanted && bytes?.equals(wanted)) return `${shown} has the new content: it took effect.`
  if (basis !== undefined && now === basis) return `${shown} is as it was before: it did not take effect.`
  return `${shown} is neither as it was nor as it was to be: something else changed it.`
}
