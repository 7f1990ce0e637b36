import { messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { MessageRef, ThreadRef } from '../../shared/thread.ts'
import type { Reaction } from '../platform.ts'
import type { SlackCalls } from './calls.ts'
import { rootOf } from './inbound.ts'
import { slackCodeOf } from './slackErrors.ts'

const EMOJI: Record<Reaction, string> = {
  working: 'eyes',
  waiting: 'raised_hand',
  done: 'white_check_mark',
  failed: 'warning',
}
const ALL = Object.keys(EMOJI) as Reaction[]

/** Answers that mean that this workspace or app will not get the feature, however often it is asked. */
const NOT_TO_BE_HAD = new Set([
  'unknown_method',
  'method_deprecated',
  'feature_not_enabled',
  'missing_scope',
  'not_allowed_token_type',
  'not_authorized',
  'no_permission',
  'access_denied',
  'team_access_not_granted',
])

/** The signs of life beside messages: reactions and "is working". All of it best effort: nothing here ever rejects. */
export interface Signals {
  react(ref: MessageRef, reaction: Reaction | null): Promise<void>
  status(thread: ThreadRef, text: string | null): Promise<void>
  /** A message that has just come in carries no reaction of ours yet. */
  fresh(ref: MessageRef): void
}

export function createSignals(calls: SlackCalls, log: Log): Signals {
  const reactions = createMemory<Reaction | null>(2_000)
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
      if (NOT_TO_BE_HAD.has(code)) {
        reactionsWork = false
        log.warn({ code }, 'Slack allows the bot no reactions; it goes on without')
      } else {
        log.debug({ code, reason: messageOf(error) }, 'a reaction could not be changed')
      }
    }
  }

  return {
    async react(ref, reaction) {
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
      if (!statusWorks) return
      try {
        await calls.write('assistant.threads.setStatus', (client) =>
          client.assistant.threads.setStatus({
            channel_id: thread.channel,
            thread_ts: rootOf(thread),
            status: text ?? '',
          }),
        )
      } catch (error) {
        const code = slackCodeOf(error) ?? ''
        if (!NOT_TO_BE_HAD.has(code)) return
        statusWorks = false
        log.info({ code }, 'Slack shows no status for this app; it goes on without')
      }
    },
    fresh(ref) {
      const key = `${ref.channel}:${ref.id}`
      if (reactions.get(key) === undefined) reactions.set(key, null)
    },
  }
}

/** A map that forgets what was set longest ago. */
function createMemory<T>(most: number) {
  const entries = new Map<string, T>()
  return {
    get: (key: string) => entries.get(key),
    set(key: string, value: T) {
      entries.delete(key)
      entries.set(key, value)
      if (entries.size > most) entries.delete(entries.keys().next().value!)
    },
  }
}
