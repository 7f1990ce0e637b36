import { createApp } from './app.ts'
import { loadConfig, storeUrl } from './config.ts'
import { knownSecrets } from './configSecrets.ts'
import { auditLine } from './conversation/auditText.ts'
import { RENDER_USAGE, renderedFile, renderOptions } from './renderCommand.ts'
import { retryThread } from './retryThread.ts'
import { auditOf } from './session/approvalAudit.ts'
import { openRawStore, openStore } from './session/openStore.ts'
import type { Store } from './session/store.ts'
import { messageOf, SetupError } from './shared/errors.ts'
import { createLog } from './shared/log.ts'
import { createProgress } from './shared/progress.ts'
import { createRedactor, type Redactor } from './shared/redact.ts'
import { threadLines } from './threadsCommand.ts'
import { exportStore, importStore, type TransferParts } from './transferCommands.ts'

const USAGE = `Usage: toycoder [start]              start the bot with what is configured, and the local console
       toycoder audit [--json] [THREAD]
                                     who was asked, who decided what, and what came of it; beside a running bot, too
       toycoder threads [--parked] [--json]
                                     the threads and what they do; --parked: those whose runs failed again and again
       toycoder threads --retry THREAD
                                     gives a parked thread a fresh start; beside a running bot, too
       toycoder render --platform slack|discord|html|text FILE
                                     the messages that a Markdown file (or -) would become, as JSON
       toycoder export FILE          everything in the store, to a file; goes on where it was cut off
       toycoder import FILE          such a file into the empty store that STORE_URL names; goes on likewise
       toycoder help                 show this

Settings are environment variables, a .env file and toycoder.yml; .env.example and toycoder.example.yml show them all.
`

/** How long runs may go on after the first SIGTERM or SIGINT, in milliseconds; the whole end takes at most 10 seconds. */
const GRACE_MS = 6_000
const LAST_RESORT_MS = 9_500

type Command = (words: readonly string[]) => Promise<void>

/** The command line. Exit codes: 0 ended as asked, 1 failed while running, 2 could not start with these settings. */
export async function run(args: readonly string[]): Promise<void> {
  const [name = 'start', ...words] = args
  const command = COMMANDS.get(name)
  try {
    if (!command) throw new NotUnderstood()
    await command(words)
  } catch (error) {
    if (error instanceof NotUnderstood) {
      process.stderr.write(`toycoder: there is no command "${[name, ...words].join(' ')}"\n${USAGE}`)
      process.exitCode = 2
    } else if (error instanceof SetupError) {
      const what = name === 'start' ? "ToyCoder can't start" : `toycoder ${name}`
      process.stderr.write(`${what}:\n${problemLines(error)}`)
      process.exit(2)
    } else throw error
  }
}

/** These words are no command of ours. */
class NotUnderstood extends Error {}

async function help(): Promise<void> {
  process.stdout.write(USAGE)
}

function problemLines({ problems }: SetupError): string {
  return problems.map(({ problem, mend }) => `  - ${problem}\n    ${mend}\n`).join('')
}

async function render(words: readonly string[]): Promise<void> {
  // A reader that has seen enough, such as `head`, is no trouble.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  const options = renderOptions(words)
  process.stdout.write(options === 'help' ? RENDER_USAGE : await renderedFile(options, process.stdin))
}

async function audit(words: readonly string[]): Promise<void> {
  const [thread, ...more] = words.filter((word) => word !== '--json')
  if (more.length > 0 || thread?.startsWith('-')) throw new NotUnderstood()
  await printAudit({ json: words.includes('--json'), ...(thread !== undefined && { thread }) })
}

/** With `json` a line of JSON for each entry; secrets are masked in both forms. */
async function printAudit({ json, thread }: { json: boolean; thread?: string }): Promise<void> {
  await lookInto(async (store, redactor) => {
    for await (const entry of auditOf(store, thread)) {
      const line = json ? redactor.text(JSON.stringify(entry)) : `${entry.thread}  ${auditLine(entry, redactor)}`
      process.stdout.write(`${line}\n`)
    }
  })
}

