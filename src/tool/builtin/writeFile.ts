import { z } from 'zod'
import type { Tool } from '../tool.ts'
import { LARGEST_TEXT, refuseChanged, replaceFile, type Target, targetOf } from './atomicWrite.ts'
import { diffOf, previewOf, textOf } from './fileDiff.ts'

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
    refuseChanged(target, context)
    const bytes = replacement(target, args)
    await replaceFile(target, bytes, args.path, context)
    return written(target, bytes)
  },
  approval: {
    preview: async (args, context) => {
      const target = await targetOf(args.path, context.workspace)
      return previewOf(target, replacement(target, args))
    },
    always: () => FILE_EDITS,
    subjects: ({ path }, { workspace }) => pathsOf(path, workspace),
    check: async (args, context, basis) => {
      const target = await targetOf(args.path, context.workspace)
      return found(target, bytesOf(args), basis)
    },
  },
}

/** The paths that rules are held against: as people see it and, where a link leads elsewhere, the one that is written. */
export async function pathsOf(path: string, workspace: string): Promise<string[]> {
  const { shown, real } = await targetOf(path, workspace)
  return [...new Set([shown, real])]
}

/** Throws where nobody could see in a diff what would be lost or made. */
function replacement({ shown, bytes }: Target, args: Args): Buffer {
  if (bytes && textOf(bytes) === null)
    throw new Error(`"${shown}" is not UTF-8 text (binary, or in another encoding), so it is not overwritten`)
  return bytesOf(args)
}

function bytesOf({ content }: Args): Buffer {
  if (content.includes('\0')) throw new Error('the content holds a NUL character; binary files are not written')
  if (!content.isWellFormed()) throw new Error('the content holds half of a character, which no file can')
  const bytes = Buffer.from(content)
  if (bytes.length > LARGEST_TEXT) throw new Error(`the content is too large (${bytes.length} bytes)`)
  return bytes
}

/** What a change did, for the model and the thread. */
export function written({ shown, bytes: before }: Target, after: Buffer): string {
  const { body } = diffOf(before, after)
  const verb = before === null ? 'made' : before.equals(after) ? 'left as it was' : 'changed'
  return `${shown} was ${verb}.\n\n${body}`
}

/** What a look at the file says of a change that may or may not have been made. */
export function found({ shown, bytes, basis: now }: Target, wanted: Buffer | null, basis: string | undefined): string {
  if (wanted && bytes?.equals(wanted)) return `${shown} has the new content: it took effect.`
  if (basis !== undefined && now === basis) return `${shown} is as it was before: it did not take effect.`
  return `${shown} is neither as it was nor as it was to be: something else changed it.`
}
