import { randomBytes } from 'node:crypto'
import { Registry } from 'prom-client'
import { type Config, storeUrl } from './config.ts'
import { knownSecrets } from './configSecrets.ts'
import { createCards } from './conversation/cards.ts'
import { COMMANDS, createCommandRegistry } from './conversation/commandRegistry.ts'
import { createConversation } from './conversation/conversation.ts'
import { createDecisions } from './conversation/decisions.ts'
import { createDoor } from './conversation/door.ts'
import { createParkedNotice } from './conversation/parked.ts'
import { platformsByName } from './conversation/platforms.ts'
import { createEditScheduler, type EditScheduler } from './delivery/editScheduler.ts'
import { tidyUp } from './delivery/leftovers.ts'
import { withPacedSignals } from './delivery/pacedSignals.ts'
import { createEngine } from './engine.ts'
import { checkModelServer, chooseModels } from './models.ts'
import { createOperatorSocket, operatorSocketPath } from './operatorSocket.ts'
import { createConsolePlatform } from './platform/console/consolePlatform.ts'
import { createDiscordPlatform } from './platform/discord/discordPlatform.ts'
import type { ChatPlatform } from './platform/platform.ts'
import { createSlackPlatform } from './platform/slack/slackPlatform.ts'
import { freeThread } from './retryThread.ts'
import { ensureWorkspace } from './sampleWorkspace.ts'
import { createActivityLevels } from './session/activityLevels.ts'
import { auditOf } from './session/approvalAudit.ts'
import { createApprovals } from './session/approvals.ts'
import { createFollowed } from './session/followed.ts'
import { createInbox } from './session/inbox.ts'
import { createMirrors } from './session/mirrors.ts'
import { openScheduler } from './session/openScheduler.ts'
import { createOutbox } from './session/outboxStore.ts'
import { createResultKeeper } from './session/resultStore.ts'
import type { Store } from './session/store.ts'
import { createThreadStore } from './session/threadStore.ts'
import { createToolSwitches } from './session/toolSwitches.ts'
import { createUsageLedger } from './session/usage.ts'
import { type Problem, SetupError } from './shared/errors.ts'
import type { Log } from './shared/log.ts'
import { createRedactor } from './shared/redact.ts'
import type { PlatformName, ThreadRef } from './shared/thread.ts'
import { wordingFor } from './shared/wording/wording.ts'
import { startReport } from './startReport.ts'
import { loadMcpTools } from './tool/mcpTools.ts'
import { needsToken } from './web/door.ts'
import { createWebServer } from './web/server.ts'
import { openWholeStore } from './wholeStore.ts'

export interface App {
  /** Resolves when everything that is on is connected, with the lines that say what is on. Rejects with a `SetupError`. */
  start(): Promise<string[]>
  /** New events are refused, runs get `graceMs` to end, then everything is closed. What is left over goes on after the next start. */
  stop(graceMs: number): Promise<void>
}

/** How many threads work at once in one process; each waits on the network most of the time. */
const CONCURRENCY = 200
/** How long the HTTP server may take to finish answers under way. */
const WEB_GRACE_MS = 1_000
/** How long an MCP server gets for each of three steps of being ended. */
const MCP_GRACE_MS = 800

