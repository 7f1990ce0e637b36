import { randomUUID } from 'node:crypto'
import {
  type Ephemeral,
  type Fields,
  type SlackChannel,
  type SlackMessage,
  type SlackUser,
  type World,
  wireMessage,
} from './world.ts'

/** The outer envelope of the Events API. */
export function eventEnvelope({ app }: World, event: Fields): Fields {
  return {
    token: 'legacy',
    team_id: app.teamId,
    context_team_id: app.teamId,
    context_enterprise_id: null,
    api_app_id: app.appId,
    type: 'event_callback',
    event_id: `Ev${randomUUID().replaceAll('-', '').slice(0, 10).toUpperCase()}`,
    event_time: Math.floor(Date.now() / 1000),
    authorizations: [
      { enterprise_id: null, team_id: app.teamId, user_id: app.botUserId, is_bot: true, is_enterprise_install: false },
    ],
    is_ext_shared_channel: false,
    event_context: '4-double',
    event,
  }
}

/** A slash command; every value is a string, and there is no thread in it. */
export function commandPayload(
  { app }: World,
  user: SlackUser,
  channel: SlackChannel,
  command: string,
  text: string,
  responseUrl: string,
  triggerId: string,
): Fields {
  return {
    token: 'legacy',
    team_id: app.teamId,
    team_domain: 'double',
    channel_id: channel.id,
    channel_name: nameFor(channel),
    user_id: user.id,
    user_name: user.name,
    command,
    text,
    api_app_id: app.appId,
    is_enterprise_install: 'false',
    response_url: responseUrl,
    trigger_id: triggerId,
  }
}

/** A pressed button. Of words for one person alone Slack tells neither the message nor the thread. */
export function clickPayload(
  world: World,
  user: SlackUser,
  channel: SlackChannel,
  message: SlackMessage | Ephemeral,
  button: Fields,
  responseUrl: string,
  triggerId: string,
): Fields {
  const { app } = world
  const shared = 'reactions' in message ? message : undefined
  return {
    type: 'block_actions',
    user: { id: user.id, username: user.name, name: user.name, team_id: user.team },
    api_app_id: app.appId,
    token: 'legacy',
    container: {
      type: 'message',
      message_ts: message.ts,
      channel_id: channel.id,
      is_ephemeral: !shared,
      ...(shared?.threadTs && { thread_ts: shared.threadTs }),
    },
    trigger_id: triggerId,
    team: { id: app.teamId, domain: 'double' },
    enterprise: null,
    is_enterprise_install: false,
    channel: { id: channel.id, name: nameFor(channel) },
    ...(shared && { message: wireMessage(world, shared) }),
    state: { values: {} },
    response_url: responseUrl,
    actions: [{ ...button, action_ts: world.nextTs() }],
  }
}

function nameFor(channel: SlackChannel): string {
  return { channel: channel.name, group: 'privategroup', im: 'directmessage', mpim: channel.name }[channel.kind]
}
