import type {
  Click,
  ClickAnswer,
  IncomingCommand,
  IncomingMessage,
  IncomingStop,
  PlatformInbox,
  Receipt,
  Submission,
  SubmitAnswer,
} from '../platform/platform.ts'
import type { Inbox, InboxEvent } from '../session/inbox.ts'
import type { Scheduler } from '../session/scheduler/scheduler.ts'
import type { ThreadStore } from '../session/thread.ts'
import type { Log } from '../shared/log.ts'
import { type PlatformName, type ThreadRef, threadKey } from '../shared/thread.ts'
import { createTurns } from '../shared/turns.ts'
import type { Wording } from '../shared/wording/wording.ts'
import { type AccessRules, maySend, mayUse } from './access.ts'
import type { CommandRegistry } from './commandRegistry.ts'
import type { Decisions } from './decisions.ts'
import { messageOf } from './incoming.ts'
import { askedBy, openRun } from './openThread.ts'
import type { Platforms } from './platforms.ts'

/** What the door asks of the session room about threads that people wrote in. */
export interface Followed {
  noteSeen(thread: ThreadRef, ref: { channel: string; id: string }): Promise<void>
  followed(platform: PlatformName): ReturnType<PlatformInbox['followed']>
}

/** The action of the button below live text. */
export const STOP_ACTION = 'stop'

export interface DoorParts {
  inbox: Inbox
  threads: ThreadStore
  followed: Followed
  scheduler: Scheduler
  platforms: Platforms
  commands: CommandRegistry
  /** What people decide by the buttons of cards. */
  decisions: Decisions
  access: AccessRules
  wordingOf(locale: string | undefined): Wording
  log: Log
  now?: () => number
}

/**
 * The one door through which everything comes in: it decides who may, stores the event (once only), and lets the platform
 * acknowledge it by resolving. *Stop* and clicks take effect here at once; they do not queue behind the run.
 */
