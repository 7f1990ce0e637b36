import type { Message, ToolCall } from '../shared/message.ts'
import { READ_RESULT } from '../tool/resultKeeper.ts'

/** From this many identical calls on, each result carries the hint. */
const HINT_AT = 3
/** So many identical calls with the same result, and the run asks people. */
const STOP_AT = 5

const HINT =
  '\n\n[Hint: this very call was made before in this run. If its result does not help, try another way or ask the people in the thread.]'

/** Names the call under which a long result was kept: the one thing in which two equal results differ. */
const KEPT_AS = new RegExp(`${READ_RESULT} with call "[^"\\n]*"`)

/** The observation of a call, with a hint when the same call was answered often before. `messages` are those of the run. */
export function withHint(observation: string, call: ToolCall, messages: readonly Message[]): string {
  const before = answeredCalls(messages).filter((answered) => answered.identity === identity(call))
  return before.length + 1 >= HINT_AT ? observation + HINT : observation
}

/** A call whose last five results in this run were all the same, if there is one. */
export function stuckCall(messages: readonly Message[]): ToolCall | undefined {
  const byIdentity = Map.groupBy(answeredCalls(messages), (answered) => answered.identity)
  for (const answered of byIdentity.values()) {
    const last = answered.slice(-STOP_AT)
    if (last.length === STOP_AT && last.every(({ result }) => result === last[0]!.result)) return last[0]!.call
  }
  return undefined
}

interface Answered {
  call: ToolCall
  identity: string
  result: string
}

function answeredCalls(messages: readonly Message[]): Answered[] {
  const found: Answered[] = []
  let open: ToolCall[] = []
  for (const message of messages) {
    if (message.role === 'assistant') open = [...(message.tool_calls ?? [])]
    if (message.role !== 'tool') continue
    const at = open.findIndex(({ id }) => id === message.tool_call_id)
    if (at < 0) continue
    const [call] = open.splice(at, 1)
    found.push({
      call: call!,
      identity: identity(call!),
      result: message.content.replace(HINT, '').replace(KEPT_AS, ''),
    })
  }
  return found
}

/** Name and arguments, whatever the white space between them and the order of the keys. */
function identity({ function: { name, arguments: args } }: ToolCall): string {
  try {
    return `${name} ${JSON.stringify(JSON.parse(args, sorted))}`
  } catch {
    return `${name} ${args.trim() || '{}'}`
  }
}

function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
