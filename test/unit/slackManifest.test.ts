import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { COMMANDS } from '../../src/conversation/commandRegistry.ts'
import { REQUIRED_SCOPES, WANTED_SCOPES } from '../../src/platform/slack/setup.ts'
import { ALL_SCOPES } from '../doubles/slack/slackDouble.ts'

const manifest = parse(readFileSync(new URL('../../manifest.yml', import.meta.url), 'utf8'))

describe('manifest.yml', () => {
  test('asks for exactly the scopes that the bot looks for at its start, and the double grants the same', () => {
    const scopes = [...manifest.oauth_config.scopes.bot].sort()
    expect(scopes).toEqual([...REQUIRED_SCOPES, ...WANTED_SCOPES].sort())
    expect(scopes).toEqual([...ALL_SCOPES].sort())
  })

  test('hears mentions, every kind of conversation, and every way to stop', () => {
    expect(manifest.settings.event_subscriptions.bot_events).toEqual([
      'agent_session_stopped',
      'app_mention',
      'message.channels',
      'message.groups',
      'message.im',
      'message.mpim',
      'reaction_added',
    ])
  })

  test('is ready for Socket Mode, buttons, direct messages and the slash commands of the registry', () => {
    const { features, settings } = manifest
    expect(settings).toMatchObject({ socket_mode_enabled: true, interactivity: { is_enabled: true } })
    expect(settings.token_rotation_enabled).toBe(false)
    expect(features.app_home).toMatchObject({ messages_tab_enabled: true, messages_tab_read_only_enabled: false })
    const commands = features.slash_commands as { command: string; should_escape: boolean; url?: string }[]
    expect(commands.map(({ command }) => command)).toEqual([
      ...COMMANDS.filter(({ slash }) => slash).map(({ name }) => `/${name}`),
      '/toycoder',
    ])
    expect(commands.every(({ should_escape, url }) => should_escape && url === undefined)).toBe(true)
  })

  test('keeps to the lengths that Slack takes', () => {
    const { display_information: info, features } = manifest
    expect(info.name.length).toBeLessThanOrEqual(35)
    expect(info.description.length).toBeLessThanOrEqual(140)
    expect(features.bot_user.display_name.length).toBeLessThanOrEqual(80)
    const { agent_description: agent, suggested_prompts: prompts } = features.agent_view
    expect(agent.length).toBeLessThanOrEqual(300)
    expect(prompts.length).toBeLessThanOrEqual(4)
    for (const { command } of features.slash_commands) expect(command.length).toBeLessThanOrEqual(32)
  })
})
