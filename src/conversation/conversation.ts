import { openThreadView } from '../delivery/threadView.ts'
import type { IncomingMessage, Reaction } from '../platform/platform.ts'
import type { PersonName } from '../session/approvalTypes.ts'
import type { InboxSlot } from '../session/inbox.ts'
import { Interrupted, LeaseLost, type RunHandler, ShuttingDown } from '../session/scheduler/scheduler.ts'
import type { Thread } from '../session/thread.ts'
import type { Place as UsagePlace } from '../session/usage.ts'
import { Paused, StaleThread } from '../shared/errors.ts'
import type { UserMessage } from '../shared/message.ts'
import type { EventSource } from '../shared/record.ts'
import type { ThreadRef } from '../shared/thread.ts'
import { mayUse } from './access.ts'
import { runCommand } from './commands.ts'
import { isCommandKey, STOP_ACTION } from './door.ts'
import { messageOf, personRecord, recordBackground, specialistOf, userMessageOf } from './incoming.ts'
import { appender, beginningOf, channelOf, mark, type OpenThread, openRun } from './openThread.ts'
import type { ConversationParts } from './parts.ts'
import { showIfPossible, showRest } from './showRecords.ts'
import { startThreadFor } from './slashCommand.ts'
import { runTurn } from './turn.ts'
import type { CountCall, RunOutcome } from './turnParts.ts'
import { settleLeftovers, usedAsAnswer, type WaitingParts, whileWaiting } from './waiting.ts'

/**
 * What happens when a thread is woken: what a crash left unshown is shown, a run that stands open goes on, then the inbox is
 * worked off in order, one turn or command at a time. Everything it decides by is in the store, so it can be cut anywhere
 * and called again.
 */
