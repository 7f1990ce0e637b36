import type { Outbox } from '../delivery/outbox.ts'
import type { IncomingMessage } from '../platform/platform.ts'
import type { Approvals } from '../session/approvals.ts'
import type { Ask, AttemptEnd, PersonName } from '../session/approvalTypes.ts'
import type { Inbox, InboxSlot } from '../session/inbox.ts'
import { modelView, speaker } from '../session/view.ts'
import type { Log } from '../shared/log.ts'
import { type AssistantMessage, type ToolCall, unanswered } from '../shared/message.ts'
import type { Person } from '../shared/thread.ts'
import { type AccessRules, mayUse } from './access.ts'
import type { Cards } from './cards.ts'
import { CARD_ACTIONS } from './cardText.ts'
import type { CommandRegistry } from './commandRegistry.ts'
import { mayDecide } from './entitled.ts'
import { messageOf, specialistOf } from './incoming.ts'
import { mark, type OpenThread } from './openThread.ts'
import { callKey, showIfPossible } from './showRecords.ts'

export interface WaitingParts {
  approvals: Approvals
  cards: Cards
  inbox: Inbox
  outbox: Outbox
  commands: CommandRegistry
  access: AccessRules
  log: Log
  /** Carries out a command, or refuses a message, as outside of waiting. */
  take(slot: InboxSlot): Promise<void>
}

interface Heard {
  slot: InboxSlot
  message: IncomingMessage
  person: Person
  command: string | undefined
}

/**
 * What comes in while calls wait for people: commands are carried out, a message answers an open question, *stop* and *new*
 * give up what waits, and everything else stays in the inbox for after the decision, which its sender is told once.
 * Resolves to true when something changed what waits.
 */
export async function whileWaiting(open: OpenThread, parts: WaitingParts): Promise<boolean> {
  const { inbox, commands, access } = parts
  const heard: Heard[] = []
  for (const slot of await inbox.read(open.key, open.thread.nextSlot)) {
    const message = messageOf(slot.event, open.ref)
    const person = await open.platform.person(open.ref.account, message.author.id)
    heard.push({ slot, message, person, command: commands.parse(message.text, message.addressed)?.command.name })
  }
  const givesUp = heard.find(({ command, person }) => isGivingUp(command) && mayUse(access, person))
  if (givesUp) {
    await giveUp(open, givesUp.person, parts)
    return true
  }
  if (await answerQuestion(open, heard, parts)) return true
  for (const one of heard) {
    if (staysFor(one, access)) break
    await parts.take(one.slot)
  }
  for (const one of heard) {
    if (one.slot.slot >= open.thread.nextSlot && staysFor(one, access)) await tellOnce(open, one, parts)
  }
  return false
}

/** Messages and specialists' tasks wait for the decision; other commands, and what is to be refused, need not. */
function staysFor({ command, message, person }: Heard, access: AccessRules): boolean {
  if (!mayUse(access, person)) return false
  return command ? specialistOf(command) !== null : message.text.trim() !== '' || message.attachments.length > 0
}

function isGivingUp(command: string | undefined): boolean {
  return command === 'stop' || command === 'new'
}

/** A message in words is the answer to a question that stood when it was written, if its author may answer. */
async function answerQuestion(open: OpenThread, heard: readonly Heard[], parts: WaitingParts): Promise<boolean> {
  const { approvals, cards, access } = parts
  for (const { key } of openCalls(open)) {
    const { ask, decision } = await approvals.state(open.key, key)
    if (ask?.kind !== 'question' || decision) continue
    const answer = heard.find((one) => !one.command && isAnswer(one, ask, access))
    if (!answer) continue
    const { person, message, slot } = answer
    const by: PersonName = { id: person.id, name: person.name }
    const text = message.text.trim()
    await approvals.decide(open.key, key, ask.version, { v: 1, at: open.now(), by, kind: 'answered', text })
    await open.append(mark(open.now(), { mark: 'handled', what: usedAsAnswer(slot) }))
    await cards.show(open.ref, key)
    return true
  }
  return false
}

function isAnswer({ person, message }: Heard, ask: Ask, access: AccessRules): boolean {
  return message.text.trim() !== '' && message.at >= ask.at && mayDecide(ask.rule.who, ask.requesters, person, access)
}

/** What the mark says that is left where a message was used as an answer before its turn in the inbox. */
export function usedAsAnswer({ slot }: InboxSlot): string {
  return `answer ${slot}`
}

async function tellOnce(open: OpenThread, { slot, message }: Heard, parts: WaitingParts): Promise<void> {
  const { outbox, cards } = parts
  const key = `${open.key}/told/${slot.slot}`
  if (await outbox.find(key)) return
  await outbox.intend(key)
  const text = open.wording.waitingForDecision
  const value = String(slot.slot)
  const buttons = [{ action: CARD_ACTIONS.denyAll, label: open.wording.buttonDenyAll, style: 'danger' as const, value }]
  if (!(await open.platform.whisper(open.ref, message.author.id, text, { buttons }))) {
    await open.view.notice(`q${slot.slot}`, text, { buttons })
  }
  // Whoever writes while a card waits may not find it: one that was deleted is posted anew.
  for (const call of openCalls(open)) await cards.show(open.ref, call.key, { refresh: true })
}

/** Ends everything that waits: each open call gets its result, its card says who, and the run is over. */
async function giveUp(open: OpenThread, person: Person, parts: WaitingParts): Promise<void> {
  const { approvals, cards, log } = parts
  const by: PersonName = { id: person.id, name: person.name }
  for (const { key, call } of openCalls(open)) {
    const { attempts } = await approvals.giveUp(open.key, key, by)
    const end = attempts.at(-1)?.end
    const content = end?.kind === 'finished' ? end.text : `Error: stopped by ${speaker(person)}: ${whatIsKnown(end)}`
    const failed = end?.kind !== 'finished' || end.failed
    const seq = await open.append({
      ...{ v: 1, kind: 'message', at: open.now(), ...(failed && { failed }) },
      message: { role: 'tool', tool_call_id: call.id, content },
    })
    await showIfPossible(open, seq, log)
    await cards.show(open.ref, key)
  }
  const seq = await open.append(mark(open.now(), { mark: 'stopped', by: person.name, partial: '' }))
  await showIfPossible(open, seq, log)
}

function whatIsKnown(end: AttemptEnd | undefined): string {
  const ran = end && !(end.kind === 'skip' && end.neverRan)
  return ran ? 'it had begun, and nobody knows whether it took effect' : 'before it ran'
}

/** The calls without a result, with their keys. */
export function openCalls(open: OpenThread): { key: string; call: ToolCall }[] {
  const view = modelView(open.thread)
  const assistant = view.messages.findLast((message): message is AssistantMessage => message.role === 'assistant')
  const seq = assistant && view.seqOf(assistant)
  if (seq === undefined) return []
  return unanswered(view.messages).map(({ call, index }) => ({ key: callKey(seq, index), call }))
}

/** Asks that nobody needs to answer any more, because the run that asked ended otherwise: their cards say so. */
export async function settleLeftovers(
  open: OpenThread,
  by: PersonName,
  { approvals, cards }: Pick<WaitingParts, 'approvals' | 'cards'>,
): Promise<void> {
  const needed = new Set(openCalls(open).map(({ key }) => key))
  for (const key of await approvals.open(open.key)) {
    if (needed.has(key)) continue
    await approvals.giveUp(open.key, key, by)
    await cards.show(open.ref, key)
  }
}