/** Puts the parts together: the only place that knows which ones there are. */
export async function createApp(config: Config, log: Log): Promise<App> {
  const workspaceWas = await ensureWorkspace(config.workspacePath)
  const redactor = createRedactor(knownSecrets(config))
  const store = await openWholeStore(storeUrl(config), log)
  const models = await chooseModels(config, log)
  const mcp = await loadMcpTools({
    servers: config.mcpServers,
    keeper: createResultKeeper(store),
    mask: redactor.text,
    times: { graceMs: MCP_GRACE_MS },
    log,
  })
  const commands = createCommandRegistry(COMMANDS)
  const wordingOf = (locale: string | undefined) => wordingFor(config.locale === 'auto' ? locale : config.locale)

  const threads = createThreadStore(store)
  const followed = createFollowed(store)
  const outbox = createOutbox(store)
  const inbox = createInbox({ store, wake: (key) => scheduler.wake(key) })
  const { scheduler, bus } = await openScheduler(config.engine, {
    store,
    openThreads: () => inbox.open(),
    log,
    onParked: (key, error) => void tellParked(key, error),
  })

  const fixedWording = config.locale === 'auto' ? {} : { wording: wordingFor(config.locale) }
  const consolePlatform = config.console.enabled
    ? createConsolePlatform({ storage: store, log, adminName: 'You', pageUrl: () => consoleUrl })
    : null
  const slack = config.slack
    ? createSlackPlatform({
        ...slackOptions(config.slack),
        ...fixedWording,
        rates: config.delivery.slackLimits,
        streaming: config.delivery.slackStreaming,
        log,
      })
    : null
  const discord = config.discord
    ? createDiscordPlatform({
        ...discordOptions(config.discord),
        commands: slashCommands(),
        rates: config.delivery.discordLimits,
        log,
        ...fixedWording,
      })
    : null
  const running: ChatPlatform[] = [consolePlatform, slack, discord].filter((one) => one !== null)
  const edits = new Map<PlatformName, EditScheduler>(
    running.map(({ name, limits }) => [name, createEditScheduler({ limits })]),
  )
  const platforms = platformsByName(running.map((one) => withPacedSignals(one, edits.get(one.name)!)))
  const tellParked = createParkedNotice({ threads, platforms, wordingOf, log })

  const { access } = config
  const approvals = createApprovals(store)
  const switches = createToolSwitches(store)
  const mirrors = createMirrors(store)
  const wake = (key: string, options?: { afterMs: number }) => scheduler.wake(key, options)
  const cards = createCards({
    platforms,
    outbox,
    edits: (platform) => edits.get(platform)!,
    approvals,
    mirrors,
    wordingOf,
    unsafeTools: ['run_command'],
    log,
  })
  const approverParts = {
    platforms,
    approvals,
    cards,
    rules: config.approvals,
    access,
    mask: redactor.text,
    wake,
    switches,
    log,
  }
  const engine = createEngine({ config, models, store, redactor, mcp, approverParts, log })
  const decisions = createDecisions({
    ...{ approvals, cards, mirrors, inbox, platforms, access, wake, log },
    toolOf: async (_, name) => engine.toolOf(name),
    workspace: config.workspacePath,
  })
  const door = createDoor({
    inbox,
    threads,
    followed,
    scheduler,
    platforms,
    commands,
    decisions,
    access,
    wordingOf,
    log,
  })
  const conversation = createConversation({
    platforms,
    threads,
    inbox,
    outbox,
    wake,
    edits: (platform) => edits.get(platform)!,
    ...engine,
    usage: createUsageLedger(store),
    approvals,
    cards,
    switches,
    activityLevels: createActivityLevels(store),
    audit: (thread, channel) => collect(auditOf(store, thread, channel)),
    activity: config.delivery.toolActivity,
    notifyAfterMs: config.delivery.notifyAfterMs,
    access,
    commands,
    redactor,
    wordingOf,
    log,
  })

  const deliveryOf = (thread: ThreadRef) =>
    platforms.has(thread.platform) ? { platform: platforms.of(thread), edits: edits.get(thread.platform)! } : undefined

  let consoleUrl: string | null = null
  let stopping = false
  const { host, port } = config.web
  const { publicUrl } = config.console
  const web = createWebServer({
    host,
    port,
    log,
    healthy: async () => ({ ok: true }),
    ready: async () => ready(),
    metrics: new Registry(),
    console: consolePlatform?.pages ?? null,
    slackEvents: slack?.httpHandler ?? null,
    ...(publicUrl && { publicUrl }),
    ...(consolePlatform && needsToken(host, publicUrl) && { token: await consoleToken(store) }),
    language: config.locale,
  })

  const socketPath = operatorSocketPath(storeUrl(config))
  const operator = { retry: (key: string) => freeThread(key, { store, retry: scheduler.retry }) }
  const operatorSocket = socketPath === null ? null : createOperatorSocket({ path: socketPath, operator, log })

  async function ready() {
    const queue = await scheduler.health()
    const storing = await store.set('health/probe', Date.now()).then(
      () => ({ ok: true }),
      (error: Error) => ({ ok: false, detail: error.message }),
    )
    const parts = { store: storing, scheduler: queue, running: { ok: !stopping } }
    return { ok: Object.values(parts).every(({ ok }) => ok), parts }
  }

  return {
    async start() {
      const problems: Problem[] = await checkModelServer(config, log)
      // All at once, so that one start names every mistake.
      const outcomes = await Promise.allSettled(running.map((platform) => platform.start(door)))
      for (const outcome of outcomes) {
        if (outcome.status === 'fulfilled') continue
        if (!(outcome.reason instanceof SetupError)) throw outcome.reason
        problems.push(...outcome.reason.problems)
      }
      if (problems.length > 0) {
        await scheduler.stop({ graceMs: 0 })
        await close()
        throw new SetupError(problems)
      }
      await tidyUp(deliveryOf, { outbox, log })
      await scheduler.start(conversation, { concurrency: CONCURRENCY })
      await operatorSocket?.start()
      const listening = await web.start()
      consoleUrl = listening.url
      return startReport(config, { ...listening, models, workspaceWas, mcp: mcp.status() })
    },

    async stop(graceMs) {
      stopping = true
      door.close()
      const { interrupted } = await scheduler.stop({ graceMs })
      if (interrupted.length > 0) log.info({ threads: interrupted }, 'these go on after the next start')
      await close()
    },
  }

  async function close() {
    for (const scheduler of edits.values()) scheduler.stop()
    await cards.rest()
    const ended = [
      web.stop(WEB_GRACE_MS),
      operatorSocket?.stop(),
      mcp.close(),
      ...running.map((platform) => platform.stop()),
    ]
    await Promise.allSettled(ended)
    await bus.close()
    await store.close()
  }
}

function slackOptions(slack: NonNullable<Config['slack']>) {
  const { botToken, apiUrl } = slack
  return slack.mode === 'socket'
    ? { botToken, apiUrl, appToken: slack.appToken }
    : { botToken, apiUrl, signingSecret: slack.signingSecret }
}

function discordOptions({ token, guildId, apiUrl }: NonNullable<Config['discord']>) {
  return { token, apiUrl, ...(guildId && { guildId }) }
}

/** Discord's commands, from the registry: those with a slash of their own, and `/toycoder` for all others. */
function slashCommands() {
  const wording = wordingFor('en')
  const own = COMMANDS.filter(({ slash }) => slash).map((command) => ({
    name: command.name,
    description: command.help(wording),
    option: { name: 'task', description: wording.helpPlan, required: true },
  }))
  return [
    ...own,
    {
      name: 'toycoder',
      description: wording.helpHelp,
      option: { name: 'command', description: 'help', required: false },
    },
  ]
}

/** The token of a console that listens beyond this machine: made once and kept, so that links stay valid over restarts. */
async function consoleToken(store: Store): Promise<string> {
  await store.putIfAbsent('console-token', randomBytes(24).toString('base64url'))
  return (await store.get<string>('console-token'))!
}

async function collect<T>(all: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const one of all) list.push(one)
  return list
}
