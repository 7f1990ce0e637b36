import { SLACK_ACTION_PREFIX } from '../../render/slack.ts'
import type { Click, Sender } from '../platform.ts'
import { type InboundContext, millisOf, threadRef } from './inbound.ts'
import { rootInBlock } from './payload.ts'

/** Who acts in an interaction payload. */
export interface SlackActor {
  id: string
  username?: string
  name?: string
  team_id?: string
}

/** The parts of a `block_actions` payload that matter here. `message` is missing for a click on words for one person. */
export interface SlackBlockActions {
  user: SlackActor
  trigger_id?: string
  response_url?: string
  container?: { message_ts?: string; channel_id?: string; thread_ts?: string; is_ephemeral?: boolean }
  channel?: { id: string }
  message?: { ts: string; thread_ts?: string }
  actions: { action_id: string; block_id?: string; value?: string; action_ts?: string }[]
}

/** A press of one of our buttons, or null for anything else that may be clicked. */
export function incomingClick(body: SlackBlockActions, context: InboundContext): Click | null {
  const action = body.actions[0]
  const { container, message } = body
  const channel = container?.channel_id ?? body.channel?.id
  const ts = container?.message_ts ?? message?.ts
  if (!action?.action_id.startsWith(SLACK_ACTION_PREFIX) || !channel || !ts) return null
  const { self } = context
  const at = action.action_ts ? millisOf(action.action_ts) : context.now()
  const root = rootInBlock(action.block_id) ?? container?.thread_ts ?? message?.thread_ts ?? ts
  return {
    id: `${self.team}:click:${channel}:${ts}:${body.user.id}:${action.action_ts ?? at}`,
    thread: threadRef(self.team, channel, root),
    ref: { channel, id: ts },
    author: actorOf(body.user, context),
    action: action.action_id.slice(SLACK_ACTION_PREFIX.length).replace(/#\d+$/, ''),
    value: action.value ?? '',
    at,
  }
}

export function actorOf(user: SlackActor, { self, nameOf }: InboundContext): Sender {
  return {
    id: user.id,
    name: nameOf(user.id) ?? user.username ?? user.name ?? user.id,
    isBot: false,
    isExternal: user.team_id !== undefined && user.team_id !== self.team,
  }
}
