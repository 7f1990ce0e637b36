import type { EditScheduler } from '../delivery/editScheduler.ts'
import { createLiveMessage, type LiveMessage } from '../delivery/liveMessage.ts'
import type { Outbox } from '../delivery/outbox.ts'
import { createPatience } from '../delivery/patience.ts'
import { systemTimer } from '../delivery/timers.ts'
import type { MessageBody } from '../platform/platform.ts'
import type { Approvals } from '../session/approvals.ts'
import type { Ask, Attempt, CallState } from '../session/approvalTypes.ts'
import type { Mirrors } from '../session/mirrors.ts'
import type { Log } from '../shared/log.ts'
import { type PlatformName, type ThreadRef, threadKey } from '../shared/thread.ts'
import { createTurns } from '../shared/turns.ts'
import type { Wording } from '../shared/wording/wording.ts'
import { formOf } from './argumentForm.ts'
import {
  bodyFile,
  type CardOptions,
  type Extent,
  openCard,
  settledCard,
  settledUnknownCard,
  unknownCard,
} from './cardText.ts'
import type { Platforms } from './platforms.ts'
import { isHopeless } from './showRecords.ts'

export interface CardsParts {
  platforms: Platforms
  outbox: Outbox
  edits(platform: PlatformName): EditScheduler
  approvals: Approvals
  mirrors: Mirrors
  wordingOf(locale: string | undefined): Wording
  /** Tools that run without a sandbox, which their cards say. */
  unsafeTools: readonly string[]
  log: Log
}

/** The cards of calls and questions, as the store says they stand: shown by whoever changed something, with the same result. */
export interface Cards {
  /**
   * Brings the cards of a call to what the store says: posts what is missing, settles what was decided. With `refresh` a card
   * that still waits is edited, too, and posted anew where it was deleted. Where the thread has no place for it any more,
   * that is logged. Rejects when the platform fails otherwise.
   */
  show(ref: ThreadRef, callKey: string, options?: { refresh?: boolean }): Promise<void>
  /** Asks what to do about an attempt whose end nobody saw; `finding` is what a look at it found. */
  showUnknown(ref: ThreadRef, callKey: string, options: { canCheck: boolean; finding?: string }): Promise<void>
  /** Whether people could see the whole call: what nobody could see can't be approved. */
  isWhole(ref: ThreadRef, ask: Ask): Promise<boolean>
  /** Ends all waiting for platforms; resolves when nothing is in flight. */
  rest(): Promise<void>
}

/** Where a thread of the console is opened. */
const CONSOLE = { platform: 'console', account: 'local', channel: 'console', id: '' } as const

