import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { sqliteAdapter, sqliteReader } from '../../src/session/adapters/sqlite.ts'
import { countEntries, importEntries } from '../../src/session/transfer.ts'
import { startDiscordDouble } from '../doubles/discord/server.ts'
import { startLlmDouble } from '../doubles/llm/server.ts'
import { ALL_SCOPES, startSlackDouble } from '../doubles/slack/slackDouble.ts'
import { makeHome, type ProgramHome } from './program.ts'

/** A port of this machine at which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

describe('the start of the program', () => {
  let home: ProgramHome

  beforeEach(() => {
    home = makeHome()
  })
  afterEach(() => home.remove())

  async function slack() {
    const double = await startSlackDouble()
    onTestFinished(() => double.close())
    const settings = {
      ...double.env,
    }
    return { double, settings }
  }

  async function discord(options: { messageContentIntent?: boolean } = {}) {
    const double = await startDiscordDouble(options)
    onTestFinished(() => double.close())
    return { double, settings: { DISCORD_TOKEN: double.token, DISCORD_API_URL: double.apiUrl } }
  }

  test('without any settings it says what is on, what is off and how to switch it on, and makes store and workspace', async () => {
    const program = await home.start()
    const said = program.stdout()
    expect(said).toMatch(/Console +http:\/\/127\.0\.0\.1:\d+\/console/)
    expect(said).toMatch(/Slack +off; set SLACK_BOT_TOKEN and SLACK_APP_TOKEN/)
    expect(said).toMatch(/Discord +off; set DISCORD_TOKEN/)
    expect(said).toMatch(/Model +the demo model; for a real one set OPENAI_API_KEY/)
    expect(said).toMatch(/Store +data\/toycoder\.sqlite/)
    expect(said).toMatch(/Workspace +workspace \(made/)
    expect((await fetch(`${program.url}/healthz`)).status).toBe(200)
    expect((await fetch(`${program.url}/readyz`)).status).toBe(200)
    expect(await program.stop()).toBe(0)
  })

  test('a local Ollama is used when there is one and no model is configured', async () => {
    const llm = await startLlmDouble({ apiKeys: null, models: ['qwen3'] })
    onTestFinished(() => llm.close())
    const program = await home.start({ OLLAMA_HOST: llm.baseUrl.replace('/v1', '') })
    expect(program.stdout()).toMatch(/Model +qwen3 at .*Ollama/)
  })

  const fails = async (env: Record<string, string>, ...expected: RegExp[]) => {
    const { code, stderr, stdout } = await home.startAndEnd(env)
    expect(stdout).not.toContain('is running')
    for (const part of expected) expect(stderr).toMatch(part)
    expect(stderr).not.toMatch(/^ {4}at /m)
    expect(code).toBe(2)
    return stderr
  }

  test('a wrong Slack token: exit code 2, the setting and the mend', async () => {
    const { settings } = await slack()
    await fails({ ...settings, SLACK_BOT_TOKEN: 'xoxb-wrong' }, /SLACK_BOT_TOKEN/)
    await fails({ ...settings, SLACK_APP_TOKEN: 'xapp-wrong' }, /SLACK_APP_TOKEN/)
  })

  test('missing Slack scopes are all named', async () => {
    const { double, settings } = await slack()
    double.setScopes(ALL_SCOPES.filter((scope) => scope !== 'files:write' && scope !== 'channels:history'))
    await fails(settings, /files:write/, /channels:history/)
  })

  test('a wrong Discord token, and an intent that is not switched on', async () => {
    const { settings } = await discord()
    await fails({ ...settings, DISCORD_TOKEN: 'wrong' }, /DISCORD_TOKEN/)
    const closed = await discord({ messageContentIntent: false })
    await fails(closed.settings, /Message Content Intent/i)
  })

  test('a model server that is not there, or does not take the key', async () => {
    await fails(
      { OPENAI_BASE_URL: `http://127.0.0.1:${await closedPort()}/v1`, OPENAI_MODEL: 'm' },
      /OPENAI_BASE_URL/,
      /can't be reached/,
    )
    const llm = await startLlmDouble({ apiKeys: ['sk-right'] })
    onTestFinished(() => llm.close())
    const env = { OPENAI_BASE_URL: llm.baseUrl, OPENAI_MODEL: 'm', OPENAI_API_KEY: 'sk-wrong' }
    await fails(env, /OPENAI_API_KEY/)
  })

  test('a store that cannot be opened, and one that another bot has', async () => {
    writeFileSync(join(home.folder, 'file'), '')
    await fails({ STORE_URL: 'sqlite:file/store.sqlite' }, /STORE_URL/)
    await fails({ STORE_URL: `postgres://127.0.0.1:${await closedPort()}/none` }, /STORE_URL/)
    await home.start()
    await fails({}, /STORE_URL|already/)
  })

  test('a store moves to another file, beside the running bot, and the bot starts on what was moved', async () => {
    const program = await home.start()
    const store = await sqliteReader(join(home.folder, 'data/toycoder.sqlite'))
    const kept = await countEntries(store)
    await store.disconnect()
    const exported = await home.startAndEnd({}, ['export', 'all.jsonl'])
    expect(exported.stderr).toMatch(/all\.jsonl holds all \d+ entries/)
    expect(exported.code).toBe(0)
    await program.stop()

    const moved = { STORE_URL: 'sqlite:moved/store.sqlite' }
    const imported = await home.startAndEnd(moved, ['import', 'all.jsonl'])
    expect(imported.stderr).toMatch(/The store holds \d+ entries, of \d+ in the file/)
    expect(imported.code).toBe(0)
    expect(Number(/holds (\d+) entries/.exec(imported.stderr)?.[1])).toBeGreaterThanOrEqual(kept)
    const again = await home.start(moved)
    expect((await fetch(`${again.url}/readyz`)).status).toBe(200)
  })

  test('a store whose import was cut off is refused, with how to go on', async () => {
    const path = join(home.folder, 'half.sqlite')
    const adapter = await sqliteAdapter(path)
    const none = (async function* () {})()
    await importEntries(adapter, 'some-export', none, () => {})
    await adapter.disconnect()
    await fails({ STORE_URL: `sqlite:${path}` }, /import .*was not finished/, /toycoder import/)
  })

  test('a port that is taken', async () => {
    const program = await home.start()
    const other = makeHome()
    onTestFinished(() => other.remove())
    const { code, stderr } = await other.startAndEnd({ PORT: new URL(program.url).port })
    expect(stderr).toMatch(/PORT/)
    expect(code).toBe(2)
  })

  test('a workspace that is a file', async () => {
    writeFileSync(join(home.folder, 'workspace'), '')
    await fails({}, /TOYCODER_WORKSPACE/)
  })

  test('mistakes in different places are all listed at once', async () => {
    const { settings } = await slack()
    const other = await discord()
    const env = { ...settings, ...other.settings, SLACK_BOT_TOKEN: 'xoxb-wrong', DISCORD_TOKEN: 'wrong' }
    await fails(
      { ...env, OPENAI_BASE_URL: `http://127.0.0.1:${await closedPort()}/v1`, OPENAI_MODEL: 'm' },
      /SLACK_BOT_TOKEN/,
      /DISCORD_TOKEN/,
      /OPENAI_BASE_URL/,
    )
  })

  test('a configuration file with mistakes: every one with its line and mend', async () => {
    mkdirSync(home.folder, { recursive: true })
    writeFileSync(join(home.folder, 'toycoder.yml'), 'agnet: { max_steps: 3 }\nlocale: klingon\n')
    await fails({ PORT: 'many' }, /agnet/, /agent/, /locale/, /PORT/)
  })

  test('"help" tells the commands, an unknown one is refused', async () => {
    const help = await home.startAndEnd({}, ['help'])
    expect(help.code).toBe(0)
    expect(help.stdout).toContain('Usage')
    const unknown = await home.startAndEnd({}, ['dance'])
    expect(unknown.code).toBe(2)
    expect(unknown.stderr).toContain('dance')
  })
})
