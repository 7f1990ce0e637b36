import { type Message, type ToolCall, textOf } from '../shared/message.ts'
import { type DemoTexts, demoTextsFor } from '../shared/wording/demoModel.ts'

/** What the demo model does next: it says something, and it calls tools or is done. */
export interface DemoMove {
  text: string
  calls: { name: string; args: Record<string, unknown> }[]
}

/** A call of the turn under way and what came of it. */
interface Done {
  name: string
  args: Record<string, unknown>
  result: string
}

const SHOWN_ENTRIES = 12
const SHOWN_LINES = 12
const READ_LINES = 20
/** What tells most about a project, best first; else the first text files. */
const TELLING = [/^readme/i, /^package\.json$/, /^(pyproject\.toml|cargo\.toml|go\.mod|makefile)$/i]
const TEXT_FILE = /\.(md|txt|json|ya?ml|toml|ts|js|py|go|rs|java|c|h|sh)$/i

/**
 * The next move, from the messages alone: what the person last asked for decides the scene, and the calls made since then
 * say how far it has got. A tool is called only if it is offered.
 */
export function nextMove(messages: readonly Message[], offered: ReadonlySet<string>): DemoMove {
  const lastUser = messages.findLastIndex((message) => message.role === 'user')
  const wish = lastUser < 0 ? '' : textOf(messages[lastUser]!).trim()
  const texts = demoTextsFor(wish)
  if (isPlanner(messages)) return answer(texts, texts.plan(withoutName(wish)))
  const done = callsOf(messages.slice(lastUser + 1))
  return scene(withoutName(wish), done, offered, texts)
}

