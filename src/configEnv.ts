/** The part of the configuration that comes from the environment: tokens, addresses, where to store and where to listen. */
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import type { Problem } from './shared/errors.ts'
import { LOG_LEVELS, type LogLevel } from './shared/log.ts'
import { editDistance, nearest } from './shared/nearest.ts'

/** Every variable that ToyCoder reads, by the name people type. `.env.example` lists the same ones. */
export const ENVIRONMENT_NAMES = [
  'SLACK_BOT_TOKEN',
  'SLACK_APP_TOKEN',
  'SLACK_SIGNING_SECRET',
  'SLACK_API_URL',
  'DISCORD_TOKEN',
  'DISCORD_GUILD_ID',
  'DISCORD_API_URL',
  'OPENAI_API_KEY',
  'OPENAI_BASE_URL',
  'OPENAI_MODEL',
  'STORE_URL',
  'ENGINE_URL',
  'TOYCODER_CONFIG',
  'TOYCODER_WORKSPACE',
  'HOST',
  'PORT',
  'LOG_LEVEL',
] as const

/** What is set, cleaned; a variable that is empty is not in it. */
export type Environment = Readonly<Record<string, string>>

/** Socket Mode needs an app token; HTTP mode (events come to `/slack/events`) the signing secret. */
export type SlackConfig = {
  botToken: string
  /** With a trailing slash. */
  apiUrl: string
} & ({ mode: 'socket'; appToken: string } | { mode: 'http'; signingSecret: string })

export interface DiscordConfig {
  token: string
  /** Commands are registered for this guild alone, where they show at once. Absent: globally. */
  guildId?: string
  /** Without a trailing slash and without the version. */
  apiUrl: string
}

export type StoreConfig =
  | { kind: 'sqlite' /** Absolute. */; path: string }
  | { kind: 'memory' }
  | { kind: 'redis' | 'postgres'; url: string }

export type EngineConfig = { kind: 'embedded' } | { kind: 'redis' | 'postgres'; url: string }

/** Variables of a `.env`, as Node reads one, without the byte order mark that some editors put at its start. */
export function parseDotEnv(text: string): Record<string, string> {
  return parseEnv(text.replace(/^\uFEFF/, '')) as Record<string, string>
}

/**
 * One environment of the two. The real one wins, also with an empty value, which then means "not set". Spaces around a
 * value and quotes left in it (Docker's `--env-file` keeps them) are taken off.
 */
export function mergeEnvironment(
  real: Readonly<Record<string, string | undefined>>,
  dotEnv: Readonly<Record<string, string>>,
): Environment {
  const merged: Record<string, string> = {}
  for (const [name, value] of [...Object.entries(dotEnv), ...Object.entries(real)]) {
    if (value === undefined) continue
    const cleaned = withoutQuotes(value)
    if (cleaned === '') delete merged[name]
    else merged[name] = cleaned
  }
  return merged
}

