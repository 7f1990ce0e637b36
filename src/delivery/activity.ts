import { backticked, fenceFor } from '../render/chatMarkdown.ts'
import { cut } from '../render/graphemes.ts'
import type { Task, TaskGroup } from '../shared/task.ts'
import type { Wording } from '../shared/wording/wording.ts'

/** The replies that show what the agent does: one line for a call, and its result in a code block. */

/** Arguments that tell most about a call, the most telling first. */
const TELLING = ['command', 'pattern', 'query', 'path', 'file_path', 'url', 'task', 'question', 'input', 'text']
/** The longest argument shown in the line of a call, in UTF-16 units. */
const LONGEST_ARGUMENT = 100
/** What of a result is shown in the thread. The whole of it is in the transcript. */
const RESULT_LINES = 12
const RESULT_LENGTH = 900

/** One call as it is shown now: in a line among others, by itself, and in parts. */
export interface ShownCall {
  line: string
  whole: string
  task: Task
}

/** A call that runs. `isFull`: with all that is shown of calls at most. */
export function runningCall(id: string, name: string, args: unknown, isFull: boolean, wording: Wording): ShownCall {
  const line = wording.toolRunning(callLine(name, args))
  return { line, whole: line, task: taskOf(id, name, args, 'running', isFull) }
}

/** A call with its result, which is told only with `isFull`. A long result is shown in part, and says so. */
export function endedCall(call: EndedCall, isFull: boolean, wording: Wording): ShownCall {
  const { id, name, args, observation, failed } = call
  const shown = callLine(name, args)
  const line = failed ? wording.toolFailed(shown) : wording.toolDone(shown)
  const task = taskOf(id, name, args, failed ? 'failed' : 'done', isFull)
  const result = isFull ? shownResult(observation, wording) : null
  if (!result) return { line, whole: line, task }
  const { kept, note } = result
  const fence = fenceFor(kept)
  const whole = [line, fence, kept, fence, ...note].join('\n')
  return { line, whole, task: { ...task, output: [kept, ...note].join('\n') } }
}

export interface EndedCall {
  id: string
  name: string
  args: unknown
  observation: string
  failed: boolean
}

/** The calls of one message in parts. */
export function taskOrGroup(calls: readonly ShownCall[], wording: Wording): Task | TaskGroup {
  const tasks = calls.map(({ task }) => task)
  if (tasks.length === 1) return tasks[0]!
  const all = tasks.length
  const count = (wanted: Task['state']) => tasks.filter(({ state }) => state === wanted).length
  if (count('running') > 0) return { title: wording.toolsRunning(all - count('running'), all), tasks }
  const failed = count('failed')
  return { title: failed > 0 ? wording.toolsFailed(all, failed) : wording.toolsDone(all), tasks }
}

/** `**read_file** \`src/a.ts\``: the tool and the argument that tells most. */
function callLine(name: string, args: unknown): string {
  const argument = onOneLine(tellingArgument(args))
  const tool = backticked(cut(name, LONGEST_ARGUMENT))
  return argument === '' ? tool : `${tool} ${backticked(cut(argument, LONGEST_ARGUMENT))}`
}

function taskOf(id: string, name: string, args: unknown, state: Task['state'], isFull: boolean): Task {
  const argument = tellingArgument(args).trim()
  const short = cut(onOneLine(argument), LONGEST_ARGUMENT)
  const title = `${cut(name, LONGEST_ARGUMENT)} ${short}`.trim()
  return { id, title, state, ...(isFull && short !== argument && { details: beginningOf(argument) }) }
}

/** As much of a result as is shown, with a note if that is not all; `null` where there is nothing to show. */
function shownResult(observation: string, wording: Wording): { kept: string; note: string[] } | null {
  const whole = observation.trimEnd()
  if (whole === '') return null
  const kept = beginningOf(whole)
  if (kept === whole) return { kept, note: [] }
  const shownLines = kept.split('\n').length
  const allLines = whole.split('\n').length
  const note =
    allLines > shownLines ? wording.toolLines(shownLines, allLines) : wording.toolCharacters(kept.length, whole.length)
  return { kept, note: [note] }
}

function beginningOf(text: string): string {
  return cut(text.split('\n').slice(0, RESULT_LINES).join('\n'), RESULT_LENGTH)
}

function onOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
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
