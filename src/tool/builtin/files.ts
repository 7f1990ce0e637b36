import { listDirectoryTool } from './listDirectory.ts'
import { readFileTool } from './readFile.ts'

/** The tools that read files and directories. */
export function fileTools() {
  return [readFileTool, listDirectoryTool] as const
}
