import type { Button, ChatPlatform, MessageBody } from '../platform/platform.ts'
import type { ActivityLevel } from '../shared/activityLevel.ts'
import { messageOf } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import { type MessageRef, type ThreadRef, threadKey } from '../shared/thread.ts'
import type { Wording } from '../shared/wording/wording.ts'
import { type Showing, type ShownCall, shownEnded, shownRunning, taskOrGroup } from './activity.ts'
import { createCallGroups } from './callGroups.ts'
import type { EditScheduler } from './editScheduler.ts'
import { createLiveMessage, type LiveMessage, type LiveMessageParts } from './liveMessage.ts'
import { createLiveText, type LiveText } from './liveText.ts'
import type { Outbox } from './outbox.ts'
import { createPatience } from './patience.ts'
import { splitMarkdown } from './splitMarkdown.ts'
import { createStreamedText } from './streamedText.ts'
import { type SetTimer, systemClock, systemTimer } from './timers.ts'

/**
 * What a run shows in its thread: text that grows, a reply for each tool call, notices. Every message has a key that is
 * unique in the thread and the same after a restart, so nothing is shown twice and nothing that was begun stays half done.
 * Posts are made one after another in the order of the calls; edits run beside them at the pace of the edit scheduler.
 */
export interface ThreadView {
  /** Shows that the bot is at work, again and again, until `idle`. Never throws. */
  working(text?: string): void
  /** No longer at work. To be called whatever happened; never rejects. */
  idle(): Promise<void>
  /** More text of a step. What is shown is a preview until the step is settled. Never throws. */
  text(stepKey: string, piece: string): void
  /** The text of the step so far is void: the model answers anew. */
  restart(stepKey: string): void
  /**
   * The whole text of a step. Resolves with its messages when each is confirmed as shown, and with none for empty text
   * (a live message of the step is taken away). Rejects with the `PlatformError` when it can't be shown.
   */
  settle(stepKey: string, markdown: string, options?: SettleOptions): Promise<MessageRef[]>
  /** A tool is about to run. Resolves when that is shown or has failed; never rejects, since a run does not fail by it. */
  toolCall(callKey: string, name: string, args: unknown): Promise<void>
  /** Turns the reply of the call into its result. Never rejects. */
  toolResult(callKey: string, name: string, args: unknown, observation: string, failed: boolean): Promise<void>
  /** No call follows in this turn: resolves when what is shown of them is confirmed or has failed. Never rejects. */
  callsShown(): Promise<void>
  /** A message of the bot itself, once per key; `null` for empty text. Rejects when it can't be shown. */
  notice(key: string, markdown: string, options?: NoticeOptions): Promise<MessageRef | null>
  /** How much of the calls from here on is shown. */
  showActivity(level: ActivityLevel): void
  /** The program ends: live text says that it was interrupted, and stays open for the next process. Then `abandon`. */
  interrupt(): Promise<void>
  /** Stops timers and drops what waits; resolves when no call is in flight. Live text stays as it is. */
  abandon(): Promise<void>
}

export interface SettleOptions extends NoticeOptions {
  /** How the text came to its end; said in the small print unless it is done. Default `done`. */
  state?: 'done' | 'stopped' | 'interrupted'
}

export interface NoticeOptions {
  /** Small print below, plain text. */
  footer?: string
  buttons?: Button[]
  /** Ids of people who may be notified by their mention in the text. */
  mentions?: string[]
}

export interface ThreadViewOptions {
  platform: ChatPlatform
  thread: ThreadRef
  outbox: Outbox
  edits: EditScheduler
  wording: Wording
  log: Log
  /** Default `full`. */
  activity?: ActivityLevel
  /** Takes secrets out of the arguments of calls that are shown. Default: shown as they are. */
  mask?: (text: string) => string
  /** Buttons below live text, such as Stop. Default none. */
  liveButtons?: Button[]
  setTimer?: SetTimer
  /** Milliseconds on a clock that never jumps. */
  now?: () => number
}

/** Typing lasts about ten seconds on Discord, Slack's status two minutes or until the next post. */
const STATUS_RENEWAL_MS = 8_000

const asItIs = (text: string) => text

