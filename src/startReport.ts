import { relative } from 'node:path'
import type { Config } from './config.ts'
import type { Models } from './models.ts'
import type { McpServerStatus } from './tool/mcpTools.ts'

/** What a person reads after the start: what is on, what is off, and how to switch it on. */
export function startReport(
  config: Config,
  found: {
    url: string
    consoleLink: string | null
    models: Models
    workspaceWas: 'made' | 'found'
    mcp: McpServerStatus[]
  },
): string[] {
  const { slack, discord, store, workspacePath } = config
  const where = (path: string) => {
    const near = relative(process.cwd(), path)
    return near.startsWith('..') ? path : near || '.'
  }
  const lines = [
    ['Console', found.consoleLink ?? 'off (`console.enabled` in toycoder.yml)'],
    [
      'Slack',
      slack ? `on (${slack.mode === 'socket' ? 'Socket Mode' : `HTTP at ${found.url}/slack/events`})` : OFF.slack,
    ],
    ['Discord', discord ? 'on' : OFF.discord],
    ['Model', found.models.isDemo ? `${found.models.described}; ${OFF.model}` : found.models.described],
    ['Store', store.kind === 'sqlite' ? where(store.path) : store.kind],
    [
      'Workspace',
      `${where(workspacePath)}${found.workspaceWas === 'made' ? ' (made, with a small sample project)' : ''}`,
    ],
    ...found.mcp.map(({ server, up, reason, tools }) => [
      'MCP',
      up ? `${server}, ${tools} tools` : `${server} is down and will be tried again: ${reason}`,
    ]),
  ]
  return [
    'ToyCoder is running.',
    ...lines.map(([name, text]) => `  ${name!.padEnd(10)}${text}`),
    '  Stop it with Ctrl+C.',
  ]
}

const OFF = {
  slack: 'off; set SLACK_BOT_TOKEN and SLACK_APP_TOKEN (README: Connect Slack)',
  discord: 'off; set DISCORD_TOKEN (README: Connect Discord)',
  model: 'for a real one set OPENAI_API_KEY and OPENAI_MODEL, or start Ollama',
}
