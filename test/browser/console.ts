import { existsSync } from 'node:fs'
import { Registry } from 'prom-client'
import { type ConsolePlatform, createConsolePlatform } from '../../src/platform/console/consolePlatform.ts'
import type { PlatformInbox } from '../../src/platform/platform.ts'
import { silentLog } from '../../src/shared/log.ts'
import { createWebServer, type WebOptions, type WebServer } from '../../src/web/server.ts'
import { fakeConversation } from './fakeConversation.ts'
import { memoryStorage } from './memoryStorage.ts'

export const CHROMIUM = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'

/** Why there are no browser tests here, or `null`. In CI a missing browser is a failure, not a reason. */
export const noBrowser = existsSync(CHROMIUM) || process.env.CI ? null : `there is no browser at ${CHROMIUM}`

export const CHROMIUM_FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** The real console platform behind the real web server, with a conversation that tests direct. */
export async function startConsole(
  options: Partial<WebOptions> & { storage?: ReturnType<typeof memoryStorage>; inbox?: PlatformInbox } = {},
) {
  const { storage = memoryStorage(), inbox, ...web } = options
  const platform: ConsolePlatform = createConsolePlatform({
    storage,
    log: silentLog,
    adminName: 'Dana',
    pageUrl: () => address,
  })
  let address: string | null = null
  const conversation = fakeConversation(() => platform)
  await platform.start(inbox ?? conversation.inbox)
  const server: WebServer = createWebServer({
    host: '127.0.0.1',
    port: 0,
    log: silentLog,
    healthy: async () => ({ ok: true }),
    ready: async () => ({ ok: true, parts: { console: { ok: true } } }),
    metrics: new Registry(),
    console: platform.pages,
    slackEvents: null,
    ...web,
  })
  const { url, port, consoleLink } = await server.start()
  address = url
  const stop = async () => {
    await server.stop(0)
    await platform.stop()
  }
  return { storage, platform, conversation, server, url, consoleLink, port, stop }
}

export type RunningConsole = Awaited<ReturnType<typeof startConsole>>