async function threads(words: readonly string[]): Promise<void> {
  const [first, ...more] = words
  if (first === '--retry') return retry(onlyWord(more))
  if (words.some((word) => !['--parked', '--json'].includes(word))) throw new NotUnderstood()
  const wanted = { json: words.includes('--json'), parkedOnly: words.includes('--parked') }
  await lookInto(async (store, redactor) => {
    for await (const line of threadLines(store, { ...wanted, redactor })) process.stdout.write(`${line}\n`)
  })
}

async function retry(thread: string): Promise<void> {
  const config = loadConfig({ env: process.env, cwd: process.cwd() })
  const freed = await retryThread(thread, config, createLog(config.logLevel))
  if (freed) process.stdout.write(`${thread} is free: what waits in it is tried again.\n`)
  else {
    process.stderr.write(`${thread} is not parked; toycoder threads --parked lists those that are.\n`)
    process.exitCode = 1
  }
}

/** A look into the store, also beside the bot that has it. */
async function lookInto(look: (store: Store, redactor: Redactor) => Promise<void>): Promise<void> {
  const config = loadConfig({ env: process.env, cwd: process.cwd() })
  const store = await openStore(storeUrl(config), { log: createLog(config.logLevel), readOnly: true })
  try {
    await look(store, createRedactor(knownSecrets(config)))
  } finally {
    await store.close()
  }
}

async function exportAll(words: readonly string[]): Promise<void> {
  const path = onlyWord(words)
  const entries = await exportStore(path, await transferParts('exported', true))
  process.stderr.write(`${path} holds all ${entries} entries of the store.\n`)
}

async function importAll(words: readonly string[]): Promise<void> {
  const { read, expired, found } = await importStore(onlyWord(words), await transferParts('written and checked', false))
  const gone = expired > 0 ? `; the time of ${expired} was over` : ''
  process.stderr.write(`The store holds ${found} entries, of ${read} in the file${gone}.\n`)
}

async function transferParts(label: string, readOnly: boolean): Promise<TransferParts> {
  const config = loadConfig({ env: process.env, cwd: process.cwd() })
  const adapter = await openRawStore(storeUrl(config), { log: createLog(config.logLevel), readOnly })
  return { adapter, progress: (total) => createProgress({ label, total }) }
}

function onlyWord(words: readonly string[]): string {
  const [word, ...more] = words
  if (word === undefined || word.startsWith('-') || more.length > 0) throw new NotUnderstood()
  return word
}

async function start(words: readonly string[]): Promise<void> {
  if (words.length > 0) throw new NotUnderstood()
  const cwd = process.cwd()
  const config = loadConfig({ env: process.env, cwd })
  const log = createLog(config.logLevel)
  const app = await createApp(config, log)
  const ending = endOnSignal(() => app.stop(GRACE_MS))
  const report = await app.start()
  if (!ending.begun) process.stdout.write(`${report.join('\n')}\n`)
}

/** The first signal ends in order, a second one at once. */
function endOnSignal(stop: () => Promise<void>): { readonly begun: boolean } {
  const state = { begun: false }
  const end = async (signal: NodeJS.Signals) => {
    if (state.begun) process.exit(1)
    state.begun = true
    process.stderr.write(`${signal}: finishing what is under way; once more to end at once\n`)
    setTimeout(() => process.exit(1), LAST_RESORT_MS).unref()
    try {
      await stop()
      process.exit(0)
    } catch (error) {
      process.stderr.write(`the end was not clean: ${messageOf(error)}\n`)
      process.exit(1)
    }
  }
  process.on('SIGTERM', end)
  process.on('SIGINT', end)
  return state
}

const COMMANDS = new Map<string, Command>([
  ['start', start],
  ['audit', audit],
  ['export', exportAll],
  ['import', importAll],
  ['threads', threads],
  ['render', render],
  ...['help', '--help', '-h'].map((name): [string, Command] => [name, help]),
])
