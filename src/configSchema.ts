/** What may stand in `toycoder.yml`: every key with its limits and default, and the words in which a wrong value is told. */
import { z } from 'zod'
import { isHttpUrl } from './configEnv.ts'

// Leaves: each says in words what it takes. Integers arrive as bigint, so that the 19 digits of a Discord id survive. ------

const asText = (value: unknown) => (typeof value === 'bigint' || typeof value === 'number' ? String(value) : value)
const asNumber = (value: unknown) => {
  if (typeof value === 'bigint') return Number(value)
  // A number that came from the environment is text.
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value
}
const asFlag = (value: unknown) => (value === 'true' ? true : value === 'false' ? false : value)
const asList = (value: unknown) =>
  value === undefined || value === null || Array.isArray(value) || typeof value === 'object' ? value : [value]

/** One thing without its list is a list of it. Problems are told as the file has it (see `asWritten`, configFile.ts). */
const asMany = (value: unknown) => (value === undefined || Array.isArray(value) ? value : [value])

const text = (what = 'a text') => z.preprocess(asText, z.string(`must be ${what}`).trim().min(1, `must be ${what}`))
const list = (what: string) => z.preprocess(asList, z.array(text(what), `must be a list: ${what}`)).prefault([])
const flag = (fallback: boolean) => z.preprocess(asFlag, z.boolean('must be `true` or `false`')).prefault(fallback)
const whole = (least: number, most: number) => {
  const error = `must be a whole number from ${least.toLocaleString('en')} to ${most.toLocaleString('en')}`
  return z.preprocess(asNumber, z.int(error).min(least, error).max(most, error))
}
const amount = (most = 1e12) => {
  const error = 'must be a number that is not negative'
  return z.preprocess(asNumber, z.number(error).min(0, error).max(most, `must be at most ${most}`))
}
const choice = <const T extends string[]>(...values: T) => {
  return z.enum(values, `must be one of ${values.map((value) => `\`${value}\``).join(', ')}`)
}
const webAddress = z.string('must be a web address').refine(isHttpUrl, 'must begin with `http://` or `https://`')
const section = <T extends z.core.$ZodLooseShape>(shape: T) =>
  z.strictObject(shape, {
    error: (issue) => (issue.code === 'invalid_type' ? 'must hold settings, one a line' : undefined),
  })
/** A rule over several settings, checked also where one of them is wrong: all problems are told at once. */
const always = <T extends object>(holds: (value: T) => boolean, error: string) =>
  [
    (value: unknown) => holds(value as T),
    { error, when: ({ value }: { value: unknown }) => typeof value === 'object' && value !== null },
  ] as const
const named = <T extends z.ZodType>(of: T) =>
  z.record(z.string(), of, 'must hold names, each with its settings').prefault({})

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const YEAR_MS = 365 * UNITS.d

/** `90s`, `30m`, `24h`, `7d` in milliseconds. */
const duration = z.string('must be a duration such as `30m`, `24h` or `7d`').transform((written, context) => {
  const [, count, unit] = written.trim().match(/^(\d+(?:\.\d+)?)\s*([smhd])$/) ?? []
  const ms = Number(count) * (UNITS[unit as keyof typeof UNITS] ?? Number.NaN)
  if (ms >= 1_000 && ms <= YEAR_MS) return Math.round(ms)
  context.addIssue('must be a duration such as `30m`, `24h` or `7d`, from `1s` to `365d`')
  return z.NEVER
})

/** `50/60s`: so many calls in any such time. */
const rate = z.string('must be a rate such as `50/60s`').transform((written, context) => {
  const [, most, count, unit] = written.trim().match(/^(\d+)\s*\/\s*(\d+)\s*([smh])$/) ?? []
  const perMs = Number(count) * (UNITS[unit as keyof typeof UNITS] ?? Number.NaN)
  if (Number(most) >= 1 && Number(most) <= 100_000 && perMs >= 1_000 && perMs <= UNITS.d)
    return { most: Number(most), perMs }
  context.addIssue('must be a rate such as `50/60s`: at least 1, in at least `1s`')
  return z.NEVER
})

// The schema ------------------------------------------------------------------------------------------------------------

const provider = section({
  api_keys: list('keys as text'),
  base_url: webAddress
    .refine((url) => !/\/(chat\/)?completions\/?$/.test(url), 'must end before `/chat/completions`, mostly with `/v1`')
    .prefault('https://api.openai.com/v1'),
  models: named(text('the name of a model')),
  prices: named(section({ input: amount(), cached_input: amount().optional(), output: amount() })),
})

