import type { Click, ClickAnswer, Dialog, Submission, SubmitAnswer } from '../platform/platform.ts'
import type { Approvals } from '../session/approvals.ts'
import type { Ask, Decision, PersonName } from '../session/approvalTypes.ts'
import type { Inbox } from '../session/inbox.ts'
import type { Mirrors } from '../session/mirrors.ts'
import { messageOf } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import { type Person, type ThreadRef, threadKey } from '../shared/thread.ts'
import type { Wording } from '../shared/wording/wording.ts'
import type { Tool } from '../tool/tool.ts'
import type { AccessRules } from './access.ts'
import { createCallEditing, lookingContext } from './callEditing.ts'
import type { Cards } from './cards.ts'
import { CARD_ACTIONS, decisionText, endText } from './cardText.ts'
import { mayDecide, mayDeny } from './entitled.ts'
import type { Platforms } from './platforms.ts'

export interface DecisionsParts {
  approvals: Approvals
  cards: Cards
  /** Threads of the console that show cards of others. */
  mirrors: Mirrors
  inbox: Inbox
  platforms: Platforms
  access: AccessRules
  /** A tool by name, for checking what people submit; `undefined` where the thread has none of that name (any more). */
  toolOf(ref: ThreadRef, name: string): Promise<Tool | undefined>
  /** Absolute path of the folder that tools work on. */
  workspace: string
  /** Has the thread's run go on; with `afterMs` that outlives the process. */
  wake(threadKey: string, options?: { afterMs: number }): Promise<void>
  log: Log
  now?: () => number
}

/** A person who pressed a button or sent a dialog off, and what that was. */
interface Act {
  /** The thread whose call it is about. */
  ref: ThreadRef
  /** Where it was pressed: there, or in the console's thread that shows its cards, too. */
  at: ThreadRef
  key: string
  action: string
  value: string
  person: Person
  wording: Wording
}

/** How long after a decision its thread is looked at again, in case the process dies before its run comes to an end. */
const SAFETY_NET_MS = 5_000

/** Titles of dialogs are cut to what Slack takes. */
const TITLE_CHARACTERS = 24

/**
 * Decisions of people, taken where their clicks come in: authorised by the platform's word on the person and the rule in the
 * store, recorded, and answered at once, also while a run of the thread is busy. What follows is the run's, which is woken.
 * A payload only names what is looked up in the store, under the thread that the platform says it came from.
 */
