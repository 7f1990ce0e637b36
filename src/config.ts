/**
 * Everything that can be set, read once at the start from three places. Later ones win:
 * the defaults, `toycoder.yml`, a `.env` beside `package.json`, the real environment.
 * The result is complete, typed and checked, so nothing below `app` ever reads the environment or asks whether a key is there.
 */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  type DiscordConfig,
  discordFrom,
  type EngineConfig,
  type Environment,
  engineFrom,
  findMistypedNames,
  logLevelFrom,
  mergeEnvironment,
  parseDotEnv,
  type SlackConfig,
  type StoreConfig,
  secretsOf,
  slackFrom,
  storeFrom,
  urlFrom,
  webFrom,
} from './configEnv.ts'
import { parseConfigFile } from './configFile.ts'
import type { ConfigFile } from './configSchema.ts'
import { messageOf, type Problem, SetupError } from './shared/errors.ts'
import type { LogLevel } from './shared/log.ts'

export interface Config {
  /** `null`: no bot token, so Slack stays off. */
  slack: SlackConfig | null
  /** `null`: no token, so Discord stays off. */
  discord: DiscordConfig | null
  console: { enabled: boolean; publicUrl: string | null }
  /** By name, in the order of the file. Empty: look for a local Ollama, else the demo model. */
  providers: Readonly<Record<string, ProviderConfig>>
  /** A key of `providers`; `null` exactly when there is none. */
  defaultProvider: string | null
  agent: { maxSteps: number; maxRetries: number; retryIntervalMs: number }
  session: { contextTokens: number; keepRecentTokens: number }
  mcpServers: Readonly<Record<string, McpServerConfig>>
  access: AccessConfig
  /** `tools`: by name of a tool or a pattern such as `tickets__*`; the first rule of a list whose `match` fits counts. */
  approvals: ApprovalRule & { tools: Readonly<Record<string, readonly ToolApprovalRule[]>> }
  /** `enabled`: DANGEROUS tools that are on from the start. `disabled`: tools that are not offered at all. */
  tools: { enabled: string[]; disabled: string[] }
  workspaces: Readonly<Record<string, WorkspaceConfig>>
  /** Absolute path of the folder the tools work on where no other workspace is named. */
  workspacePath: string
  /** Absolute path of a folder whose `NAME.yml` override roles and fields of the prompts; `null`: none. */
  promptsPath: string | null
  sandbox: 'auto' | 'none'
  auditors: { input: boolean; output: boolean }
  budgets: { thread: Budget; personPerDay: Budget; channelPerDay: Budget; day: Budget }
  delivery: {
    toolActivity: 'full' | 'compact' | 'off'
    /** An answer that was written for so long ends with a message of its own. */
    notifyAfterMs: number
    slackStreaming: 'dm' | 'always' | 'never'
    slackLimits: Limits<'edits' | 'removals' | 'posts' | 'channelPosts'>
    discordLimits: Limits<'edits' | 'posts' | 'all'>
  }
  locale: 'auto' | 'en' | 'zh'
  store: StoreConfig
  /** Where runs are scheduled: in this process, or by a queue that several instances share. */
  engine: EngineConfig
  /** `port` 0 takes any free one. */
  web: { host: string; port: number }
  logLevel: LogLevel
  /** The files that were read, for what the start says; `null` where there was none. */
  sources: { configFile: string | null; envFile: string | null }
  /** Secrets of the environment, whether or not ToyCoder uses them; `knownSecrets` (configSecrets.ts) has them all. */
  otherSecrets: readonly string[]
}

export interface ProviderConfig {
  name: string
  /** Empty for a server that wants no key. */
  apiKeys: string[]
  /** Without a trailing slash. */
  baseUrl: string
  /** Model names by role: `default` always, `fast`, `planner` and others where they differ. */
  models: { default: string; [role: string]: string }
  /** US dollars per million tokens, by model name. */
  prices: Readonly<Record<string, { input: number; cachedInput: number; output: number }>>
}

export type McpServerConfig = {
  /** What the server's tools need unless `tools` says otherwise. */
  permission: Permission
  tools: Readonly<Record<string, Permission>>
  /** What tools need that the server itself calls read-only. Absent: as any other. */
  readOnly?: Permission
} & (
  | { kind: 'command'; command: string; args: string[]; env: Readonly<Record<string, string>> }
  | { kind: 'http'; url: string; headers: Readonly<Record<string, string>> }
)
type Permission = 'safe' | 'sensitive' | 'dangerous'

/** Empty lists: every member of the workspace or guild; for `admins`: those the platform calls admins. */
export interface AccessConfig {
  channels: string[]
  people: string[]
  roles: string[]
  guests: boolean
  external: boolean
  admins: string[]
}

export interface ApprovalRule {
  /** A list holds ids of people, roles or groups. */
  who: 'anyone' | 'requester' | 'not_requester' | string[]
  /** How many different people have to say yes. */
  quorum: number
  expiresMs: number
  /** Whether "always in this thread" is offered. */
  always: boolean
}

