import { type APIMessage, Routes } from 'discord.js'
import type { Log } from '../../shared/log.ts'
import { createRecent } from '../../shared/recent.ts'
import type { MessageRef } from '../../shared/thread.ts'
import type { Reaction } from '../platform.ts'
import type { DiscordApi } from './discordApi.ts'

const EMOJI: Record<Reaction, string> = { working: '👀', waiting: '⏳', done: '✅', failed: '❌' }
const REMEMBERED = 2_000

/** Keeps the bot's one reaction on a message. Nothing depends on it, so failures are only logged. */
export function createReactions(api: DiscordApi, log: Log) {
  const shown = createRecent<Reaction | 'none'>(REMEMBERED)

  /** What stands there now. A process that did not set it asks Discord; a run's first sign has nothing before it. */
  async function present(ref: MessageRef, next: Reaction | null): Promise<Reaction[]> {
    const known = shown.get(ref.id)
    if (known !== undefined) return known === 'none' ? [] : [known]
    if (next === 'working') return []
    const message = await api.call<APIMessage>('read reactions', ['Read Message History'], (rest) =>
      rest.get(Routes.channelMessage(ref.channel, ref.id)),
    )
    const own = new Set(message.reactions?.filter(({ me }) => me).map(({ emoji }) => emoji.name))
    return (Object.keys(EMOJI) as Reaction[]).filter((name) => own.has(EMOJI[name]))
  }

  async function set(ref: MessageRef, next: Reaction | null): Promise<void> {
    const before = await present(ref, next)
    const route = (name: Reaction) =>
      Routes.channelMessageOwnReaction(ref.channel, ref.id, encodeURIComponent(EMOJI[name]))
    if (next !== null && !before.includes(next)) {
      await api.call('react', ['Add Reactions', 'Read Message History'], (rest) => rest.put(route(next)))
    }
    for (const old of before.filter((name) => name !== next)) {
      await api.call('take back a reaction', [], (rest) => rest.delete(route(old)))
    }
    shown.set(ref.id, next ?? 'none')
  }

  return {
    async react(ref: MessageRef, next: Reaction | null): Promise<void> {
      try {
        await set(ref, next)
      } catch (error) {
        log.debug({ error, ref }, 'a reaction could not be set')
      }
    },
  }
}
