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

/** How calls are shown. */
export interface Showing {
  /** With what the line of a call cuts, and with its result. */
  isFull: boolean
  wording: Wording
  /** Takes secrets out of arguments; results are masked where they come from. */
  mask(text: string): string
}

export interface RunningCall {
  id: string
  name: string
  args: unknown
}

export interface EndedCall extends RunningCall {
  observation: string
  failed: boolean
}

export function shownRunning(call: RunningCall, showing: Showing): ShownCall {
  const { line, task } = lineAndTask(call, 'running', showing)
  const running = showing.wording.toolRunning(line)
  return { line: running, whole: running, task }
}

/** A call with its result. A long result is shown in part, and says so. */
export function shownEnded(call: EndedCall, showing: Showing): ShownCall {
  const { isFull, wording } = showing
  const { line: shown, task } = lineAndTask(call, call.failed ? 'failed' : 'done', showing)
  const line = call.failed ? wording.toolFailed(shown) : wording.toolDone(shown)
  const result = isFull ? shownResult(call.observation, wording) : null
  if (!result) return { line, whole: line, task }
  const { kept, note } = result
  const fence = fenceFor(kept)
  const whole = [line, fence, kept, fence, ...note].join('\n')
  return { line, whole, task: { ...task, output: [kept, ...note].join('\n') } }
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
function lineAndTask({ id, name, args }: RunningCall, state: Task['state'], { isFull, mask }: Showing) {
  const argument = mask(tellingArgument(args)).trim()
  const tool = cut(name, LONGEST_ARGUMENT)
  const short = cut(onOneLine(argument), LONGEST_ARGUMENT)
  const task: Task = { id, title: `${tool} ${short}`.trim(), state }
  if (isFull && short !== argument) task.details = beginningOf(argument)
  return { line: short === '' ? backticked(tool) : `${backticked(tool)} ${backticked(short)}`, task }
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
