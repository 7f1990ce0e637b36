import { messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { createRecent } from '../../shared/recent.ts'
import type { MessageRef, ThreadRef } from '../../shared/thread.ts'
import { createTurns } from '../../shared/turns.ts'
import type { Reaction } from '../platform.ts'
import type { SlackCalls } from './calls.ts'
import { rootOf } from './inbound.ts'
import { createSessions, type Sessions } from './sessions.ts'
import { isNotToBeHad, slackCodeOf } from './slackErrors.ts'

const EMOJI: Record<Reaction, string> = {
  working: 'eyes',
  waiting: 'raised_hand',
  done: 'white_check_mark',
  failed: 'warning',
}
const ALL = Object.keys(EMOJI) as Reaction[]

/** The signs of life beside messages: reactions, "is working", sessions. All of it best effort: nothing here ever rejects. */
export interface Signals {
  react(thread: ThreadRef, ref: MessageRef, reaction: Reaction | null): Promise<void>
  status(thread: ThreadRef, text: string | null): Promise<void>
  sessions: Sessions
  /** A message that has just come in carries no reaction of ours yet. */
  fresh(ref: MessageRef): void
}

export function createSignals(calls: SlackCalls, log: Log): Signals {
  const sessions = createSessions(calls, log)
  const inTurn = createTurns()
  const reactions = createRecent<Reaction | null>(2_000)
  /** Threads whose status was set and not taken away. */
  const shown = new Set<string>()
  let reactionsWork = true
  let statusWorks = true

  /** True when the message now is as wanted, whoever made it so. */
  async function change(kind: 'add' | 'remove', ref: MessageRef, reaction: Reaction): Promise<void> {
    if (!reactionsWork) return
    const args = { channel: ref.channel, timestamp: ref.id, name: EMOJI[reaction] }
    try {
      await calls.write(`reactions.${kind}`, (client) => client.reactions[kind](args))
    } catch (error) {
      const code = slackCodeOf(error) ?? ''
      if (code === 'already_reacted' || code === 'no_reaction') return
      if (isNotToBeHad(code)) {
        reactionsWork = false
        log.warn({ code }, 'Slack allows the bot no reactions; it goes on without')
      } else {
        log.debug({ code, reason: messageOf(error) }, 'a reaction could not be changed')
      }
    }
  }

  async function show(thread: ThreadRef, status: string): Promise<void> {
    if (!statusWorks) return
    try {
      await calls.write('assistant.threads.setStatus', (client) =>
        client.assistant.threads.setStatus({ channel_id: thread.channel, thread_ts: rootOf(thread), status }),
      )
    } catch (error) {
      const code = slackCodeOf(error) ?? ''
      if (!isNotToBeHad(code)) return
      statusWorks = false
      log.info({ code }, 'Slack shows no status for this app; it goes on without')
    }
  }

  return {
    sessions,
    async react(thread, ref, reaction) {
      if (reaction !== 'working') void sessions.set(thread, reaction === 'waiting' ? 'suspended' : 'active')
      const key = `${ref.channel}:${ref.id}`
      const before = reactions.get(key)
      if (before === reaction) return
      reactions.set(key, reaction)
      // What an earlier life of the program left on a message is not known, so anything of ours is taken off.
      const stale = before === undefined ? ALL.filter((name) => name !== reaction) : before === null ? [] : [before]
      await Promise.all([
        ...stale.map((name) => change('remove', ref, name)),
        ...(reaction ? [change('add', ref, reaction)] : []),
      ])
    },
    async status(thread, text) {
      if (text !== null) void sessions.set(thread, 'processing')
      // What waits for people goes on waiting when the work is over.
      else if (sessions.of(thread) !== 'suspended') void sessions.set(thread, 'active')
      const wasShown = shown.has(thread.id)
      if (text === null) shown.delete(thread.id)
      else shown.add(thread.id)
      // One after another: a renewal that is late must not come after the end.
      if (text !== null || wasShown) await inTurn(thread.id, () => show(thread, text ?? ''))
    },
    fresh(ref) {
      const key = `${ref.channel}:${ref.id}`
      if (reactions.get(key) === undefined) reactions.set(key, null)
    },
  }
}
