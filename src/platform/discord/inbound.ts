import { type Client, Events, GatewayDispatchEvents, type Message } from 'discord.js'
import type { Log } from '../../shared/log.ts'
import { createRecent } from '../../shared/recent.ts'
import type { Wording } from '../../shared/wording/wording.ts'
import type { FollowedThread, IncomingMessage, PlatformInbox } from '../platform.ts'
import { createCatchUp } from './catchUp.ts'
import { createDeliveries, type Delivery, FIRST_PAUSE_MS, LONGEST_PAUSE_MS } from './deliveries.ts'
import type { DiscordApi } from './discordApi.ts'
import { DM_ACCOUNT, lacksContent, toIncoming } from './incoming.ts'
import { createInteractions } from './interactions.ts'
import { pause } from './pause.ts'
import type { People } from './people.ts'
import type { Placeholders } from './placeholders.ts'
import type { Posts } from './posts.ts'
import { createStops } from './stops.ts'
import type { Threads } from './threads.ts'

const REMEMBERED = 5_000

/** Everything that Discord tells, on its way into the inbox. */
export function createInbound(options: {
  client: Client
  api: DiscordApi
  log: Log
  now: () => number
  wording: Wording
  threads: Threads
  posts: Posts
  people: People
  placeholders: Placeholders
  answerWithinMs?: number
}) {
  const { client, api, log, now, threads, posts, people } = options
  const stopping = new AbortController()
  const catchUp = createCatchUp({ client, api, log })
  const deliveries = createDeliveries({ log, now, onRecovered: () => void afterGap() })
  /** The newest message of a thread that was caught up: live events up to it have been delivered already. */
  const caughtUp = createRecent<string>(REMEMBERED)
  let inbox: PlatformInbox | undefined
  let toldOfMissingContent = false
  let gaps = 0
  let closedGaps = 0

  const onInteraction = createInteractions({
    ...options,
    deliveries,
    inbox: () => {
      if (!inbox) throw new Error('Discord is not started')
      return inbox
    },
  })

  const stops = createStops({ ...options, deliveries, inbox: () => inbox })

  function onMessage(message: Message): void {
    const botId = client.user?.id ?? ''
    if (message.author.id === botId) {
      const ref = { channel: message.channelId, id: message.id }
      if (message.nonce) posts.heardOwn(String(message.nonce), ref, message.content)
      return
    }
    people.heard(message.guildId ?? DM_ACCOUNT, message.member)
    if (lacksContent(message)) tellOfMissingContent()
    const incoming = toIncoming(message, botId)
    if (incoming) take(incoming)
  }

  /** A mention that was added by an edit asks the bot, too. Whoever was answered already is a duplicate by the id. */
  function onEdit(contentBefore: string | null, message: Message): void {
    if (contentBefore === message.content) return
    const incoming = toIncoming(message, client.user?.id ?? '')
    if (incoming?.addressed === 'mention') take(incoming)
  }

  function take(incoming: IncomingMessage): void {
    const { thread, ref } = incoming
    // Asked in a channel: the thread is to be opened on this message.
    if (thread.thread === ref.id && ref.channel === thread.channel) threads.announced(ref.id, incoming.text)
    deliveries.add({
      lane: incoming.thread.id,
      order: incoming.id,
      run: async () => {
        const upTo = caughtUp.get(incoming.thread.id)
        if (upTo !== undefined && !incoming.edited && BigInt(incoming.id) <= BigInt(upTo)) return
        await hand(incoming)
      },
    })
  }

  /** A refusal is for the sender alone: it can be told in a direct message, and nowhere else. */
  async function hand(incoming: IncomingMessage): Promise<void> {
    const receipt = await inbox?.message(incoming)
    if (receipt?.outcome !== 'refused' || incoming.addressed !== 'direct') return
    await posts
      .send(
        { channel: incoming.ref.channel },
        { markdown: receipt.text, kind: 'notice' },
        { key: `refused:${incoming.id}` },
      )
      .catch((error) => log.warn({ error }, 'a refusal could not be told'))
  }

  /** After a fresh session: what was missed goes first, then what came meanwhile. Of two at a time the later one lets go. */
  async function afterGap(): Promise<void> {
    deliveries.hold()
    gaps += 1
    const mine = gaps
    const followed = await followedThreads()
    if (mine !== gaps) return
    closedGaps = gaps
    deliveries.release(catchUp.bounded(followed).map(missedOf))
  }

  /** The store may be away; until it answers, events gather. */
  async function followedThreads(): Promise<FollowedThread[]> {
    for (let wait = FIRST_PAUSE_MS; !stopping.signal.aborted; wait = Math.min(LONGEST_PAUSE_MS, wait * 2)) {
      try {
        return (await inbox?.followed('discord')) ?? []
      } catch (error) {
        log.warn({ error }, 'the threads to catch up are not known yet; asking again')
        await pause(wait, stopping.signal)
      }
    }
    return []
  }

  function missedOf(followed: FollowedThread): Delivery {
    const lane = followed.thread.id
    return {
      lane,
      order: followed.lastSeen.id,
      run: async () => {
        for (const message of await catchUp.missed(followed)) {
          const incoming = toIncoming(message, client.user?.id ?? '')
          if (incoming) await hand(incoming)
          caughtUp.set(lane, message.id)
        }
      },
    }
  }

  function tellOfMissingContent(): void {
    if (toldOfMissingContent) return
    toldOfMissingContent = true
    log.error(
      {},
      'Discord sends messages without their text: switch on "Message Content Intent" on the Bot page of discord.com/developers',
    )
  }

  /** A listener that throws must not end the process. */
  function guarded<A extends unknown[]>(listener: (...args: A) => void): (...args: A) => void {
    return (...args) => {
      try {
        if (!stopping.signal.aborted) listener(...args)
      } catch (error) {
        log.error({ error }, 'an event of Discord could not be read')
      }
    }
  }

  return {
    listen(to: PlatformInbox): void {
      inbox = to
      deliveries.hold()
      client.on(Events.MessageCreate, guarded(onMessage))
      client.on(
        Events.MessageUpdate,
        guarded((before, after) => onEdit(before.content, after)),
      )
      client.on(Events.InteractionCreate, guarded(onInteraction))
      client.ws.on(GatewayDispatchEvents.MessageReactionAdd, guarded(stops.onReaction))
      client.ws.on(GatewayDispatchEvents.MessageReactionRemove, guarded(stops.onTakenBack))
      client.on(
        Events.ShardReconnecting,
        guarded(() => deliveries.hold()),
      )
      client.on(
        Events.MessageDelete,
        guarded(({ id }) => posts.heardDeleted(id)),
      )
      client.on(
        Events.ShardResume,
        guarded(() => {
          // Discord has replayed everything itself, unless an older gap is still being read.
          if (gaps === closedGaps) deliveries.release()
        }),
      )
      client.on(
        Events.ShardReady,
        guarded(() => {
          void afterGap()
        }),
      )
    },

    async stop(): Promise<void> {
      stopping.abort()
      await deliveries.stop()
    },
  }
}
