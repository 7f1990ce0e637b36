import { messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { createRecent } from '../../shared/recent.ts'
import type { ThreadRef } from '../../shared/thread.ts'
import { createTurns } from '../../shared/turns.ts'
import type { SlackCalls } from './calls.ts'
import { rootOf } from './inbound.ts'
import { isNotToBeHad, slackCodeOf } from './slackErrors.ts'

/**
 * Slack's own word on a thread that an agent works in (`agents.sessions.setStatus`): *processing* shows a Stop button,
 * *suspended* that it waits for somebody. Only apps that are declared as agents may; all of it is best effort.
 */
export type SessionState = 'processing' | 'suspended' | 'active'

export interface Sessions {
  /** Never rejects. A thread that never was at work stays without a session. The last state asked for is the one that stands. */
  set(thread: ThreadRef, state: SessionState): Promise<void>
  of(thread: ThreadRef): SessionState | undefined
  /** The state that the end of a stream leaves: it would end the work, unless told that this goes on. */
  afterStream(thread: ThreadRef): SessionState
}

const REMEMBERED = 2_000
const MEND =
  'Take features.agent_view, the scope assistant:write and the event agent_session_stopped from manifest.yml into the settings of the Slack app and install it again.'

export function createSessions(calls: SlackCalls, log: Log): Sessions {
  const states = createRecent<SessionState>(REMEMBERED)
  const inTurn = createTurns()
  let areToBeHad = true
  let isWarned = false

  async function send(thread: ThreadRef, status: SessionState): Promise<void> {
    if (!areToBeHad) return
    try {
      const answer = await calls.write('agents.sessions.setStatus', (client) =>
        client.agents.sessions.setStatus({ channel_id: thread.channel, thread_ts: rootOf(thread), status }),
      )
      if (answer.warning && !isWarned) {
        isWarned = true
        log.warn({ warning: answer.warning, mend: MEND }, 'Slack shows no working Stop button')
      }
    } catch (error) {
      const code = slackCodeOf(error) ?? ''
      states.delete(thread.id)
      if (isNotToBeHad(code)) {
        areToBeHad = false
        log.warn({ code, mend: MEND }, 'Slack has no agent sessions for this app: no Stop button of its own')
      } else {
        log.debug({ code, reason: messageOf(error) }, 'the state of a session was not set')
      }
    }
  }

  return {
    async set(thread, state) {
      const before = states.get(thread.id)
      if (before === state || (before === undefined && state !== 'processing')) return
      states.set(thread.id, state)
      await inTurn(thread.id, () => send(thread, state))
    },
    of: (thread) => states.get(thread.id),
    // Without sessions nobody would take "processing" away again.
    afterStream: (thread) => (areToBeHad && states.get(thread.id) === 'processing' ? 'processing' : 'active'),
  }
}