export function createConversation(parts: ConversationParts): RunHandler {
  const { platforms, threads, inbox, commands, usage, auditors, log, now = Date.now } = parts

  return async function runThread(key, { signal }) {
    const thread = await threads.open(key)
    if (isCommandKey(key)) return startThreadFor(key, thread, parts)
    if (!thread.head) {
      log.error({ thread: key }, 'a thread without a head was woken; its inbox is left as it is')
      return
    }
    const open = await openFor(key, thread, thread.head.ref)
    // Whoever has the thread now shows what happens in it.
    const isOthers = () => signal.reason instanceof LeaseLost
    signal.addEventListener('abort', () => isOthers() && void open.view.abandon())
    try {
      await work(open, signal)
    } catch (error) {
      // Another run was faster; it carries on, and nothing is lost.
      if (!(error instanceof StaleThread)) throw error
      log.warn({ thread: key }, error.message)
    } finally {
      if (!isOthers()) await open.view.idle()
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
      mask: parts.redactor.text,
      activity: (await parts.activityLevels.of(key)) ?? parts.activity,
      liveButtons: [{ action: STOP_ACTION, label: wording.stop, style: 'plain', value: '' }],
    })
    const { notifyAfterMs } = parts
    return { key, ref, thread, platform, view, wording, locale, notifyAfterMs, now, append: appender(threads, thread) }
  }

  async function work(open: OpenThread, signal: AbortSignal): Promise<void> {
    const { key, thread } = open
    const wasCut = thread.shownBelow < thread.nextSeq
    // What ended before it was shown has left its signs of work behind: those of this process go with them.
    const isLeftOver = wasCut && !openRun(thread)
    if (isLeftOver) open.view.working()
    await showRest(open, log)
    if (isLeftOver) await reactTo(open, hasFailed(thread) ? 'failed' : null)
    while (true) {
      // Everything left over is begun again after the restart, or by the instance that has the thread now.
      if (signal.reason instanceof Paused) return
      if (openRun(thread)) {
        const outcome = await turn(open, signal)
        if (outcome === 'paused') return
        if (outcome !== 'waiting') continue
        if (!(await whileWaiting(open, waitingParts(open, signal)))) break
        if (!openRun(thread)) {
          await reactTo(open, null)
          await takeWhatWasStopped(open, signal)
        }
      } else {
        // A run that was stopped is over; what comes after it needs a signal that is not aborted.
        if (signal.aborted) {
          await leaveUnbegun(open, signal)
          await parts.wake(key)
          break
        }
        const [next] = await inbox.read(key, thread.nextSlot, 1)
        if (!next) break
        await take(open, next, signal)
      }
    }
    // Before the thread counts as shown: a process that ends in between leaves no sign that nobody takes away.
    await open.view.idle()
    await threads.markShown(key, thread.nextSeq)
    await inbox.close(key, thread.nextSlot)
    await inbox.trim(key, thread.nextSlot)
  }

  /** One turn of the agent, with the marks of its progress on the message that asked for it. */
  async function turn(open: OpenThread, signal: AbortSignal): Promise<RunOutcome['kind']> {
    const react = (reaction: Reaction | null) => reactTo(open, reaction)
    open.view.working(open.wording.working)
    const marked = react('working')
    const { client, specialists, maxSteps, workspace, compact } = parts
    const countCall = counterFor(open)
    const turnParts = {
      ...{ client, specialists, maxSteps, workspace, compact, countCall, log },
      toolManager: await parts.toolsOf(open, countCall),
      systemPrompt: parts.systemPrompt(open.thread),
      nextInput: () => steer(open, signal),
      auditAnswer: auditors.output && ((text: string) => auditors.output!(text, { signal, countCall })),
    }
    const outcome = await runTurn(open, turnParts, signal)
    log.info({ thread: open.key, outcome: outcome.kind }, 'a turn ended')
    await open.view.idle()
    if (outcome.kind === 'paused') return outcome.kind
    await marked
    await react(outcome.kind === 'failed' ? 'failed' : outcome.kind === 'waiting' ? 'waiting' : null)
    await threads.markShown(open.key, open.thread.nextSeq)
    if (outcome.kind !== 'waiting') await settleLeftovers(open, stopper(signal), parts)
    if (outcome.kind === 'stopped') await takeWhatWasStopped(open, new AbortController().signal)
    return outcome.kind
  }

  function waitingParts(open: OpenThread, signal: AbortSignal): WaitingParts {
    return { ...parts, take: (slot) => take(open, slot, signal) }
  }

  /** Takes one event of the inbox: a command is carried out, anything else becomes a record that the next turn answers. */
  async function take(open: OpenThread, slot: InboxSlot, signal: AbortSignal): Promise<void> {
    const message = messageOf(slot.event, open.ref)
    const source = sourceOf(slot, message)
    const person = await open.platform.person(open.ref.account, message.author.id)
    open.wording = parts.wordingOf(person.locale)
    open.locale = person.locale
    if (wasAnswer(open, slot)) {
      await open.append(mark(now(), { mark: 'handled', what: 'answer', source }))
      return
    }
    if (!mayUse(parts.access, person)) {
      log.info({ thread: open.key, person: person.id }, 'a message was refused: its author may not use the bot here')
      const token = slot.event.kind === 'command' ? slot.event.command.token : undefined
      await open.platform.whisper(open.ref, person.id, open.wording.notAllowed, token === undefined ? {} : { token })
      await open.append(mark(now(), { mark: 'handled', what: 'refused', source }))
      return
    }
    const parsed = commands.parse(message.text, message.addressed)
    const specialist = parsed && specialistOf(parsed.command.name)
    if (parsed && !specialist) {
      const { client, redactor, outbox } = parts
      const toolManager = await parts.toolsOf(open, counterFor(open))
      const { approvals, switches, access, audit, activityLevels, activity } = parts
      const commandParts = {
        ...{ registry: commands, threads, toolManager, model: client.model, redactor, outbox, usage },
        ...{ approvals, switches, access, audit, activityLevels, activity },
      }
      await runCommand(open, parsed, { slot, person, source }, commandParts)
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
    if (!(await passes(open, slot, message, source, signal))) return
    if (message.hasEarlier && open.thread.nextSeq === 0) await recordBackground(open, message, log)
    await open.append({
      ...personRecord(message, person, source, now()),
      ...(parsed && specialist && { command: specialist, message: { role: 'user', content: parsed.args } }),
    })
  }

  /** Messages that came while the agent worked enter before its next step; a command waits for its own turn. */
  async function steer(open: OpenThread, signal: AbortSignal): Promise<UserMessage[]> {
    const entered: UserMessage[] = []
    for (const slot of await inbox.read(open.key, open.thread.nextSlot)) {
      const message = messageOf(slot.event, open.ref)
      if (commands.parse(message.text, message.addressed) || message.text.trim() === '') break
      const person = await open.platform.person(open.ref.account, message.author.id)
      if (!mayUse(parts.access, person)) break
      const source = sourceOf(slot, message)
      if (wasAnswer(open, slot)) {
        await open.append(mark(now(), { mark: 'handled', what: 'answer', source }))
        continue
      }
      if (!(await passes(open, slot, message, source, signal))) continue
      const record = { ...personRecord(message, person, source, now()), steered: true as const }
      await open.append(record)
      entered.push(userMessageOf(record))
    }
    return entered
  }

  /** The input auditor's word on a message; one that does not pass is answered and recorded as handled, and the agent never sees it. */
  async function passes(
    open: OpenThread,
    { slot }: InboxSlot,
    message: IncomingMessage,
    source: EventSource,
    signal: AbortSignal,
  ): Promise<boolean> {
    const by = { platform: open.ref.platform, account: open.ref.account, id: message.author.id }
    if (!auditors.input || (await auditors.input(message.text, { signal, countCall: counterFor(open, by) })))
      return true
    await open.view.notice(`n${slot}`, open.wording.inputRefused)
    await open.append(mark(now(), { mark: 'handled', what: 'refused input', source }))
    return false
  }

  /** Keeps what model calls in this thread take, for the person whose message is answered unless another is named. */
  function counterFor(open: OpenThread, by?: UsagePlace): CountCall {
    const { platform, account } = open.ref
    return async (call) => {
      const asker = beginningOf(open.thread)?.author?.id
      const person = by ?? (asker === undefined ? null : { platform, account, id: asker })
      await usage.record({ ...call, thread: open.key, person, channel: channelOf(open.ref) })
    }
  }

  /** What people sent before their *stop* (or *new*) is in the records for later, but is not begun any more. */
  async function takeWhatWasStopped(open: OpenThread, signal: AbortSignal): Promise<void> {
    const { before, end } = await untilStop(open)
    if (!end) return
    for (const slot of before) await take(open, slot, signal)
    if (end.name === 'new') return take(open, end.slot, signal)
    const source = sourceOf(end.slot, messageOf(end.slot.event, open.ref))
    await open.append(mark(now(), { mark: 'handled', what: 'stop', source }))
  }

  /** A *stop* that came before the run it is about had begun: what was asked stays unanswered, and people see who stopped it. */
  async function leaveUnbegun(open: OpenThread, { reason }: AbortSignal): Promise<void> {
    const { before, end } = await untilStop(open)
    if (end?.name !== 'stop' || !(reason instanceof Interrupted)) return
    for (const slot of before) await take(open, slot, new AbortController().signal)
    if (!openRun(open.thread)) return
    await showIfPossible(
      open,
      await open.append(mark(now(), { mark: 'stopped', by: reason.message, partial: '' })),
      log,
    )
  }

  /** What waits in the inbox up to the first *stop* or *new*. */
  async function untilStop(
    open: OpenThread,
  ): Promise<{ before: InboxSlot[]; end?: { name: string; slot: InboxSlot } }> {
    const waiting = await inbox.read(open.key, open.thread.nextSlot)
    for (const [at, slot] of waiting.entries()) {
      const { text, addressed } = messageOf(slot.event, open.ref)
      const name = commands.parse(text, addressed)?.command.name
      if (name === 'stop' || name === 'new') return { before: waiting.slice(0, at), end: { name, slot } }
    }
    return { before: waiting }
  }
}

/** The mark of how things stand on the message that asked. */
async function reactTo(open: OpenThread, reaction: Reaction | null): Promise<void> {
  const asked = beginningOf(open.thread)?.source?.ref
  if (asked?.id) await open.platform.react(open.ref, asked, reaction)
}

function hasFailed({ records }: Thread): boolean {
  const last = records.findLast(({ record }) => record.kind === 'message' || record.mark !== 'handled')?.record
  return last?.kind === 'mark' && last.mark === 'failed'
}

/** Whether a message was used as the answer to a question before its turn in the inbox. */
function wasAnswer({ thread }: OpenThread, slot: InboxSlot): boolean {
  const what = usedAsAnswer(slot)
  return thread.records.some(
    ({ record }) => record.kind === 'mark' && record.mark === 'handled' && record.what === what,
  )
}

/** Who stopped a run, as far as its signal tells. */
function stopper(signal: AbortSignal): PersonName {
  return { id: '', name: signal.reason instanceof Interrupted ? signal.reason.message : '' }
}

function sourceOf({ slot, event }: InboxSlot, message: IncomingMessage): EventSource {
  return { eventId: event.id, slot, ref: message.ref }
}