export function createDoor(parts: DoorParts): PlatformInbox & { close(): void } {
  const { inbox, threads, followed, scheduler, platforms, commands, access, wordingOf, log, now = Date.now } = parts
  const inTurn = createTurns()
  let closed = false

  async function message(event: IncomingMessage): Promise<Receipt> {
    refuseWhenClosed()
    if (!maySend(access, event)) return ignored(event.id, 'the sender or the channel is not on the list')
    const key = threadKey(event.thread)
    return inTurn(key, () => take(key, event))
  }

  /** In turn, because what follows a mention at the same moment counts only once the mention has made the thread. */
  async function take(key: string, event: IncomingMessage): Promise<Receipt> {
    if (event.addressed === 'thread' && !(await threads.exists(key))) return { outcome: 'ignored' }
    await threads.ensureHead({ v: 1, ref: event.thread, title: titleOf(event.text), createdAt: now() })
    const outcome = await inbox.deliver(key, { kind: 'message', id: event.id, aliases: event.aliases, message: event })
    await followed.noteSeen(event.thread, event.ref)
    if (outcome === 'accepted' && commands.parse(event.text, event.addressed)?.command.name === 'stop') {
      // Not awaited: asking the platform who this is must not hold up the acknowledgement.
      stopRun(key, event.thread, event.author.id).catch((error) =>
        log.error({ thread: key, error }, 'could not stop the run'),
      )
    }
    return { outcome }
  }

  async function command(event: IncomingCommand): Promise<Receipt> {
    refuseWhenClosed()
    if (!maySend(access, event)) {
      log.info({ event: event.id }, 'a command was refused: the sender or the channel is not on the list')
      return { outcome: 'refused', text: wordingOf(undefined).notAllowed }
    }
    const slot: InboxEvent = { kind: 'command', id: event.id, aliases: [], command: event }
    if (!event.thread) return { outcome: await inbox.deliver(commandKey(event), slot) }
    await threads.ensureHead({ v: 1, ref: event.thread, title: titleOf(event.text), createdAt: now() })
    return { outcome: await inbox.deliver(threadKey(event.thread), slot) }
  }

  async function click(event: Click): Promise<ClickAnswer> {
    const person = await platforms.of(event.thread).person(event.thread.account, event.author.id)
    const wording = wordingOf(person.locale)
    if (!mayUse(access, person)) {
      log.warn({ thread: threadKey(event.thread), person: person.id, action: event.action }, 'a click was refused')
      return { text: wording.notAllowed }
    }
    if (event.action === STOP_ACTION) {
      await scheduler.interrupt(threadKey(event.thread), person.name)
      return { text: wording.stopping }
    }
    const answer = await parts.decisions.click(event, person, wording)
    if (answer) return answer
    log.warn({ thread: threadKey(event.thread), action: event.action }, 'a click named an action that does not exist')
    return { text: wording.alreadyDone }
  }

  async function submit(event: Submission): Promise<SubmitAnswer> {
    const person = await platforms.of(event.thread).person(event.thread.account, event.author.id)
    const wording = wordingOf(person.locale)
    if (!mayUse(access, person)) {
      log.warn({ thread: threadKey(event.thread), person: person.id, action: event.action }, 'a dialog was refused')
      return { text: wording.notAllowed }
    }
    return parts.decisions.submit(event, person, wording)
  }

  /** Goes the way of `@bot stop`: it ends the run at once, and whatever waits for people. Without a run it is nothing. */
  async function stop(event: IncomingStop): Promise<Receipt> {
    refuseWhenClosed()
    if (event.author.isBot || (event.author.isExternal && !access.external)) {
      return ignored(event.id, 'bots and people of other organisations stop nothing')
    }
    const key = threadKey(event.thread)
    if (!(await threads.exists(key)) || !(await isAboutRun(key, event)))
      return ignored(event.id, 'there is no such run')
    const outcome = await inbox.deliver(key, { kind: 'stop', id: event.id, aliases: [], stop: event })
    if (outcome === 'accepted') {
      stopRun(key, event.thread, event.author.id).catch((error) =>
        log.error({ thread: key, error }, 'could not stop the run'),
      )
    }
    return { outcome }
  }

  /** Something is under way or about to begin, and the message that was pointed at (if one was) is what it answers. */
  async function isAboutRun(key: string, { on, thread: ref }: IncomingStop): Promise<boolean> {
    const thread = await threads.open(key)
    const waiting = (await inbox.read(key, thread.nextSlot)).map(({ event }) => messageOf(event, ref).ref.id)
    const isOpen = openRun(thread) !== null
    if (!on) return isOpen || waiting.length > 0
    return waiting.includes(on.id) || (isOpen && askedBy(thread).includes(on.id))
  }

  /** Whoever may use the bot may stop it; the name goes into the record, so it is asked of the platform. */
  async function stopRun(key: string, thread: ThreadRef, personId: string): Promise<void> {
    const person = await platforms.of(thread).person(thread.account, personId)
    if (mayUse(access, person)) await scheduler.interrupt(key, person.name)
  }

  function ignored(id: string, why: string): Receipt {
    log.debug({ event: id }, `ignored: ${why}`)
    return { outcome: 'ignored' }
  }

  /** A rejection is what keeps the platform from acknowledging: what comes while the program ends comes again after the start. */
  function refuseWhenClosed(): void {
    if (closed) throw new Error('the program is ending and takes no new events')
  }

  return {
    message,
    command,
    click,
    submit,
    stop,
    followed: (platform) => followed.followed(platform),
    close() {
      closed = true
    },
  }
}

/**
 * A slash command has no thread until one is opened for it. Until then it waits under a key of its own, so that a crash
 * between the command and the opening loses nothing.
 */
export function commandKey(command: IncomingCommand): string {
  return `${command.place.platform}:${command.place.account}:command:${command.id}`
}

export function isCommandKey(key: string): boolean {
  return key.split(':')[2] === 'command'
}

/** The first line of what was asked, for lists of threads; at most 80 characters. */
export function titleOf(text: string): string {
  const line = text.trim().split('\n', 1)[0]!.trim()
  const characters = [...new Intl.Segmenter().segment(line.slice(0, 400))].map(({ segment }) => segment)
  return characters.length <= 80 ? line : `${characters.slice(0, 79).join('')}…`
}