/** What some calls have instead of the general rule. `match`: only those with a command or path that fits, such as `*deploy*`. */
export type ToolApprovalRule = Partial<ApprovalRule> & { match?: string }

export interface WorkspaceConfig {
  /** Absolute. */
  path: string
  /** Channel ids or `*`. */
  channels: string[]
  /** Whether commands may use the network. */
  network: boolean
}

/** How often some calls may be made: no window of `perMs` milliseconds holds more than `most`. */
type Limits<Names extends string> = Record<Names, { most: number; perMs: number }>

/** A limit that is absent is none. */
export interface Budget {
  usd?: number
  tokens?: number
}

export type { DiscordConfig, EngineConfig, SlackConfig, StoreConfig }

export interface LoadOptions {
  /** The real environment. It wins over `.env`, also where a variable is there but empty (that switches a thing off). */
  env: Readonly<Record<string, string | undefined>>
  /** The folder of `package.json`; `.env`, `toycoder.yml` and relative paths count from here. */
  cwd: string
  /** The text of a file, or `null` when there is none. Default: reads from disk. */
  readFile?: (path: string) => string | null
}

/** Throws one `SetupError` that lists every problem with its mend. No message ever holds the value of a secret. */
export function loadConfig({ env, cwd, readFile = readFromDisk }: LoadOptions): Config {
  const problems: Problem[] = []
  const read = (path: string, name: string) => {
    try {
      return readFile(path)
    } catch (error) {
      problems.push({
        problem: `${name} can't be read: ${messageOf(error)}.`,
        mend: 'Make it a file that this user may read.',
      })
      return null
    }
  }

  const envFile = join(cwd, '.env')
  const dotEnvText = read(envFile, '.env')
  const dotEnv = parseDotEnv(dotEnvText ?? '')
  const environment = mergeEnvironment(env, dotEnv)

  const chosen = environment.TOYCODER_CONFIG
  const configName = chosen ?? 'toycoder.yml'
  const configFile = resolve(cwd, configName)
  const problemsBefore = problems.length
  const configText = read(configFile, configName)
  if (configText === null && chosen !== undefined && problems.length === problemsBefore) {
    const mend = 'Correct the path (it counts from the folder of package.json), or leave `TOYCODER_CONFIG` out.'
    problems.push({ problem: `\`TOYCODER_CONFIG\` names ${chosen}, which is not there.`, mend })
  }
  const parsed = parseConfigFile(configText ?? '', configName, environment)
  problems.push(...parsed.problems, ...findMistypedNames(dotEnv, environment, parsed.used))
  // A file with problems ends the start in any case; the defaults in its place let the rest be checked too.
  const file = parsed.file ?? parseConfigFile('', configName, {}).file!

  const store = storeFrom(environment, cwd, problems)
  const providers = parsed.file === null ? {} : providersFrom(file, environment, problems)
  const config: Config = {
    slack: slackFrom(environment, problems),
    discord: discordFrom(environment, problems),
    console: { enabled: file.console.enabled, publicUrl: file.console.public_url },
    providers,
    defaultProvider: file.default_provider ?? Object.keys(providers)[0] ?? null,
    agent: {
      maxSteps: file.agent.max_steps,
      maxRetries: file.agent.max_retries,
      retryIntervalMs: Math.round(file.agent.retry_interval * 1_000),
    },
    session: { contextTokens: file.session.context_tokens, keepRecentTokens: file.session.keep_recent_tokens },
    mcpServers: mapValues(file.mcp_servers, mcpServerOf),
    access: file.access,
    approvals: {
      ...approvalOf(file.approvals),
      tools: mapValues(file.approvals.tools, (rules) => rules.map(toolApprovalOf)),
    },
    tools: file.tools,
    ...workspacesFrom(file, environment, cwd),
    promptsPath: file.prompts === null ? null : resolve(cwd, file.prompts),
    sandbox: file.sandbox,
    auditors: file.auditors,
    budgets: {
      thread: present(file.budgets.thread),
      personPerDay: present(file.budgets.person_per_day),
      channelPerDay: present(file.budgets.channel_per_day),
      day: present(file.budgets.day),
    },
    delivery: deliveryFrom(file.delivery),
    locale: file.locale,
    store,
    engine: engineFrom(environment, store, problems),
    web: webFrom(environment, problems),
    logLevel: logLevelFrom(environment, problems),
    sources: {
      configFile: configText === null ? null : configFile,
      envFile: dotEnvText === null ? null : envFile,
    },
    otherSecrets: secretsOf(environment),
  }
  if (problems.length > 0) throw new SetupError(problems)
  return config
}

/** Which model answers in a role (`planner`, `fast`, …): the role's own, else the default one; `null` without a provider. */
export function modelFor(config: Config, role = 'default'): { provider: ProviderConfig; model: string } | null {
  const provider = config.defaultProvider === null ? undefined : config.providers[config.defaultProvider]
  if (provider === undefined) return null
  return { provider, model: provider.models[role] ?? provider.models.default }
}

