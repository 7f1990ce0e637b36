import { backticked, fenceFor } from '../render/chatMarkdown.ts'
import { cut } from '../render/graphemes.ts'
import type { Wording } from '../shared/wording/wording.ts'

/** The replies that show what the agent does: one line for a call, and its result in a code block. */

/** Arguments that tell most about a call, the most telling first. */
const TELLING = ['command', 'pattern', 'query', 'path', 'file_path', 'url', 'task', 'question', 'input', 'text']
/** The longest argument shown in the line of a call, in UTF-16 units. */
const LONGEST_ARGUMENT = 100
/** What of a result is shown in the thread. The whole of it is in the transcript. */
const RESULT_LINES = 12
const RESULT_LENGTH = 900

/** `**read_file** \`src/a.ts\``: the tool and the argument that tells most. */
export function callLine(name: string, args: unknown): string {
  const argument = tellingArgument(args).replace(/\s+/g, ' ').trim()
  const tool = backticked(cut(name, LONGEST_ARGUMENT))
  return argument === '' ? tool : `${tool} ${backticked(cut(argument, LONGEST_ARGUMENT))}`
}

/** The line of a call with its result. A long result is shown in part, and says so. */
export function resultText(call: string, observation: string, failed: boolean, wording: Wording): string {
  const line = failed ? wording.toolFailed(call) : wording.toolDone(call)
  const whole = observation.trimEnd()
  if (whole === '') return line
  const lines = whole.split('\n')
  const kept = cut(lines.slice(0, RESULT_LINES).join('\n'), RESULT_LENGTH)
  const fence = fenceFor(kept)
  const block = `${line}\n${fence}\n${kept}\n${fence}`
  if (kept === whole) return block
  const shownLines = kept.split('\n').length
  const note =
    lines.length > shownLines
      ? wording.toolLines(shownLines, lines.length)
      : wording.toolCharacters(kept.length, whole.length)
  return `${block}\n${note}`
}

function tellingArgument(args: unknown): string {
  const value = typeof args === 'string' ? parsed(args) : args
  if (value === null || typeof value !== 'object') return value === undefined || value === null ? '' : String(value)
  const entries = new Map(Object.entries(value))
  const name = TELLING.find((key) => typeof entries.get(key) === 'string') ?? [...entries.keys()][0]
  if (name === undefined) return ''
  const found = entries.get(name)
  return typeof found === 'string' ? found : JSON.stringify(value)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