const permission = choice('safe', 'sensitive', 'dangerous')
interface McpServer {
  command?: unknown
  url?: unknown
  args?: unknown
  env?: unknown
  headers?: unknown
}
export const isEmpty = (value: unknown) => Object.keys(value ?? {}).length === 0
const mcpServer = section({
  command: text('a command').optional(),
  args: z.preprocess(asList, z.array(z.preprocess(asText, z.string('must be text')), 'must be a list')).prefault([]),
  env: named(z.preprocess(asText, z.string('must be text'))),
  url: webAddress.optional(),
  headers: named(z.preprocess(asText, z.string('must be text'))),
  permission: permission.prefault('sensitive'),
  tools: named(permission),
  read_only: permission.optional(),
})
  .refine(
    ...always<McpServer>(
      ({ command, url }) => (command === undefined) !== (url === undefined),
      'must have either `command` or `url`',
    ),
  )
  .refine(
    ...always<McpServer>(
      ({ command, headers }) => command === undefined || isEmpty(headers),
      'has `headers`, which belong to a `url`',
    ),
  )
  .refine(
    ...always<McpServer>(
      ({ url, args, env }) => url === undefined || (isEmpty(args) && isEmpty(env)),
      'has `args` or `env`, which belong to a `command`',
    ),
  )

const whoError = 'must be `anyone`, `requester`, `not_requester` or a list of ids of people, roles or groups'
const who = z.union(
  [z.enum(['anyone', 'requester', 'not_requester']), z.array(text('an id')).min(1, whoError)],
  whoError,
)
const quorum = whole(1, 20)
const toolApproval = section({
  who: who.optional(),
  quorum: quorum.optional(),
  expires: duration.optional(),
  always: z.preprocess(asFlag, z.boolean('must be `true` or `false`')).optional(),
  match: text('a pattern such as `*deploy*`').optional(),
})

const budget = section({ usd: amount().optional(), tokens: whole(1, 1e12).optional() }).prefault({})
const workspace = section({ path: text('a folder'), channels: list('ids of channels, or `*`'), network: flag(false) })

export const configSchema = section({
  providers: named(provider),
  default_provider: text('the name of a provider').optional(),
  agent: section({
    max_steps: whole(1, 1_000).prefault(16),
    max_retries: whole(0, 20).prefault(2),
    retry_interval: amount(3_600).prefault(1),
  }).prefault({}),
  session: section({
    context_tokens: whole(1_000, 100_000_000).prefault(100_000),
    keep_recent_tokens: whole(0, 100_000_000).prefault(20_000),
  })
    .refine(
      ...always<{ context_tokens?: unknown; keep_recent_tokens?: unknown }>(
        ({ context_tokens: all, keep_recent_tokens: recent }) =>
          typeof all !== 'number' || typeof recent !== 'number' || recent < all,
        'must have a `keep_recent_tokens` below its `context_tokens`',
      ),
    )
    .prefault({}),
  mcp_servers: named(mcpServer),
  access: section({
    channels: list('ids of channels'),
    people: list('ids of people'),
    roles: list('ids of roles or groups'),
    guests: flag(false),
    external: flag(false),
    admins: list('ids of people, roles or groups'),
  }).prefault({}),
  approvals: section({
    who: who.prefault('anyone'),
    quorum: quorum.prefault(1),
    expires: duration.prefault('24h'),
    always: flag(true),
    tools: named(z.preprocess(asMany, z.array(toolApproval).min(1, 'must hold a rule'))),
  }).prefault({}),
  tools: section({ enabled: list('names of tools'), disabled: list('names of tools') }).prefault({}),
  workspaces: named(workspace),
  prompts: text('the path of a folder').nullable().prefault(null),
  sandbox: choice('auto', 'none').prefault('auto'),
  auditors: section({ input: flag(false), output: flag(false) }).prefault({}),
  budgets: section({ thread: budget, person_per_day: budget, channel_per_day: budget, day: budget }).prefault({}),
  delivery: section({
    tool_activity: choice('full', 'compact', 'off').prefault('full'),
    // No answer takes a year.
    notify_after: z.preprocess((written) => (written === 'never' ? '365d' : written), duration).prefault('2m'),
    slack_streaming: choice('dm', 'always', 'never').prefault('dm'),
    slack_limits: section({
      edits: rate.prefault('50/60s'),
      removals: rate.prefault('50/60s'),
      posts: rate.prefault('300/60s'),
      channel_posts: rate.prefault('2/2s'),
    }).prefault({}),
    discord_limits: section({
      edits: rate.prefault('4/5s'),
      posts: rate.prefault('4/5s'),
      all: rate.prefault('46/1s'),
    }).prefault({}),
  }).prefault({}),
  console: section({ enabled: flag(true), public_url: webAddress.nullable().prefault(null) }).prefault({}),
  locale: choice('auto', 'en', 'zh').prefault('auto'),
})

export type ConfigFile = z.output<typeof configSchema>