export function createDecisions(parts: DecisionsParts) {
  const { approvals, cards, inbox, access, log, now = Date.now } = parts
  const editing = createCallEditing(parts)

  return {
    /** `null` for an action that is none of a card. */
    async click({ thread, action, value }: Click, person: Person, wording: Wording): Promise<ClickAnswer | null> {
      const act = await actOf(thread, { action: action.split('.', 1)[0]!, value, person, wording })
      switch (act.action) {
        case CARD_ACTIONS.approve:
        case CARD_ACTIONS.always:
          return approve(act)
        case CARD_ACTIONS.deny:
          return withAsk(act, false, async () => ({ dialog: denyDialog(act) }))
        case CARD_ACTIONS.edit:
          return withAsk(act, true, (ask) => editDialog(act, ask))
        case CARD_ACTIONS.answer:
          return answer(act)
        case CARD_ACTIONS.check:
          return check(act)
        case CARD_ACTIONS.again:
        case CARD_ACTIONS.skip:
          return closeAttempt(act, act.action === CARD_ACTIONS.again ? 'again' : 'skip')
        case CARD_ACTIONS.denyAll:
          return denyAll(act)
        default:
          return null
      }
    },

    async submit(
      { thread, action, value, fields }: Submission,
      person: Person,
      wording: Wording,
    ): Promise<SubmitAnswer> {
      const act = await actOf(thread, { action, value, person, wording })
      if (action === CARD_ACTIONS.deny) {
        return withAsk(act, false, (ask) => {
          const reason = fields.reason?.trim()
          return decide(act, ask, { ...by(act), kind: 'denied', ...(reason && { reason }) })
        })
      }
      if (action === CARD_ACTIONS.edit) return withAsk(act, true, (ask) => edit(act, ask, fields))
      return strange(act)
    },
  }

  async function actOf(at: ThreadRef, did: Pick<Act, 'action' | 'value' | 'person' | 'wording'>): Promise<Act> {
    const ref = (await parts.mirrors.homeOf(at)) ?? at
    return { ref, at, key: threadKey(ref), ...did }
  }

  /** Finds the version that a value names, if it still waits and the person may decide it (or, with `yes` false, deny it). */
  async function withAsk<A extends object>(
    act: Act,
    yes: boolean,
    task: (ask: Ask) => Promise<A>,
  ): Promise<A | { text: string }> {
    const { key, person, wording } = act
    const { callKey, number } = named(act.value)
    const state = await approvals.state(key, callKey)
    const { ask } = state
    const version = number === ask?.version ? state : state.earlier.find((one) => one.ask.version === number)
    if (!ask || !version) return strange(act)
    const may = yes ? mayDecide : mayDeny
    if (!may(ask.rule.who, ask.requesters, person, access)) {
      log.warn(
        { thread: key, call: callKey, person: person.id, action: act.action },
        'a decision was refused: not entitled',
      )
      return { text: wording.notEntitled }
    }
    if (version.decision) {
      log.info({ thread: key, call: callKey, person: person.id, action: act.action }, 'a click came after the decision')
      return { text: wording.decidedBefore(decisionText(version.ask ?? ask, version.decision, wording)) }
    }
    if (ask.expiresAt <= now()) {
      await after(act, callKey)
      return { text: wording.expiredBefore }
    }
    return task(ask)
  }

  function approve(act: Act): Promise<ClickAnswer> {
    return withAsk(act, true, async (ask): Promise<ClickAnswer> => {
      const { wording } = act
      if (ask.kind !== 'call') return strange(act)
      if (!(await cards.isWhole(act.at, ask))) return { text: wording.cannotBeApproved }
      const always = act.action === CARD_ACTIONS.always && ask.always !== null
      await spanNet(act)
      const vote = await approvals.vote(act.key, ask.callKey, ask.version, nameOf(act), { always })
      if (vote.kind === 'again') return { text: wording.votedBefore }
      if (vote.kind === 'stale') return { text: wording.alreadyDone }
      await after(act, ask.callKey)
      if (vote.kind === 'counted') return { text: wording.voteCounted(vote.have, vote.need) }
      return vote.won ? {} : { text: wording.decidedBefore(decisionText(ask, vote.decision, wording)) }
    })
  }

  async function decide(act: Act, ask: Ask, decision: Decision): Promise<{ text?: string }> {
    await spanNet(act)
    const outcome = await approvals.decide(act.key, ask.callKey, ask.version, decision)
    await after(act, ask.callKey)
    return outcome.won ? {} : { text: act.wording.decidedBefore(decisionText(ask, outcome.decision, act.wording)) }
  }

  function answer(act: Act): Promise<ClickAnswer> {
    return withAsk(act, true, async (ask) => {
      const text = ask.kind === 'question' ? ask.question.options[Number(act.value.split('/')[2])] : undefined
      if (text === undefined) return strange(act)
      return decide(act, ask, { ...by(act), kind: 'answered', text })
    })
  }

  async function editDialog(act: Act, ask: Ask): Promise<ClickAnswer> {
    const fields = await editing.fieldsOf(act, ask)
    if (!fields) return strange(act)
    const { wording } = act
    return { dialog: { ...dialogOf(act, wording.dialogEdit(ask.tool)), intro: wording.dialogIntro, fields } }
  }

  async function edit(act: Act, ask: Ask, sent: Record<string, string>): Promise<SubmitAnswer> {
    const read = await editing.argumentsOf(act, ask, sent)
    if (!read) return strange(act)
    return 'errors' in read ? read : decide(act, ask, { ...by(act), kind: 'edited', args: read.args })
  }

  async function check(act: Act): Promise<ClickAnswer> {
    return withAttempt(act, async (ask) => {
      const tool = await parts.toolOf(act.ref, ask.tool)
      if (!tool?.approval?.check) return strange(act)
      const context = lookingContext(act.key, ask, parts.workspace)
      const finding = await tool.approval.check(ask.args, context, ask.preview.basis).catch(messageOf)
      later(act, cards.showUnknown(act.ref, ask.callKey, { canCheck: true, finding }))
      return { text: act.wording.unknownChecked(finding) }
    })
  }

  async function closeAttempt(act: Act, kind: 'again' | 'skip'): Promise<ClickAnswer> {
    return withAttempt(act, async (ask, attempt) => {
      await spanNet(act)
      const outcome = await approvals.end(act.key, ask.callKey, attempt, { kind, at: now(), by: nameOf(act) })
      await after(act, ask.callKey)
      return outcome.won ? {} : { text: act.wording.decidedBefore(endText(outcome.end, act.wording)) }
    })
  }

  /** Finds the attempt that a value names, where nobody knows how it ended. */
  async function withAttempt(
    act: Act,
    task: (ask: Ask & { kind: 'call' }, attempt: number) => Promise<ClickAnswer>,
  ): Promise<ClickAnswer> {
    const { callKey, number } = named(act.value)
    const { ask, attempts } = await approvals.state(act.key, callKey)
    const attempt = attempts.find((one) => one.number === number)
    if (ask?.kind !== 'call' || !attempt) return strange(act)
    if (!mayDecide(ask.rule.who, ask.requesters, act.person, access)) return { text: act.wording.notEntitled }
    if (attempt.end) return { text: act.wording.decidedBefore(endText(attempt.end, act.wording)) }
    return task(ask, number)
  }

  /** *Deny all and use this message*: what waits is denied, and the message behind it is next. */
  async function denyAll(act: Act): Promise<ClickAnswer> {
    const { key, person, wording } = act
    const slot = Number(act.value)
    const [next] = Number.isSafeInteger(slot) && slot >= 0 ? await inbox.read(key, slot, 1) : []
    if (next?.slot !== slot) return { text: wording.alreadyDone }
    await spanNet(act)
    const open = await approvals.open(key)
    let refused = false
    for (const callKey of open) {
      const { ask, decision } = await approvals.state(key, callKey)
      if (!ask || decision) continue
      if (!mayDeny(ask.rule.who, ask.requesters, person, access)) {
        refused = true
        continue
      }
      const no =
        ask.kind === 'question'
          ? { kind: 'stopped' as const }
          : { kind: 'denied' as const, reason: wording.noPersonReply }
      await approvals.decide(key, callKey, ask.version, { ...by(act), ...no })
      later(act, cards.show(act.ref, callKey))
    }
    await parts.wake(key)
    return refused ? { text: wording.notEntitled } : {}
  }

  function denyDialog(act: Act): Dialog {
    const { wording } = act
    const reason = { name: 'reason', label: wording.dialogReason, value: '', multiline: true, required: false }
    return { ...dialogOf(act, wording.dialogDeny), fields: [reason] }
  }

  function dialogOf({ action, value, wording }: Act, title: string) {
    const fitting = title.length <= TITLE_CHARACTERS ? title : `${title.slice(0, TITLE_CHARACTERS - 1)}…`.toWellFormed()
    return { action, value, title: fitting, submit: wording.dialogSubmit, close: wording.dialogCancel }
  }

  /**
   * A thread that waits is in no list of open work, so whoever decides leaves a timer in the store first: a process that dies
   * after the decision, or while what was approved runs, is followed by one that goes on.
   */
  async function spanNet({ key }: Act): Promise<void> {
    await parts.wake(key, { afterMs: SAFETY_NET_MS })
  }

  /** The card says it, and the run goes on; neither keeps the person waiting. */
  async function after(act: Act, callKey: string): Promise<void> {
    later(act, cards.show(act.ref, callKey))
    await parts.wake(act.key)
  }

  function later(act: Act, showing: Promise<void>): void {
    showing.catch((error) => log.warn({ thread: act.key, error }, 'a card was not brought up to date; the run will'))
  }

  /** A payload that was made up, is of another thread, or is so old that nothing is known of it. */
  function strange({ key, person, action, value, wording }: Act): { text: string } {
    log.warn({ thread: key, person: person.id, action, value }, 'a click or dialog names nothing that waits here')
    return { text: wording.alreadyDone }
  }

  function by(act: Act) {
    return { v: 1 as const, at: now(), by: nameOf(act) }
  }
}

export type Decisions = ReturnType<typeof createDecisions>

/** `c12.0/1`: a call, and the number of a version or attempt. */
function named(value: string): { callKey: string; number: number } {
  const [callKey = '', number = ''] = value.split('/')
  return {
    callKey: /^c\d{1,12}\.\d{1,4}$/.test(callKey) ? callKey : '-',
    number: /^\d{1,6}$/.test(number) ? Number(number) : NaN,
  }
}

/** Somebody at the console who decides for a thread elsewhere is told apart from that platform's people. */
function nameOf({ person: { id, name }, ref, at }: Act): PersonName {
  return ref.platform === at.platform ? { id, name } : { id, name, platform: at.platform }
}
