import { openThreadView } from '../delivery/threadView.ts'
import type { IncomingMessage, Reaction } from '../platform/platform.ts'
import type { InboxSlot } from '../session/inbox.ts'
import { type RunHandler, ShuttingDown } from '../session/scheduler/scheduler.ts'
import type { Thread } from '../session/thread.ts'
import { StaleThread } from '../shared/errors.ts'
import type { UserMessage } from '../shared/message.ts'
import type { EventSource } from '../shared/record.ts'
import type { ThreadRef } from '../shared/thread.ts'
import { mayUse } from './access.ts'
import { runCommand } from './commands.ts'
import { isCommandKey, STOP_ACTION } from './door.ts'
import { messageOf, personRecord, recordBackground, specialistOf, userMessageOf } from './incoming.ts'
import { appender, beginningOf, mark, type OpenThread, openRun } from './openThread.ts'
import type { ConversationParts } from './parts.ts'
import { showRest } from './showRecords.ts'
import { startThreadFor } from './slashCommand.ts'
import { type RunOutcome, runTurn } from './turn.ts'

/**
 * What happens when a thread is woken: what a crash left unshown is shown, a run that stands open goes on, then the inbox is
 * worked off in order, one turn or command at a time. Everything it decides by is in the store, so it can be cut anywhere
 * and called again.
 */