function withoutQuotes(value: string): string {
  const trimmed = value.trim()
  return trimmed.match(/^(["'])(.*)\1$/s)?.[2]?.trim() ?? trimmed
}

/**
 * Names in `.env` that are almost one of ours while ours is not set: a typing slip that would otherwise switch something
 * off without a word. Names that `toycoder.yml` takes with `${NAME}` are meant as they are.
 */
export function findMistypedNames(
  dotEnv: Readonly<Record<string, string>>,
  environment: Environment,
  meant: ReadonlySet<string>,
): Problem[] {
  const known = new Set<string>(ENVIRONMENT_NAMES)
  return Object.keys(dotEnv)
    .filter((name) => name.includes('_') && !known.has(name) && !meant.has(name) && environment[name] !== undefined)
    .flatMap((name) => {
      const likely = nearest(name, ENVIRONMENT_NAMES)
      if (likely === undefined || environment[likely] !== undefined || editDistance(name, likely) > 2) return []
      return [{ problem: `\`${name}\` in .env is not a setting.`, mend: `Did you mean \`${likely}\`?` }]
    })
}

/** True for names of variables and headers whose value should not be seen. */
export function isSecretName(name: string): boolean {
  return /(token|secret|password|passwd|passphrase|credentials?|authorization|cookie|(api|access|private|secret|signing|auth)[-_]?key)$/i.test(
    name,
  )
}

/** The values of an environment that should not be seen: by their names, and passwords inside of addresses. */
export function secretsOf(environment: Environment): string[] {
  return Object.entries(environment).flatMap(([name, value]) => (isSecretName(name) ? [value] : passwordsOf(value)))
}

/** The password in an address, as it stands there and decoded; `[]` where there is none. */
export function passwordsOf(address: string): string[] {
  const written = address.match(/^[a-z][\w+.-]{0,32}:\/\/[^/@:\s]*:([^/@\s]+)@/i)?.[1]
  if (written === undefined) return []
  try {
    return [written, decodeURIComponent(written)]
  } catch {
    return [written]
  }
}

// The parts -------------------------------------------------------------------------------------------------------------

export function slackFrom(environment: Environment, problems: Problem[]): SlackConfig | null {
  const { SLACK_BOT_TOKEN: botToken, SLACK_APP_TOKEN: appToken, SLACK_SIGNING_SECRET: signingSecret } = environment
  const address = urlFrom(environment, 'SLACK_API_URL', 'https://slack.com/api/', problems)
  checkSecrets(environment, ['SLACK_BOT_TOKEN', 'SLACK_APP_TOKEN', 'SLACK_SIGNING_SECRET'], problems)

  if (botToken !== undefined && !/^(xoxe\.)?xoxb-/.test(botToken)) {
    const mend = /^xapp-/.test(botToken)
      ? 'This is the app token: it belongs into `SLACK_APP_TOKEN`.'
      : 'Copy the "Bot User OAuth Token" from "OAuth & Permissions" of your app at api.slack.com/apps.'
    problems.push({ problem: '`SLACK_BOT_TOKEN` does not begin with `xoxb-`.', mend })
  }
  if (appToken !== undefined && !appToken.startsWith('xapp-')) {
    const mend =
      'Make an app-level token with the scope `connections:write` under "Basic Information" of your app at api.slack.com/apps.'
    problems.push({ problem: '`SLACK_APP_TOKEN` does not begin with `xapp-`.', mend })
  }
  if (botToken === undefined) {
    const alone =
      appToken !== undefined ? 'SLACK_APP_TOKEN' : signingSecret !== undefined ? 'SLACK_SIGNING_SECRET' : null
    if (alone !== null) {
      const mend = `Set \`SLACK_BOT_TOKEN\` to the bot token (it begins with \`xoxb-\`), or remove \`${alone}\` to leave Slack off.`
      problems.push({ problem: `\`${alone}\` is set, but \`SLACK_BOT_TOKEN\` is not.`, mend })
    }
    return null
  }
  const apiUrl = address.endsWith('/') ? address : `${address}/`
  if (appToken !== undefined) return { mode: 'socket', botToken, appToken, apiUrl }
  if (signingSecret !== undefined) return { mode: 'http', botToken, signingSecret, apiUrl }
  problems.push({
    problem: '`SLACK_BOT_TOKEN` is set, but neither `SLACK_APP_TOKEN` nor `SLACK_SIGNING_SECRET` is.',
    mend: 'Set `SLACK_APP_TOKEN` (it begins with `xapp-`) for Socket Mode, or `SLACK_SIGNING_SECRET` for events over HTTP.',
  })
  return null
}

export function discordFrom(environment: Environment, problems: Problem[]): DiscordConfig | null {
  const address = urlFrom(environment, 'DISCORD_API_URL', 'https://discord.com/api', problems)
  checkSecrets(environment, ['DISCORD_TOKEN'], problems, /^Bot /)
  const { DISCORD_TOKEN: token, DISCORD_GUILD_ID: guildId } = environment
  if (guildId !== undefined && !/^\d+$/.test(guildId)) {
    problems.push({
      problem: '`DISCORD_GUILD_ID` is not an id: it has to be digits only.',
      mend: 'Switch on developer mode in Discord, then right-click the server and choose "Copy Server ID".',
    })
  }
  if (token === undefined) return null
  return {
    // People copy the whole header from examples.
    token: token.replace(/^Bot /, ''),
    ...(guildId === undefined ? {} : { guildId }),
    apiUrl: address.replace(/\/+$/, '').replace(/\/v\d+$/, ''),
  }
}

export function storeFrom(environment: Environment, cwd: string, problems: Problem[]): StoreConfig {
  const address = environment.STORE_URL ?? 'sqlite:data/toycoder.sqlite'
  if (/^(memory:|sqlite::memory:)/.test(address)) return { kind: 'memory' }
  const file = address.match(/^sqlite:(?:\/\/)?(.+)$/)?.[1]
  if (file !== undefined) return { kind: 'sqlite', path: resolve(cwd, file) }
  const server = serverFrom(address)
  if (server !== null) return server
  problems.push({
    problem: `\`STORE_URL\` is not an address of a store (${schemeOf(address)}).`,
    mend: 'Use `sqlite:PATH`, `memory:`, `redis://HOST:PORT` or `postgres://USER:PASSWORD@HOST/DATABASE`.',
  })
  return { kind: 'memory' }
}

/** The queue: `ENGINE_URL`, else the store's server, else this process alone. */
export function engineFrom(environment: Environment, store: StoreConfig, problems: Problem[]): EngineConfig {
  const address = environment.ENGINE_URL
  if (address === undefined) {
    return store.kind === 'redis' || store.kind === 'postgres'
      ? { kind: store.kind, url: store.url }
      : { kind: 'embedded' }
  }
  const server = serverFrom(address)
  if (server !== null && (store.kind === 'sqlite' || store.kind === 'memory')) {
    problems.push({
      problem: '`ENGINE_URL` names a queue for several instances, but the store is of one process alone.',
      mend: 'Set `STORE_URL` to a server that they share (`redis://…` or `postgres://…`), or leave `ENGINE_URL` out.',
    })
    return { kind: 'embedded' }
  }
  if (server !== null) return server
  problems.push({
    problem: `\`ENGINE_URL\` is not an address of a queue's server (${schemeOf(address)}).`,
    mend: "Use `redis://HOST:PORT` or `postgres://USER:PASSWORD@HOST/DATABASE`, or leave it out for the store's own server.",
  })
  return { kind: 'embedded' }
}

export function webFrom(environment: Environment, problems: Problem[]): { host: string; port: number } {
  const host = (environment.HOST ?? '127.0.0.1').replace(/^\[(.*)\]$/, '$1')
  if (isIP(host) === 0 && !/^[\w.-]+$/.test(host)) {
    problems.push({
      problem: '`HOST` is not a host name or address.',
      mend: 'Use a bare address such as `127.0.0.1` or `0.0.0.0`; the port goes into `PORT`.',
    })
  }
  const port = environment.PORT ?? '3000'
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
    problems.push({
      problem: `\`PORT\` is not a port: ${quoted(port)}.`,
      mend: 'Use a whole number from 1 to 65535, or 0 for any free port.',
    })
  }
  return { host, port: Number(port) }
}

export function logLevelFrom(environment: Environment, problems: Problem[]): LogLevel {
  const given = (environment.LOG_LEVEL ?? 'info').toLowerCase()
  const level = LOG_LEVELS.find((name) => name === given)
  if (level !== undefined) return level
  const likely = nearest(given, LOG_LEVELS)
  problems.push({
    problem: `\`LOG_LEVEL\` is not a level: ${quoted(given)}.`,
    mend: `${likely === undefined ? '' : `Did you mean \`${likely}\`? `}The levels are ${LOG_LEVELS.join(', ')}.`,
  })
  return 'info'
}

// Checks ----------------------------------------------------------------------------------------------------------------

/** The http(s) address under `name`, or `fallback`. A wrong one becomes a problem; the address itself may hold a password. */
export function urlFrom(environment: Environment, name: string, fallback: string, problems: Problem[]): string {
  const address = environment[name]
  if (address === undefined) return fallback
  if (isHttpUrl(address)) return address
  problems.push({
    problem: `\`${name}\` is not a web address.`,
    mend: `Use one that begins with \`http://\` or \`https://\`, or leave it out for \`${fallback}\`.`,
  })
  return fallback
}

export function isHttpUrl(address: string): boolean {
  return /^https?:\/\/\S+$/i.test(address) && URL.canParse(address)
}

function serverFrom(address: string): { kind: 'redis' | 'postgres'; url: string } | null {
  if (/\s/.test(address) || !URL.canParse(address)) return null
  if (/^(redis|rediss|valkey|valkeys):\/\/./.test(address)) {
    return { kind: 'redis', url: address.replace(/^valkey/, 'redis') }
  }
  return /^postgres(ql)?:\/\/./.test(address) ? { kind: 'postgres', url: address } : null
}

const schemeOf = (address: string) => {
  const scheme = address.match(/^[a-z][\w+.-]*:/i)?.[0]
  return scheme === undefined ? 'it has no scheme' : `its scheme is \`${scheme}\``
}

/** Short harmless values only; what could be a secret pasted into the wrong place is not repeated. */
const quoted = (value: string) =>
  /^[\w.,: -]{1,16}$/.test(value) ? `"${value}"` : 'its value has other signs or is too long'

/** Tokens are printable ASCII without spaces; anything else came along while copying. */
function checkSecrets(environment: Environment, names: string[], problems: Problem[], allowedPrefix = /^(?!)/): void {
  for (const name of names) {
    const value = environment[name]?.replace(allowedPrefix, '')
    if (value === undefined || /^[!-~]+$/.test(value)) continue
    problems.push({
      problem: `\`${name}\` holds a space or a sign that no token has.`,
      mend: 'Copy it again, without quotes and line breaks.',
    })
  }
}
