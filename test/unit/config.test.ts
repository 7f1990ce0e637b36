// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is the syntax of the file under test
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Config, loadConfig, modelFor } from '../../src/config.ts'
import { knownSecrets, redactedConfig } from '../../src/configSecrets.ts'
import { type Problem, SetupError } from '../../src/shared/errors.ts'

interface Given {
  env?: Record<string, string | undefined>
  dotEnv?: string
  yaml?: string
  files?: Record<string, string>
}

function load({ env = {}, dotEnv, yaml, files = {} }: Given = {}): Config {
  const all: Record<string, string | undefined> = { ...files, '/home/.env': dotEnv, '/home/toycoder.yml': yaml }
  return loadConfig({ env, cwd: '/home', readFile: (path) => all[path] ?? null })
}

function problemsOf(given: Given): Problem[] {
  try {
    load(given)
  } catch (error) {
    if (error instanceof SetupError) return [...error.problems]
    throw error
  }
  return []
}

const SLACK = { SLACK_BOT_TOKEN: 'xoxb-1234-bot', SLACK_APP_TOKEN: 'xapp-1-app-token' }
const provider = (more = '') => `providers: { a: { base_url: "http://127.0.0.1:1/v1", models: { default: m }${more} } }`

describe('without any setting', () => {
  it('everything has the default of the design', () => {
    expect(load()).toEqual({
      slack: null,
      discord: null,
      console: { enabled: true, publicUrl: null },
      providers: {},
      defaultProvider: null,
      agent: { maxSteps: 16, maxRetries: 2, retryIntervalMs: 1_000 },
      session: { contextTokens: 100_000, keepRecentTokens: 20_000 },
      mcpServers: {},
      access: { channels: [], people: [], roles: [], guests: false, external: false, admins: [] },
      approvals: { who: 'anyone', quorum: 1, expiresMs: 86_400_000, always: true, tools: {} },
      tools: { enabled: [], disabled: [] },
      workspaces: { main: { path: '/home/workspace', channels: ['*'], network: false } },
      workspacePath: '/home/workspace',
      promptsPath: null,
      sandbox: 'auto',
      auditors: { input: false, output: false },
      budgets: { thread: {}, personPerDay: {}, channelPerDay: {}, day: {} },
      delivery: {
        toolActivity: 'full',
        notifyAfterMs: 120_000,
        slackStreaming: 'dm',
        slackLimits: {
          edits: { most: 50, perMs: 60_000 },
          removals: { most: 50, perMs: 60_000 },
          posts: { most: 300, perMs: 60_000 },
          channelPosts: { most: 2, perMs: 2_000 },
        },
        discordLimits: {
          edits: { most: 4, perMs: 5_000 },
          posts: { most: 4, perMs: 5_000 },
          all: { most: 46, perMs: 1_000 },
        },
      },
      locale: 'auto',
      store: { kind: 'sqlite', path: '/home/data/toycoder.sqlite' },
      engine: { kind: 'embedded' },
      web: { host: '127.0.0.1', port: 3000 },
      logLevel: 'info',
      sources: { configFile: null, envFile: null },
      otherSecrets: [],
    } satisfies Config)
  })

  it('files that are not on the disk are fine, and files that are there are read', () => {
    const folder = mkdtempSync(join(tmpdir(), 'toycoder-config-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    expect(loadConfig({ env: {}, cwd: folder }).sources).toEqual({ configFile: null, envFile: null })
    writeFileSync(join(folder, '.env'), 'PORT=4000\n')
    writeFileSync(join(folder, 'toycoder.yml'), 'locale: zh\n')
    const config = loadConfig({ env: {}, cwd: folder })
    expect(config).toMatchObject({ web: { port: 4000 }, locale: 'zh' })
    expect(config.sources).toEqual({ configFile: join(folder, 'toycoder.yml'), envFile: join(folder, '.env') })
  })

  it('a file that is there and cannot be read is a problem, not a default', () => {
    const folder = mkdtempSync(join(tmpdir(), 'toycoder-config-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    mkdirSync(join(folder, 'toycoder.yml'))
    expect(() => loadConfig({ env: {}, cwd: folder })).toThrow(/^toycoder\.yml can't be read/)
  })
})

describe('the environment', () => {
  it('wins over .env, also where it is empty, which switches a thing off', () => {
    const dotEnv = 'PORT=1\nDISCORD_TOKEN=from-the-file\nLOG_LEVEL=debug'
    const config = load({ dotEnv, env: { PORT: '2', DISCORD_TOKEN: '', LOG_LEVEL: undefined } })
    expect(config.web.port).toBe(2)
    expect(config.discord).toBeNull()
    expect(config.logLevel).toBe('debug')
  })

  it('forgives a byte order mark, Windows line ends, spaces, quotes and export', () => {
    const dotEnv = `\uFEFFSLACK_BOT_TOKEN = "xoxb-1"\r\nexport SLACK_APP_TOKEN='xapp-1' # mine\r\nDISCORD_TOKEN=  abc  \r\n`
    const config = load({ dotEnv, env: { PORT: ' 80 ', DISCORD_GUILD_ID: '"1234567890123456789"' } })
    expect(config.slack).toEqual({
      mode: 'socket',
      botToken: 'xoxb-1',
      appToken: 'xapp-1',
      apiUrl: 'https://slack.com/api/',
    })
    expect(config.discord).toEqual({ token: 'abc', guildId: '1234567890123456789', apiUrl: 'https://discord.com/api' })
    expect(config.web.port).toBe(80)
  })

  it('names a slip in a name of .env, but not names that the file takes', () => {
    expect(problemsOf({ dotEnv: 'SLACK_BOT_TOKN=xoxb-1' })).toEqual([
      { problem: '`SLACK_BOT_TOKN` in .env is not a setting.', mend: 'Did you mean `SLACK_BOT_TOKEN`?' },
    ])
    expect(problemsOf({ dotEnv: 'OPENAI_API_KEY2=abc', yaml: provider(', api_keys: "${OPENAI_API_KEY2}"') })).toEqual(
      [],
    )
    expect(problemsOf({ dotEnv: 'MY_OWN=1\nDATABASE_URL=x' })).toEqual([])
  })
})

describe('Slack', () => {
  it('uses Socket Mode with an app token, also where a signing secret is there', () => {
    expect(load({ env: { ...SLACK, SLACK_SIGNING_SECRET: 'abc' } }).slack).toMatchObject({ mode: 'socket' })
  })

  it('uses HTTP with a signing secret alone', () => {
    const env = { SLACK_BOT_TOKEN: 'xoxb-1', SLACK_SIGNING_SECRET: 'abc', SLACK_API_URL: 'http://127.0.0.1:9/api' }
    expect(load({ env }).slack).toEqual({
      mode: 'http',
      botToken: 'xoxb-1',
      signingSecret: 'abc',
      apiUrl: 'http://127.0.0.1:9/api/',
    })
  })

  it.each([
    [{ SLACK_BOT_TOKEN: 'xoxb-1' }, /neither `SLACK_APP_TOKEN` nor `SLACK_SIGNING_SECRET`/],
    [{ SLACK_APP_TOKEN: 'xapp-1' }, /`SLACK_APP_TOKEN` is set, but `SLACK_BOT_TOKEN` is not/],
    [{ SLACK_SIGNING_SECRET: 'abc' }, /`SLACK_SIGNING_SECRET` is set, but `SLACK_BOT_TOKEN` is not/],
    [{ ...SLACK, SLACK_APP_TOKEN: 'xoxb-2' }, /`SLACK_APP_TOKEN` does not begin with `xapp-`/],
    [{ ...SLACK, SLACK_BOT_TOKEN: 'xoxp-2' }, /`SLACK_BOT_TOKEN` does not begin with `xoxb-`/],
    [{ ...SLACK, SLACK_BOT_TOKEN: 'xoxb-2 xoxb-3' }, /`SLACK_BOT_TOKEN` holds a space/],
    [{ ...SLACK, SLACK_APP_TOKEN: 'xapp-\u200b1' }, /`SLACK_APP_TOKEN` holds a space/],
    [{ ...SLACK, SLACK_API_URL: 'slack.com' }, /`SLACK_API_URL` is not a web address/],
  ])('%j is one problem', (env, expected) => {
    const problems = problemsOf({ env })
    expect(problems.map(({ problem }) => problem)).toEqual([expect.stringMatching(expected)])
    expect(problems[0]!.mend).toMatch(/\w.*\.$/)
  })

  it('tells which token was put into the wrong place', () => {
    const [first] = problemsOf({ env: { SLACK_BOT_TOKEN: 'xapp-1', SLACK_APP_TOKEN: 'xapp-1' } })
    expect(first!.mend).toBe('This is the app token: it belongs into `SLACK_APP_TOKEN`.')
  })
})

describe('Discord', () => {
  it('takes the token also with the word that stands before it in headers, and the address without a version', () => {
    const env = { DISCORD_TOKEN: 'Bot abc.def', DISCORD_API_URL: 'http://127.0.0.1:9/api/v10/' }
    expect(load({ env }).discord).toEqual({ token: 'abc.def', apiUrl: 'http://127.0.0.1:9/api' })
  })

  it('refuses a server name where its id belongs', () => {
    expect(problemsOf({ env: { DISCORD_GUILD_ID: 'My server' } })[0]!.problem).toMatch(/digits only/)
  })
})

describe('store, engine and web', () => {
  it.each([
    ['sqlite:x/y.sqlite', { kind: 'sqlite', path: '/home/x/y.sqlite' }],
    ['sqlite:///var/y.sqlite', { kind: 'sqlite', path: '/var/y.sqlite' }],
    ['sqlite:/var/y.sqlite', { kind: 'sqlite', path: '/var/y.sqlite' }],
    ['memory:', { kind: 'memory' }],
    ['redis://127.0.0.1:6379/1', { kind: 'redis', url: 'redis://127.0.0.1:6379/1' }],
    ['rediss://u:p@h', { kind: 'redis', url: 'rediss://u:p@h' }],
    ['postgres://u:p@h/db', { kind: 'postgres', url: 'postgres://u:p@h/db' }],
    ['postgresql://h/db', { kind: 'postgres', url: 'postgresql://h/db' }],
  ])('STORE_URL=%s', (url, expected) => {
    expect(load({ env: { STORE_URL: url } }).store).toEqual(expected)
  })

  it('the engine runs on the server of the store, or on its own, or in this process', () => {
    expect(load({ env: { STORE_URL: 'redis://a' } }).engine).toEqual({ kind: 'redis', url: 'redis://a' })
    expect(load({ env: { STORE_URL: 'redis://a', ENGINE_URL: 'postgres://b/c' } }).engine).toEqual({
      kind: 'postgres',
      url: 'postgres://b/c',
    })
    expect(load({ env: { STORE_URL: 'memory:' } }).engine).toEqual({ kind: 'embedded' })
  })

  it.each([
    [{ STORE_URL: 'mysql://u:geheim99@h' }, /`STORE_URL` is not an address of a store/],
    [{ STORE_URL: 'sqlite:' }, /`STORE_URL`/],
    [{ STORE_URL: 'data/x.sqlite' }, /it has no scheme/],
    [{ ENGINE_URL: 'sqlite:x' }, /`ENGINE_URL` is not an address/],
    [{ ENGINE_URL: 'redis://a' }, /`ENGINE_URL` names a queue for several instances, but the store is of one/],
    [{ ENGINE_URL: 'postgres://a/b', STORE_URL: 'memory:' }, /the store is of one process alone/],
    [{ PORT: 'http' }, /`PORT` is not a port: "http"/],
    [{ PORT: '65536' }, /`PORT` is not a port/],
    [{ PORT: '-1' }, /`PORT` is not a port/],
    [{ HOST: '127.0.0.1:3000' }, /`HOST` is not a host name/],
    [{ HOST: 'http://localhost' }, /`HOST` is not a host name/],
    [{ LOG_LEVEL: 'verbose' }, /`LOG_LEVEL` is not a level: "verbose"/],
  ])('%j is one problem that does not repeat passwords', (env, expected) => {
    const problems = problemsOf({ env })
    expect(problems.map(({ problem }) => problem)).toEqual([expect.stringMatching(expected)])
    expect(JSON.stringify(problems)).not.toContain('geheim99')
  })

  it.each(['0.0.0.0', '::', '[::1]', 'localhost', 'bot.example.com', 'fe80::1%eth0'])('HOST=%s is fine', (host) => {
    expect(load({ env: { HOST: host, PORT: '0' } }).web).toEqual({ host: host.replace(/^\[|\]$/g, ''), port: 0 })
  })
})

describe('models', () => {
  it('the three variables make one provider called openai', () => {
    const config = load({ env: { OPENAI_API_KEY: 'key-12345', OPENAI_MODEL: 'm' } })
    const openai = {
      name: 'openai',
      apiKeys: ['key-12345'],
      baseUrl: 'https://api.openai.com/v1',
      models: { default: 'm' },
    }
    expect(config.providers).toEqual({ openai: { ...openai, prices: {} } })
    expect(modelFor(config, 'planner')).toEqual({ provider: config.providers.openai, model: 'm' })
  })

  it('a server of one’s own needs no key', () => {
    const config = load({ env: { OPENAI_BASE_URL: 'http://127.0.0.1:8000/v1/', OPENAI_MODEL: 'm' } })
    expect(config.providers.openai).toMatchObject({ apiKeys: [], baseUrl: 'http://127.0.0.1:8000/v1' })
  })

  it.each([
    [{ OPENAI_API_KEY: 'k' }, '`OPENAI_API_KEY` is set, but `OPENAI_MODEL` is not.'],
    [{ OPENAI_BASE_URL: 'http://h/v1' }, '`OPENAI_BASE_URL` is set, but `OPENAI_MODEL` is not.'],
    [{ OPENAI_MODEL: 'm' }, '`OPENAI_MODEL` is set, but no server for it.'],
    [{ OPENAI_BASE_URL: 'localhost:1', OPENAI_MODEL: 'm' }, '`OPENAI_BASE_URL` is not a web address.'],
  ])('%j is one problem', (env, problem) => {
    expect(problemsOf({ env }).map((one) => one.problem)).toEqual([problem])
  })

  it('the file has several, with roles and prices, and the first is the default one', () => {
    const yaml = `
providers:
  b:
    api_keys: ["\${KEY_ONE}", "\${KEY_TWO}"]
    models: { default: big, planner: bigger }
    prices: { big: { input: 1.25, cached_input: 0.125, output: 10 }, bigger: { input: 2, output: 3 } }
  a: { base_url: http://127.0.0.1:1/v1/, models: { default: 4 } }
`
    const config = load({ yaml, env: { KEY_ONE: 'one', OPENAI_API_KEY: 'not used' }, dotEnv: 'KEY_TWO=two' })
    expect(config.defaultProvider).toBe('b')
    expect(config.providers).toEqual({
      b: {
        name: 'b',
        apiKeys: ['one', 'two'],
        baseUrl: 'https://api.openai.com/v1',
        models: { default: 'big', planner: 'bigger' },
        prices: {
          big: { input: 1.25, cachedInput: 0.125, output: 10 },
          bigger: { input: 2, cachedInput: 2, output: 3 },
        },
      },
      a: { name: 'a', apiKeys: [], baseUrl: 'http://127.0.0.1:1/v1', models: { default: '4' }, prices: {} },
    })
    expect(modelFor(config, 'planner')?.model).toBe('bigger')
    expect(modelFor(config, 'fast')?.model).toBe('big')
    expect(modelFor(load())).toBeNull()
  })

  it.each([
    [
      'providers: { a: { base_url: http://h/v1 } }',
      'toycoder.yml:1: the provider `a` has no model: `models.default` is missing.',
    ],
    [
      'providers:\n  a: { models: { default: m } }',
      'toycoder.yml:2: the provider `a` has no `api_keys`, which api.openai.com needs.',
    ],
    [
      `${provider()}\ndefault_provider: b`,
      'toycoder.yml:2: `default_provider` is `b`, which is not among `providers`.',
    ],
    ['default_provider: b', 'toycoder.yml:1: `default_provider` is `b`, which is not among `providers`.'],
    [
      'providers: { a: { base_url: http://h/v1/chat/completions, models: { default: m } } }',
      'toycoder.yml:1: `providers.a.base_url` must end before `/chat/completions`, mostly with `/v1`.',
    ],
  ])('%s is one problem', (yaml, problem) => {
    expect(problemsOf({ yaml }).map((one) => one.problem)).toEqual([problem])
  })
})

describe('toycoder.yml', () => {
  it('sets every section', () => {
    const yaml = `
agent: { max_steps: 3, max_retries: 0, retry_interval: 0.25 }
session: { context_tokens: 5000, keep_recent_tokens: 0 }
mcp_servers:
  files: { command: npx, args: [-y, 3], env: { A: b }, permission: safe }
  tickets: { url: https://mcp.example.com, headers: { Authorization: "Bearer \${T}" }, tools: { search: safe }, read_only: safe }
access: { channels: C1, people: [1234567890123456789, U1], guests: true, external: "true", admins: [U2] }
approvals: { who: [U1, 99], quorum: 2, expires: 30m, always: false, tools: { deploy: { who: not_requester, expires: 7d, match: "deploy*" }, "a__*": [{ quorum: 3 }, {}] } }
tools: { enabled: [run_command], disabled: [planner] }
workspaces: { web: { path: ../web, channels: [C1], network: true }, api: { path: /srv/api } }
sandbox: none
auditors: { input: true }
budgets: { thread: { usd: 5 }, person_per_day: { tokens: 2000000 }, channel_per_day: { usd: 0.5, tokens: 7 }, day: }
delivery: { tool_activity: off, notify_after: never, slack_streaming: never, slack_limits: { edits: 25/60s, channel_posts: 1/1s }, discord_limits: { all: 20 / 1s } }
console: { enabled: false, public_url: https://bot.example.com }
locale: zh
`.replace('tool_activity: off', 'tool_activity: "off"')
    const config = load({ yaml, env: { T: 'ticket-token' } })
    expect(config).toMatchObject({
      agent: { maxSteps: 3, maxRetries: 0, retryIntervalMs: 250 },
      session: { contextTokens: 5_000, keepRecentTokens: 0 },
      mcpServers: {
        files: { kind: 'command', command: 'npx', args: ['-y', '3'], env: { A: 'b' }, permission: 'safe', tools: {} },
        tickets: {
          kind: 'http',
          url: 'https://mcp.example.com',
          headers: { Authorization: 'Bearer ticket-token' },
          permission: 'sensitive',
          tools: { search: 'safe' },
          readOnly: 'safe',
        },
      },
      access: { channels: ['C1'], people: ['1234567890123456789', 'U1'], guests: true, external: true, admins: ['U2'] },
      approvals: {
        who: ['U1', '99'],
        quorum: 2,
        expiresMs: 1_800_000,
        always: false,
        tools: {
          deploy: [{ who: 'not_requester', expiresMs: 604_800_000, match: 'deploy*' }],
          'a__*': [{ quorum: 3 }, {}],
        },
      },
      tools: { enabled: ['run_command'], disabled: ['planner'] },
      workspaces: {
        web: { path: '/web', channels: ['C1'], network: true },
        api: { path: '/srv/api', channels: ['*'], network: false },
      },
      workspacePath: '/srv/api',
      promptsPath: null,
      sandbox: 'none',
      auditors: { input: true, output: false },
      budgets: {
        thread: { usd: 5 },
        personPerDay: { tokens: 2_000_000 },
        channelPerDay: { usd: 0.5, tokens: 7 },
        day: {},
      },
      delivery: {
        toolActivity: 'off',
        notifyAfterMs: 365 * 86_400_000,
        slackStreaming: 'never',
        slackLimits: { edits: { most: 25, perMs: 60_000 }, channelPosts: { most: 1, perMs: 1_000 } },
        discordLimits: { all: { most: 20, perMs: 1_000 } },
      },
      console: { enabled: false, publicUrl: 'https://bot.example.com' },
      locale: 'zh',
    })
  })

  it('may be empty, hold comments alone, or keys without a value', () => {
    for (const yaml of ['', '# nothing\n', 'agent:\ntools:\n  enabled:\n', '\uFEFFlocale:']) {
      expect({ ...load({ yaml }), sources: null }).toEqual({ ...load(), sources: null })
    }
  })

  it('is found where TOYCODER_CONFIG says, and missed there', () => {
    const files = { '/etc/bot.yml': 'locale: zh', '/home/other.yml': 'locale: en' }
    expect(load({ env: { TOYCODER_CONFIG: '/etc/bot.yml' }, files, yaml: 'locale: auto' }).locale).toBe('zh')
    expect(load({ dotEnv: 'TOYCODER_CONFIG=other.yml', files }).sources.configFile).toBe('/home/other.yml')
    expect(problemsOf({ env: { TOYCODER_CONFIG: 'gone.yml' } })).toEqual([
      expect.objectContaining({ problem: '`TOYCODER_CONFIG` names gone.yml, which is not there.' }),
    ])
  })

  it('the main workspace moves with TOYCODER_WORKSPACE', () => {
    const yaml = 'workspaces: { main: { path: a, channels: [C1], network: true }, other: { path: b } }'
    const config = load({ yaml, env: { TOYCODER_WORKSPACE: '/code' } })
    expect(config.workspacePath).toBe('/code')
    expect(config.workspaces).toEqual({
      main: { path: '/code', channels: ['C1'], network: true },
      other: { path: '/home/b', channels: ['*'], network: false },
    })
  })

  it('takes ${NAME} from the environment wherever text may stand, whatever signs the value has', () => {
    const value = 'a"b: {c}\n#d'
    const yaml = `${provider(', api_keys: ["${K}", "x-${K}-y", "$${K}"]')}\nagent: { max_steps: "\${N}" }\naccess: { guests: "\${F}" }`
    const config = load({ yaml, env: { K: value, N: '7', F: 'true' } })
    expect(config.providers.a!.apiKeys).toEqual([value, `x-${value}-y`, '${K}'])
    expect(config.agent.maxSteps).toBe(7)
    expect(config.access.guests).toBe(true)
  })

  it.each([
    ['agent: { max_step: 4 }', 'toycoder.yml:1: `agent.max_step` is not a setting.', 'Did you mean `max_steps`?'],
    ['\n\nagents: {}', 'toycoder.yml:3: `agents` is not a setting.', 'Did you mean `agent`?'],
    ['agent: { maxSteps: 4 }', 'toycoder.yml:1: `agent.maxSteps` is not a setting.', 'Did you mean `max_steps`?'],
    [
      'console: { colour: red }',
      'toycoder.yml:1: `console.colour` is not a setting.',
      'Remove it; there are `enabled`, `public_url`.',
    ],
    [
      'approvals:\n  tools:\n    x: { quorm: 2 }',
      'toycoder.yml:3: `approvals.tools.x.quorm` is not a setting.',
      'Did you mean `quorum`?',
    ],
    [
      'approvals:\n  tools:\n    x:\n      - { quorum: 2 }\n      - { quorm: 2 }',
      'toycoder.yml:5: `approvals.tools.x[1].quorm` is not a setting.',
      'Did you mean `quorum`?',
    ],
    [
      'approvals: { tools: { x: { quorum: 0 } } }',
      'toycoder.yml:1: `approvals.tools.x.quorum` must be a whole number from 1 to 20, not 0.',
      'Correct it, or remove it to get the default.',
    ],
    [
      'agent:\n  max_steps: 0',
      'toycoder.yml:2: `agent.max_steps` must be a whole number from 1 to 1,000, not 0.',
      'Correct it, or remove it to get the default.',
    ],
    [
      'approvals: { expires: 24 }',
      'toycoder.yml:1: `approvals.expires` must be a duration such as `30m`, `24h` or `7d`, not 24.',
      'Correct it, or remove it to get the default.',
    ],
    [
      'budgets: { day: { usd: -1 } }',
      'toycoder.yml:1: `budgets.day.usd` must be a number that is not negative, not -1.',
      'Correct it, or remove it to get the default.',
    ],
    ['workspaces: { a: {} }', 'toycoder.yml:1: `workspaces.a.path` must be a folder and is missing.', 'Add it.'],
    [
      provider(', api_keys: ["${NOPE}"]'),
      'toycoder.yml:1: `providers.a.api_keys[0]` takes `${NOPE}` from the environment, where it is not set.',
      'Set `NOPE` (in .env or the environment), or remove the line.',
    ],
    [
      'locale:\n  - en\n  x: 1',
      'toycoder.yml:3 is not valid YAML: All mapping items must start at the same column.',
      'Mend the line; settings are nested by two spaces, and text with `: ` or ` #` in it needs quotes.',
    ],
    [
      'a: { b: ${NAME} }',
      'toycoder.yml:1 is not valid YAML: Unexpected flow-map-start at node end.',
      'Put quotes around it: `"${NAME}"`.',
    ],
    ['locale: en\nlocale: zh', 'toycoder.yml:2 is not valid YAML: Map keys must be unique.', expect.any(String)],
    ['- a', 'toycoder.yml: the file must hold settings, one a line, not a list.', expect.any(String)],
    ['just text', 'toycoder.yml: the file must hold settings, one a line.', expect.any(String)],
  ])('%s is told with its line and its mend', (yaml, problem, mend) => {
    const problems = problemsOf({ yaml })
    expect(problems[0]).toEqual({ problem, mend })
    expect(problems).toHaveLength(1)
  })

  it.each([
    ['agent: { max_steps: many }', /must be a whole number/],
    ['agent: { max_steps: 1.5 }', /must be a whole number/],
    ['session: { context_tokens: 1000, keep_recent_tokens: 1000 }', /`keep_recent_tokens` below/],
    ['mcp_servers: { f: {} }', /either `command` or `url`/],
    ['mcp_servers: { f: { command: a, url: http://b } }', /either `command` or `url`/],
    ['mcp_servers: { f: { command: a, headers: { B: c } } }', /`headers`, which belong to a `url`/],
    ['mcp_servers: { f: { url: http://b, args: [a] } }', /belong to a `command`/],
    ['mcp_servers: { f: { command: a, read_only: yes } }', /one of `safe`, `sensitive`, `dangerous`/],
    ['access: { guests: maybe }', /`true` or `false`/],
    ['access: { people: [{ a: b }] }', /`access\.people\[0\]` must be ids of people/],
    ['approvals: { who: nobody }', /`anyone`, `requester`, `not_requester` or a list/],
    ['approvals: { who: [] }', /`anyone`, `requester`, `not_requester` or a list/],
    ['approvals: { expires: 2w }', /duration/],
    ['approvals: { expires: 9999d }', /duration/],
    ['approvals: { tools: { x: 2 } }', /`approvals\.tools\.x` must hold settings, one a line, not 2/],
    ['approvals: { tools: { x: [] } }', /`approvals\.tools\.x` must hold a rule/],
    ['sandbox: maybe', /one of `auto`, `none`/],
    ['console: { public_url: bot.example.com }', /`http:\/\/` or `https:\/\/`/],
    ['tools: [x]', /must hold settings/],
  ])('%s is one problem', (yaml, expected) => {
    expect(problemsOf({ yaml }).map(({ problem }) => problem)).toEqual([expect.stringMatching(expected)])
  })

  it('all problems of all places come in one error', () => {
    const problems = problemsOf({
      env: { PORT: 'x', LOG_LEVEL: 'y', STORE_URL: 'z', SLACK_APP_TOKEN: 'xoxb-1', DISCORD_GUILD_ID: 'w' },
      yaml: 'agent: { max_step: 1, max_retries: many }\nproviders: { a: {} }\nsandbox: x\ndefault_provider: b',
    })
    const settings = problems.map(({ problem }) => problem.match(/`([\w.]+)`/)![1])
    expect(settings.toSorted()).toEqual(
      ['agent.max_retries', 'agent.max_step', 'sandbox', 'a', 'a', 'default_provider']
        .concat(['SLACK_APP_TOKEN', 'SLACK_APP_TOKEN', 'DISCORD_GUILD_ID', 'STORE_URL', 'PORT', 'LOG_LEVEL'])
        .toSorted(),
    )
  })

  it('never fails in another way, whatever the file holds', () => {
    const key = fc.constantFrom(
      'providers',
      'agent',
      'max_steps',
      'who',
      'tools',
      'a',
      '__proto__',
      'models',
      'constructor',
    )
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom(null, 1, -0.5, true, '', 'x', '${A}', '${B}', '$${A}', '24h'),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
      ),
    }))
    fc.assert(
      fc.property(tree, (content) => {
        problemsOf({ yaml: JSON.stringify(content), env: { A: 'value' } })
      }),
    )
  })
})

describe('secrets', () => {
  const secrets = [
    'xoxb-secret-1',
    'xapp-1-secret',
    'discord.secret.token',
    'key-secret-1',
    'key-secret-2',
    'pass/word-1',
  ]
  const given: Given = {
    env: {
      SLACK_BOT_TOKEN: secrets[0],
      SLACK_APP_TOKEN: secrets[1],
      DISCORD_TOKEN: secrets[2],
      KEY: secrets[3],
      STORE_URL: 'postgres://me:pass%2Fword-1@db/x',
      GITHUB_TOKEN: 'a-token-of-another-program',
      HOME: '/home/somebody',
    },
    yaml: `
providers: { a: { api_keys: ["\${KEY}", key-secret-2], models: { default: model-name } } }
mcp_servers:
  m: { url: https://h, headers: { Authorization: "Bearer mcp-secret-1", Accept: text/event-stream } }
  n: { command: x, env: { API_KEY: mcp-secret-2, NODE_ENV: production } }
`,
  }

  it('are all known, and nothing else is', () => {
    const known = knownSecrets(load(given))
    expect(known).toEqual(
      expect.arrayContaining([
        ...secrets,
        'pass%2Fword-1',
        'mcp-secret-1',
        'mcp-secret-2',
        'a-token-of-another-program',
      ]),
    )
    expect(known).not.toContain('production')
    expect(known).not.toContain('text/event-stream')
    expect(known).not.toContain('/home/somebody')
  })

  it('do not stand in the view for logs, which keeps the rest', () => {
    const view = redactedConfig(load(given))
    const text = JSON.stringify(view)
    for (const secret of knownSecrets(load(given))) expect(text).not.toContain(secret)
    expect(view.providers.a!.models.default).toBe('model-name')
    expect(view.mcpServers.n).toMatchObject({ env: { NODE_ENV: 'production' } })
    expect(view).not.toHaveProperty('otherSecrets')
  })

  it('never stand in a message, wherever they were put by mistake', () => {
    const secret = 'sk-verysecretvalue1234'
    const places: Given[] = [
      'PORT LOG_LEVEL STORE_URL ENGINE_URL SLACK_API_URL SLACK_BOT_TOKEN SLACK_APP_TOKEN DISCORD_GUILD_ID OPENAI_BASE_URL'
        .split(' ')
        .map((name) => ({ env: { [name]: secret } })),
      [
        `agent: { max_steps: ${secret} }`,
        `sandbox: ${secret}`,
        `providers: { a: { api_keys: { x: ${secret} } } }`,
        `providers: { a: ${secret} }`,
        `providers: { a: { models: { default: m }, base_url: ${secret} } }`,
        `approvals: { expires: ${secret} }`,
        `console: { public_url: "https://u:${secret} @h" }`,
        `a: [${secret}\nb: "${secret}`,
        `a: "x" ${secret}`,
      ].map((yaml) => ({ yaml })),
    ].flat()
    for (const place of places) {
      const problems = problemsOf(place)
      expect(problems.length).toBeGreaterThan(0)
      expect(JSON.stringify(problems)).not.toContain(secret)
    }
  })
})