export function createConversation(parts: ConversationParts): RunHandler {
  const { platforms, threads, inbox, commands, log, now = Date.now } = parts

  return async function runThread(key, { signal }) {
    const thread = await threads.open(key)
    if (isCommandKey(key)) return startThreadFor(key, thread, parts)
    if (!thread.head) {
      log.error({ thread: key }, 'a thread without a head was woken; its inbox is left as it is')
      return
    }
    const open = await openFor(key, thread, thread.head.ref)
    try {
      await work(open, signal)
    } catch (error) {
      // Another run was faster; it carries on, and nothing is lost.
      if (!(error instanceof StaleThread)) throw error
      log.warn({ thread: key }, error.message)
    } finally {
      await open.view.idle()
      if (signal.reason instanceof ShuttingDown) await open.view.interrupt()
      await open.view.abandon()
    }
  }

  async function openFor(key: string, thread: Thread, ref: ThreadRef): Promise<OpenThread> {
    const platform = platforms.of(ref)
    const [first] = await inbox.read(key, thread.nextSlot, 1)
    const asker = (first && messageOf(first.event, ref).author.id) ?? beginningOf(thread)?.author?.id
    // Only the language hangs on this; whether the person may is asked where it matters, and an error counts there.
    const locale = asker && (await platform.person(ref.account, asker).catch(() => undefined))?.locale
    const wording = parts.wordingOf(locale)
    const view = openThreadView({
      platform,
      thread: ref,
      outbox: parts.outbox,
      edits: parts.edits(platform.name),
      wording,
      log: log.child({ thread: key }),
      activity: parts.activity,
      liveButtons: [{ action: STOP_ACTION, label: wording.stop, style: 'plain', value: '' }],
    })
    return { key, ref, thread, platform, view, wording, now, append: appender(threads, thread) }
  }

  async function work(open: OpenThread, signal: AbortSignal): Promise<void> {
    const { key, thread } = open
    await showRest(open, log)
    while (true) {
      // Everything left over is begun again after the restart.
      if (signal.reason instanceof ShuttingDown) return
      if (openRun(thread)) {
        const outcome = await turn(open, signal)
        if (outcome === 'paused') return
        if (outcome === 'waiting') break
      } else {
        // A run that was stopped is over; what comes after it needs a signal that is not aborted.
        if (signal.aborted) {
          await parts.wake(key)
          break
        }
        const [next] = await inbox.read(key, thread.nextSlot, 1)
        if (!next) break
        await take(open, next)
      }
    }
    await threads.markShown(key, thread.nextSeq)
    await inbox.close(key, thread.nextSlot)
    await inbox.trim(key, thread.nextSlot)
  }

  /** One turn of the agent, with the marks of its progress on the message that asked for it. */
  async function turn(open: OpenThread, signal: AbortSignal): Promise<RunOutcome['kind']> {
    const asked = beginningOf(open.thread)?.source?.ref
    const react = async (reaction: Reaction | null) => {
      if (asked?.id) await open.platform.react(open.ref, asked, reaction)
    }
    open.view.working(open.wording.working)
    const marked = react('working')
    const { client, specialists, maxSteps, workspace } = parts
    const toolManager = parts.toolsOf(open.key)
    const systemPrompt = parts.systemPrompt(open.thread)
    const nextInput = () => steer(open)
    const turnParts = { client, specialists, toolManager, systemPrompt, maxSteps, workspace, log, nextInput }
    const outcome = await runTurn(open, turnParts, signal)
    log.info({ thread: open.key, outcome: outcome.kind }, 'a turn ended')
    await open.view.idle()
    if (outcome.kind === 'paused') return outcome.kind
    await marked
    await react(outcome.kind === 'failed' ? 'failed' : null)
    await threads.markShown(open.key, open.thread.nextSeq)
    if (outcome.kind === 'stopped') await takeWhatWasStopped(open)
    return outcome.kind
  }

  /** Takes one event of the inbox: a command is carried out, anything else becomes a record that the next turn answers. */
  async function take(open: OpenThread, slot: InboxSlot): Promise<void> {
    const message = messageOf(slot.event, open.ref)
    const source = sourceOf(slot, message)
    const person = await open.platform.person(open.ref.account, message.author.id)
    open.wording = parts.wordingOf(person.locale)
    if (!mayUse(parts.access, person)) {
      log.info({ thread: open.key, person: person.id }, 'a message was refused: its author may not use the bot here')
      const token = slot.event.kind === 'command' ? slot.event.command.token : undefined
      await open.platform.whisper(open.ref, person.id, open.wording.notAllowed, token)
      await open.append(mark(now(), { mark: 'handled', what: 'refused', source }))
      return
    }
    const parsed = commands.parse(message.text, message.addressed)
    const specialist = parsed && specialistOf(parsed.command.name)
    if (parsed && !specialist) {
      const { client, redactor, outbox } = parts
      const toolManager = parts.toolsOf(open.key)
      await runCommand(
        open,
        parsed,
        { slot, person, source },
        {
          registry: commands,
          threads,
          toolManager,
          model: client.model,
          redactor,
          outbox,
        },
      )
      return
    }
    if (parsed && parsed.args === '') {
      await open.view.notice(`n${slot.slot}`, open.wording.commandWithoutTask(parsed.command.name))
      await open.append(mark(now(), { mark: 'handled', what: parsed.command.name, source }))
      return
    }
    if (message.text.trim() === '' && message.attachments.length === 0) {
      await open.view.notice(`n${slot.slot}`, open.wording.askMeSomething)
      await open.append(mark(now(), { mark: 'handled', what: 'empty mention', source }))
      return
    }
    if (message.hasEarlier && open.thread.nextSeq === 0) await recordBackground(open, message, log)
    await open.append({
      ...personRecord(message, person, source, now()),
      ...(parsed && specialist && { command: specialist, message: { role: 'user', content: parsed.args } }),
    })
  }

  /** Messages that came while the agent worked enter before its next step; a command waits for its own turn. */
  async function steer(open: OpenThread): Promise<UserMessage[]> {
    const entered: UserMessage[] = []
    for (const slot of await inbox.read(open.key, open.thread.nextSlot)) {
      const message = messageOf(slot.event, open.ref)
      if (commands.parse(message.text, message.addressed) || message.text.trim() === '') break
      const person = await open.platform.person(open.ref.account, message.author.id)
      if (!mayUse(parts.access, person)) break
      const record = { ...personRecord(message, person, sourceOf(slot, message), now()), steered: true as const }
      await open.append(record)
      entered.push(userMessageOf(record))
    }
    return entered
  }

  /** What people sent before their *stop* is in the records for later, but is not begun any more. */
  async function takeWhatWasStopped(open: OpenThread): Promise<void> {
    const waiting = await inbox.read(open.key, open.thread.nextSlot)
    const parsed = waiting.map(({ event }) => {
      const message = messageOf(event, open.ref)
      return commands.parse(message.text, message.addressed)?.command.name
    })
    const stop = parsed.indexOf('stop')
    for (const slot of waiting.slice(0, Math.max(0, stop))) await take(open, slot)
    const at = waiting[stop]
    if (!at) return
    const source = sourceOf(at, messageOf(at.event, open.ref))
    await open.append(mark(now(), { mark: 'handled', what: 'stop', source }))
  }
}

function sourceOf({ slot, event }: InboxSlot, message: IncomingMessage): EventSource {
  return { eventId: event.id, slot, ref: message.ref }
}