// Parts of the result ---------------------------------------------------------------------------------------------------

/** The file's providers; without any, one named `openai` made of the three variables. */
function providersFrom(
  file: ConfigFile,
  environment: Environment,
  problems: Problem[],
): Record<string, ProviderConfig> {
  const entries = Object.entries(file.providers)
  if (entries.length === 0) return providerFromEnvironment(environment, problems)
  return Object.fromEntries(
    entries.map(([name, { api_keys: apiKeys, base_url: baseUrl, models, prices }]) => {
      const provider: ProviderConfig = {
        name,
        apiKeys,
        baseUrl: baseUrl.replace(/\/+$/, ''),
        models: { ...models, default: models.default! },
        prices: mapValues(prices, ({ input, cached_input, output }) => ({
          input,
          cachedInput: cached_input ?? input,
          output,
        })),
      }
      return [name, provider]
    }),
  )
}

function providerFromEnvironment(environment: Environment, problems: Problem[]): Record<string, ProviderConfig> {
  const { OPENAI_API_KEY: key, OPENAI_BASE_URL: address, OPENAI_MODEL: model } = environment
  if (key === undefined && address === undefined) {
    if (model === undefined) return {}
    const mend = 'Set `OPENAI_API_KEY`, or `OPENAI_BASE_URL` for a server that needs no key.'
    problems.push({ problem: '`OPENAI_MODEL` is set, but no server for it.', mend })
    return {}
  }
  if (model === undefined) {
    const given = key === undefined ? 'OPENAI_BASE_URL' : 'OPENAI_API_KEY'
    const mend = 'Set it to the name of a model that the server has.'
    problems.push({ problem: `\`${given}\` is set, but \`OPENAI_MODEL\` is not.`, mend })
  }
  const baseUrl = urlFrom(environment, 'OPENAI_BASE_URL', 'https://api.openai.com/v1', problems).replace(/\/+$/, '')
  return {
    openai: {
      name: 'openai',
      apiKeys: key === undefined ? [] : [key],
      baseUrl,
      models: { default: model ?? '' },
      prices: {},
    },
  }
}

/** `TOYCODER_WORKSPACE` moves the main workspace; without any there is one, for all channels. */
function workspacesFrom(file: ConfigFile, environment: Environment, cwd: string) {
  const moved = environment.TOYCODER_WORKSPACE
  const workspaces: Record<string, WorkspaceConfig> = mapValues(file.workspaces, ({ path, channels, network }) => ({
    path: resolve(cwd, path),
    channels: channels.length === 0 ? ['*'] : channels,
    network,
  }))
  const names = Object.keys(workspaces)
  const main =
    names.find((name) => name === 'main') ?? names.find((name) => workspaces[name]!.channels.includes('*')) ?? names[0]
  const workspacePath = resolve(cwd, moved ?? (main === undefined ? 'workspace' : workspaces[main]!.path))
  if (main === undefined) workspaces.main = { path: workspacePath, channels: ['*'], network: false }
  else workspaces[main] = { ...workspaces[main]!, path: workspacePath }
  return { workspaces, workspacePath }
}

function mcpServerOf(server: ConfigFile['mcp_servers'][string]): McpServerConfig {
  const { permission, tools, read_only: readOnly } = server
  const needs = { permission, tools, ...(readOnly && { readOnly }) }
  if (server.url !== undefined) return { kind: 'http', url: server.url, headers: server.headers, ...needs }
  return { kind: 'command', command: server.command!, args: server.args, env: server.env, ...needs }
}

function deliveryFrom(file: ConfigFile['delivery']): Config['delivery'] {
  const { channel_posts: channelPosts, ...slackLimits } = file.slack_limits
  return {
    toolActivity: file.tool_activity,
    notifyAfterMs: file.notify_after,
    slackStreaming: file.slack_streaming,
    slackLimits: { ...slackLimits, channelPosts },
    discordLimits: file.discord_limits,
  }
}

function approvalOf({ who, quorum, expires, always }: ConfigFile['approvals']): ApprovalRule {
  return { who, quorum, expiresMs: expires, always }
}

function toolApprovalOf({ expires, ...rule }: ConfigFile['approvals']['tools'][string][number]): ToolApprovalRule {
  return present({ ...rule, expiresMs: expires })
}

/** The address of the store, as `openStore` takes it. */
export function storeUrl({ store }: Config): string {
  if (store.kind === 'memory') return 'memory:'
  return store.kind === 'sqlite' ? `sqlite:${store.path}` : store.url
}

// Small tools -----------------------------------------------------------------------------------------------------------

function readFromDisk(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

function mapValues<T, U>(from: Readonly<Record<string, T>>, change: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(from).map(([key, value]) => [key, change(value)]))
}

type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** Without the keys that hold `undefined`. */
function present<T extends object>(value: T): Present<T> {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as Present<T>
}
