import { checkThread, visibleChannel } from './chatMethods.ts'
import type { Methods } from './methods.ts'
import { invalid, Refusal, required, text } from './request.ts'
import type { World } from './world.ts'

/** Agent sessions as facts/slack.md A.3 has them. */
export const SESSION_STATES = ['processing', 'active', 'suspended', 'closed'] as const
export type SessionState = (typeof SESSION_STATES)[number]

export function isSessionState(value: string): value is SessionState {
  return SESSION_STATES.some((state) => state === value)
}

export const sessionMethods: Methods = {
  'agents.sessions.setStatus': {
    tier: 3,
    scope: 'chat:write',
    args: ['channel_id', 'thread_ts', 'status', 'title', 'initiator_user_id', 'icon_emoji', 'icon_url', 'username'],
    run(args, { world }) {
      const channel = visibleChannel(world, required(args, 'channel_id'))
      if (!world.agent.isDeclared) throw new Refusal('not_authorized')
      const threadTs = required(args, 'thread_ts')
      checkThread(channel, threadTs)
      const status = required(args, 'status')
      if (!isSessionState(status)) invalid(`must be one of ${SESSION_STATES.join(', ')}`, 'status')
      noteSession(world, channel.id, threadTs, status)
      return {
        agent_status: status,
        status,
        title: text(args, 'title') ?? '',
        ...(!world.agent.hearsStop && { warning: 'missing_agent_session_stopped_event_subscription' }),
      }
    },
  },
}

/** A session is made with its first state; the end of a stream ends the work, too. */
export function noteSession(world: World, channel: string, threadTs: string, state: SessionState): void {
  world.sessions.set(`${channel}:${threadTs}`, state)
}