export function openThreadView(options: ThreadViewOptions): ThreadView {
  const { platform, thread, outbox, edits, wording } = options
  const { setTimer = systemTimer, now = systemClock, mask = asItIs } = options
  let { activity = 'full' } = options
  const base = threadKey(thread)
  const log = options.log.child({ thread: base })
  const patience = createPatience(setTimer)
  const showing = (): Showing => ({ isFull: activity === 'full', wording, mask })
  const texts = new Map<string, LiveText>()
  const singles = new Map<string, LiveMessage>()
  let posts: Promise<unknown> = Promise.resolve()
  let cancelRenewal: (() => void) | null = null
  let abandoned = false

  const parts: LiveMessageParts & { liveButtons: Button[] | undefined } = {
    platform,
    thread,
    outbox,
    edits,
    patience,
    log,
    liveButtons: options.liveButtons,
    inOrder(post) {
      const done = posts.then(post)
      posts = done.catch(() => {})
      return done
    },
  }

  function textOf(stepKey: string): LiveText {
    const known = texts.get(stepKey)
    if (known) return known
    const { streaming } = platform
    const created = streaming?.isOffered(thread)
      ? createStreamedText(`${base}/${stepKey}`, { ...parts, streaming, setTimer, now })
      : createLiveText(`${base}/${stepKey}`, parts)
    texts.set(stepKey, created)
    return created
  }

  /** The one message of a call or a notice. */
  function single(key: string): LiveMessage {
    const known = singles.get(key)
    if (known) return known
    const created = createLiveMessage(`${base}/${key}`, parts)
    singles.set(key, created)
    return created
  }

  async function status(text: string | null): Promise<void> {
    await platform.status(thread, text).catch((error: unknown) => log.debug({ error }, 'the status was not set'))
  }

  /** Activity is shown as well as it can be; a run does not fail by it. */
  async function quietly(what: string, task: () => Promise<unknown>): Promise<void> {
    try {
      await task()
    } catch (error) {
      log.warn({ error }, `${what} was not shown: ${messageOf(error)}`)
    }
  }

  function activityBody(markdown: string, calls: readonly ShownCall[]): MessageBody {
    // What is sent fits by itself; a platform with smaller messages gets the beginning.
    const [first = ''] = splitMarkdown(markdown, { limit: platform.limits.text, size: (text) => platform.size(text) })
    const states = calls.map(({ task }) => task.state)
    const state = (['running', 'failed'] as const).find((one) => states.includes(one)) ?? 'done'
    return { markdown: first, kind: 'activity', state, task: taskOrGroup(calls, wording) }
  }

  const fits = (markdown: string) => platform.size(markdown) <= platform.limits.text
  const groups = createCallGroups({ base, thread, edits, outbox, single, fits, body: activityBody, quietly })

  function stopRenewal(): void {
    cancelRenewal?.()
    cancelRenewal = null
  }

  const view: ThreadView = {
    working(text = wording.working) {
      if (abandoned) return
      stopRenewal()
      const renew = () => {
        if (![...texts.values()].some((one) => one.isShown())) void status(text)
        cancelRenewal = setTimer(renew, STATUS_RENEWAL_MS)
      }
      renew()
    },
    async idle() {
      stopRenewal()
      await status(null)
    },
    text(stepKey, piece) {
      if (abandoned || piece === '') return
      groups.cut()
      try {
        textOf(stepKey).add(piece)
      } catch (error) {
        log.error({ error }, 'live text failed')
      }
    },
    restart(stepKey) {
      texts.get(stepKey)?.restart()
    },
    async settle(stepKey, markdown, { state = 'done', footer, ...rest } = {}) {
      groups.cut()
      const said = state === 'done' ? [] : [state === 'stopped' ? wording.stopped : wording.interrupted]
      const smallPrint = [...said, ...(footer ? [footer] : [])].join(' · ')
      const refs = await textOf(stepKey).settle(markdown, { ...rest, ...(smallPrint && { footer: smallPrint }) })
      texts.delete(stepKey)
      return refs
    },
    async toolCall(callKey, name, args) {
      if (activity === 'off') return
      const call = shownRunning({ id: callKey, name, args }, showing())
      await quietly('a tool call', () => groups.begin(callKey, call))
    },
    async toolResult(callKey, name, args, observation, failed) {
      if (activity === 'off') return
      const call = shownEnded({ id: callKey, name, args, observation, failed }, showing())
      await quietly('the result of a tool', async () => {
        if (await groups.end(callKey, call)) return
        await single(callKey).settle(activityBody(call.whole, [call]))
      })
    },
    async callsShown() {
      groups.cut()
      await groups.closed()
    },
    async notice(key, markdown, decoration = {}) {
      const pieces = splitMarkdown(markdown, { limit: platform.limits.text, size: (text) => platform.size(text) })
      let last: MessageRef | null = null
      for (const [index, piece] of pieces.entries()) {
        const isLast = index === pieces.length - 1
        const body: MessageBody = { markdown: piece.trim(), kind: 'notice', ...(isLast && decoration) }
        last = await single(index === 0 ? key : `${key}/${index}`).settle(body)
      }
      return last
    },
    showActivity(level) {
      activity = level
    },
    async interrupt() {
      stopRenewal()
      await Promise.all(
        [...texts.values()].map((one) => quietly('the interruption', () => one.end(wording.interrupted))),
      )
      await view.abandon()
    },
    async abandon() {
      abandoned = true
      stopRenewal()
      patience.end()
      await Promise.all([...texts.values(), ...singles.values()].map((one) => one.rest()))
      await posts
    },
  }
  return view
}