export function createCards(parts: CardsParts): Cards {
  const { platforms, outbox, approvals, log } = parts
  const patience = createPatience(systemTimer)
  const inTurn = createTurns()
  const underWay = new Set<Promise<unknown>>()

  /** One piece of work on the cards of a call at a time; posts of a thread's cards keep their order. */
  function locked<T>(ref: ThreadRef, task: () => Promise<T>): Promise<T> {
    const done = inTurn(threadKey(ref), task)
    underWay.add(done)
    const over = () => underWay.delete(done)
    done.then(over, over)
    return done
  }

  function message(ref: ThreadRef, key: string): LiveMessage {
    return createLiveMessage(key, {
      platform: platforms.of(ref),
      thread: ref,
      outbox,
      edits: parts.edits(ref.platform),
      patience,
      inOrder: (post) => post(),
      log,
    })
  }

  const cardKey = (ref: ThreadRef, { callKey, version }: Ask) => `${threadKey(ref)}/k${callKey}.${version}`
  const unknownKey = (ref: ThreadRef, callKey: string, { number }: Attempt) => `${threadKey(ref)}/u${callKey}.${number}`

  function isEditable(ref: ThreadRef, ask: Ask): boolean {
    if (ask.kind !== 'call') return false
    return formOf({}, ask.args as Record<string, unknown>, platforms.of(ref).limits.dialog) !== null
  }

  /** The console can edit what this platform's dialogs can't hold. */
  function needsMirror(ref: ThreadRef, ask: Ask): boolean {
    return !isEditable(ref, ask) && platforms.has('console') && ref.platform !== 'console' && isEditable(CONSOLE, ask)
  }

  function optionsFor(ref: ThreadRef, ask: Ask, extent: Extent): CardOptions {
    const editable = isEditable(ref, ask)
    const unsafe = ask.kind === 'call' && parts.unsafeTools.includes(ask.tool)
    return { wording: parts.wordingOf(ask.locale), extent, editable, elsewhere: needsMirror(ref, ask), unsafe }
  }

  function fits(ref: ThreadRef, body: MessageBody): boolean {
    const platform = platforms.of(ref)
    return platform.size(body.markdown) <= platform.limits.text
  }

  function fitsWhole(ref: ThreadRef, ask: Ask): boolean {
    return ask.kind === 'question' || fits(ref, openCard(ask, [], optionsFor(ref, ask, 'whole')))
  }

  /** What does not fit the card goes along as a file, before the card that speaks of it. */
  async function extentOf(ref: ThreadRef, ask: Ask): Promise<Extent> {
    if (fitsWhole(ref, ask)) return 'whole'
    const key = `${cardKey(ref, ask)}/file`
    const entry = await outbox.find(key)
    if (entry && entry.state !== 'intended') return 'file'
    const file = bodyFile(ask)!
    if (Buffer.byteLength(file.content) > platforms.of(ref).limits.fileBytes) return 'cut'
    if (!entry) await outbox.intend(key)
    try {
      const posted = await patience.persist((inDoubt) =>
        platforms.of(ref).upload(ref, file, { key, inDoubt: inDoubt || entry !== undefined }),
      )
      await outbox.posted(key, posted ?? { channel: ref.channel, id: '' })
      return 'file'
    } catch (error) {
      if (!isHopeless(error)) throw error
      log.warn(
        { thread: threadKey(ref), error },
        'the whole of a call could not be sent as a file; it can only be denied',
      )
      return 'cut'
    }
  }

  /** The console's thread for the calls of this one; opened when there is the first one that needs it. */
  async function mirrorFor(ref: ThreadRef, { ask, decision }: CallState): Promise<ThreadRef | undefined> {
    if (!platforms.has('console') || ref.platform === 'console') return undefined
    const known = await parts.mirrors.mirrorOf(ref)
    if (known || !ask || decision || !needsMirror(ref, ask)) return known
    const body = { kind: 'notice' as const, markdown: parts.wordingOf(ask.locale).mirrorIntro(ref.platform) }
    const { thread } = await platforms
      .of(CONSOLE)
      .open(CONSOLE, body, { key: `mirror:${threadKey(ref)}`, inDoubt: true })
    await parts.mirrors.link(ref, thread)
    return thread
  }

  async function showMirror(ref: ThreadRef, state: CallState, refresh: boolean): Promise<void> {
    const mirror = await mirrorFor(ref, state)
    if (!mirror) return
    const there = []
    for (const version of [...state.earlier, state]) {
      const { ask, decision } = version
      if (!ask) continue
      const isShown = (await outbox.find(cardKey(mirror, ask))) !== undefined
      if (isShown || (!decision && needsMirror(ref, ask))) there.push(version)
    }
    await showVersions(mirror, there, refresh)
  }

  async function showVersions(
    ref: ThreadRef,
    versions: readonly Pick<CallState, 'ask' | 'decision' | 'votes'>[],
    refresh: boolean,
  ): Promise<void> {
    for (const { ask, decision, votes } of versions) {
      if (!ask) continue
      const key = cardKey(ref, ask)
      const entry = await outbox.find(key)
      if (entry?.state === 'settled') continue
      // Nobody was asked, so nobody needs to be told.
      if (decision?.kind === 'always' && !entry) continue
      const options = optionsFor(ref, ask, await extentOf(ref, ask))
      if (decision) await message(ref, key).settle(settledCard(ask, decision, options))
      else if (refresh || votes.length > 0) await message(ref, key).put(openCard(ask, votes, options))
      else await message(ref, key).ensure(openCard(ask, votes, options))
    }
  }

  /** Cards about unknown outcomes that were posted and are closed by now. */
  async function settleUnknown(ref: ThreadRef, state: CallState): Promise<void> {
    const { ask } = state
    if (!ask) return
    for (const attempt of state.attempts) {
      const key = unknownKey(ref, ask.callKey, attempt)
      const entry = await outbox.find(key)
      if (!entry || entry.state === 'settled' || !attempt.end) continue
      await message(ref, key).settle(settledUnknownCard(ask, attempt.end, parts.wordingOf(ask.locale)))
    }
  }

  /** A card that the thread has no place for any more is given up; the call still ends by its expiry. */
  async function asFarAsPossible(ref: ThreadRef, callKey: string, task: () => Promise<void>): Promise<void> {
    try {
      await task()
    } catch (error) {
      if (!isHopeless(error)) throw error
      log.error({ thread: threadKey(ref), call: callKey, error }, 'a card could not be shown')
    }
  }

  return {
    show: (ref, callKey, { refresh = false } = {}) =>
      locked(ref, () =>
        asFarAsPossible(ref, callKey, async () => {
          const state = await approvals.state(threadKey(ref), callKey)
          await showVersions(ref, [...state.earlier, state], refresh)
          await settleUnknown(ref, state)
          await showMirror(ref, state, refresh)
        }),
      ),

    showUnknown: (ref, callKey, { canCheck, finding }) =>
      locked(ref, () =>
        asFarAsPossible(ref, callKey, async () => {
          const { ask, attempts } = await approvals.state(threadKey(ref), callKey)
          const attempt = attempts.at(-1)
          if (!ask || !attempt || attempt.end) return
          const card = message(ref, unknownKey(ref, callKey, attempt))
          const body = unknownCard(ask, attempt, finding ?? null, canCheck, parts.wordingOf(ask.locale))
          await (finding === undefined ? card.ensure(body) : card.put(body))
        }),
      ),

    async isWhole(ref, ask) {
      if (fitsWhole(ref, ask)) return true
      const entry = await outbox.find(`${cardKey(ref, ask)}/file`)
      return entry !== undefined && entry.state !== 'intended'
    },

    async rest() {
      patience.end()
      await Promise.allSettled(underWay)
    },
  }
}