function scene(wish: string, done: readonly Done[], offered: ReadonlySet<string>, texts: DemoTexts): DemoMove {
  const plan =
    /^(?:please |can you |could you )?(?:make |write |give me )?(?:a |me a )?plan\b[\s:]*(?:for |to |of )?(.+)/is.exec(
      wish,
    )
  const planned = plan?.[1] ?? /^(?:请)?(?:计划|规划)(?:一下)?[\s:：]*(.+)/s.exec(wish)?.[1]
  if (planned) return planScene(planned, done, offered, texts)
  const term =
    /\b(?:search|grep|find|look)(?: for)?\s+["'`]?([^"'`\n]+?)["'`]?[.?!]?$/i.exec(wish)?.[1] ??
    /搜索[\s:：]*(\S.*)/.exec(wish)?.[1]
  if (term) return searchScene(term.trim(), done, offered, texts)
  const path =
    /\b(?:read|show|open|cat)\s+["'`]?([\w./-]+\.\w+)/i.exec(wish)?.[1] ??
    /(?:读取?|打开)\s*["'`]?([\w./-]+\.\w+)/.exec(wish)?.[1]
  if (path) return readScene(path, done, offered, texts)
  if (
    /\b(list|ls|look around|explore|overview|workspace|files|director(y|ies)|folders?|project|code ?base|repo(sitory)?)\b|列出|目录|文件|工作区|项目/i.test(
      wish,
    )
  ) {
    return tourScene(done, offered, texts)
  }
  return answer(texts, texts.hello)
}

function tourScene(done: readonly Done[], offered: ReadonlySet<string>, texts: DemoTexts): DemoMove {
  const listing = done.find((call) => call.name === 'list_directory')
  if (!listing) return callIf(offered, 'list_directory', { path: '.' }, texts.looking, texts)
  if (failed(listing)) return answer(texts, failure(listing, texts))
  const entries = entriesOf(listing.result)
  if (entries.length === 0) return answer(texts, texts.emptyWorkspace)
  const reads = done.filter((call) => call.name === 'read_file')
  const files = tellingFiles(entries)
  if (reads.length === 0 && files.length > 0 && offered.has('read_file')) {
    const calls = files.map((path) => ({ name: 'read_file', args: { path, offset: 1, limit: READ_LINES } }))
    return { text: texts.reading, calls }
  }
  const rows = entries.slice(0, SHOWN_ENTRIES).map((entry) => `| \`${entry.name}\` | ${entry.note || texts.folder} |`)
  const rest = entries.length > SHOWN_ENTRIES ? [texts.more(entries.length - SHOWN_ENTRIES)] : []
  const table = [texts.listed(entries.length), '', texts.listHead, ...rows, ...rest].join('\n')
  return answer(texts, [table, ...reads.map((read) => excerpt(read, texts))].join('\n\n'))
}

function readScene(path: string, done: readonly Done[], offered: ReadonlySet<string>, texts: DemoTexts): DemoMove {
  const read = done.find((call) => call.name === 'read_file')
  if (!read) return callIf(offered, 'read_file', { path, offset: 1, limit: READ_LINES }, texts.reading, texts)
  return answer(texts, excerpt(read, texts))
}

function searchScene(term: string, done: readonly Done[], offered: ReadonlySet<string>, texts: DemoTexts): DemoMove {
  const search = done.find((call) => call.name === 'grep_search')
  if (!search) {
    const pattern = term.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
    return callIf(offered, 'grep_search', { pattern, path: '.' }, texts.searching(term), texts)
  }
  if (failed(search)) return answer(texts, failure(search, texts))
  const [header = '', ...lines] = search.result.split('\n')
  const block = lines.length > 0 ? `\n\n${fenced(lines.slice(0, SHOWN_LINES))}` : ''
  return answer(texts, texts.found(term, header) + block)
}

function planScene(task: string, done: readonly Done[], offered: ReadonlySet<string>, texts: DemoTexts): DemoMove {
  const planned = done.find((call) => call.name === 'planner')
  if (planned)
    return failed(planned)
      ? answer(texts, failure(planned, texts))
      : answer(texts, `${texts.planned}\n\n${withoutNote(planned.result, texts)}`)
  if (!offered.has('planner')) return answer(texts, texts.plan(task))
  return { text: texts.asking, calls: [{ name: 'planner', args: { query: task } }] }
}

function callIf(
  offered: ReadonlySet<string>,
  name: string,
  args: Record<string, unknown>,
  text: string,
  texts: DemoTexts,
): DemoMove {
  return offered.has(name) ? { text, calls: [{ name, args }] } : answer(texts, `${texts.noTools}\n\n${texts.hello}`)
}

function answer(texts: DemoTexts, text: string): DemoMove {
  return { text: `${text}\n\n${texts.note}`, calls: [] }
}

function excerpt(read: Done, texts: DemoTexts): string {
  if (failed(read)) return failure(read, texts)
  // The first line is the tool's header, the others are numbered.
  const lines = read.result
    .split('\n')
    .slice(1, 1 + SHOWN_LINES)
    .map((line) => line.replace(/^\s*\d+[\t|:→ ]\s?/, ''))
  return `${texts.read(String(read.args.path))}\n\n${fenced(lines)}`
}

function failure(call: Done, texts: DemoTexts): string {
  return `${texts.failed}\n\n${fenced(call.result.split('\n').slice(0, SHOWN_LINES))}`
}

function failed(call: Done): boolean {
  return call.result.startsWith('Error:')
}

/** A fence longer than any run of backticks in the text, so that a Markdown file can be shown whole. */
function fenced(lines: readonly string[]): string {
  const text = lines.join('\n')
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}\n${text}\n${fence}`
}

function withoutNote(text: string, texts: DemoTexts): string {
  return text.replace(texts.note, '').trim()
}

interface Entry {
  name: string
  /** What the listing says of it, such as `120 bytes`; empty for folders. */
  note: string
}

/** Reads `list_directory`: a header, then `name/` or `name (note)`, one a line. */
function entriesOf(listing: string): Entry[] {
  return listing
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const match = /^(.+?)(?: \(([^()]*)\))?$/.exec(line.trim())
      return match ? [{ name: match[1]!, note: match[2] ?? '' }] : []
    })
}

function tellingFiles(entries: readonly Entry[]): string[] {
  const names = entries.map(({ name }) => name).filter((name) => !name.endsWith('/'))
  const telling = TELLING.flatMap((pattern) => names.filter((name) => pattern.test(name)))
  return [...new Set([...telling, ...names.filter((name) => TEXT_FILE.test(name))])].slice(0, 2)
}

/** The calls since the person's message, each with its result. */
function callsOf(messages: readonly Message[]): Done[] {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))
  const results = new Map(
    messages.flatMap((message) => (message.role === 'tool' ? [[message.tool_call_id, message.content]] : [])),
  )
  return calls.flatMap((call) => {
    const result = results.get(call.id)
    return result === undefined ? [] : [{ name: call.function.name, args: argsOf(call), result }]
  })
}

function argsOf(call: ToolCall): Record<string, unknown> {
  try {
    return JSON.parse(call.function.arguments) as Record<string, unknown>
  } catch {
    return {}
  }
}

/** The planner's own prompt says what it is; it works without tools. */
function isPlanner(messages: readonly Message[]): boolean {
  const system = messages.find((message) => message.role === 'system')
  return system !== undefined && /^\s*You are the planner\b/i.test(textOf(system))
}

/** In a thread a message begins with the name of who said it. */
function withoutName(wish: string): string {
  return wish.replace(/^[^\s:][^:\n]{0,39}: /, '').trim()
}
