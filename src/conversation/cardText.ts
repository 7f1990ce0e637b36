import type { Button, MessageBody } from '../platform/platform.ts'
import type { Ask, Attempt, AttemptEnd, Decision, PersonName, Vote } from '../session/approvalTypes.ts'
import type { Wording } from '../shared/wording/wording.ts'
import type { AlwaysScope } from '../tool/approval.ts'
import { fenced, plainInline } from '../transcript/containedMarkdown.ts'

/** What a card says at each time of its life; pure. Nothing that a model or a person wrote can format or end a part of it. */

/** The actions of cards. A value names the call and the version or attempt: `c12.0/1`. */
export const CARD_ACTIONS = {
  approve: 'approve',
  always: 'always',
  edit: 'edit',
  deny: 'deny',
  answer: 'answer',
  check: 'check',
  again: 'again',
  skip: 'skip',
  denyAll: 'denyall',
} as const

/** Lines of a body that is sent as a file, shown on the card itself. */
const SHOWN_LINES = 20
const SHOWN_CHARACTERS = 1_200
const LANGUAGES = { diff: 'diff', shell: 'sh', json: 'json', text: '' } as const

/** How much of the call a card shows: all of it, a beginning beside a file, or a beginning that nothing completes. */
export type Extent = 'whole' | 'file' | 'cut'

export interface CardOptions {
  wording: Wording
  extent: Extent
  /** The arguments fit a dialog of this platform. */
  editable: boolean
  /** They don't, but the console's dialogs can hold them. */
  elsewhere: boolean
  /** Said on every card of a command while there is no sandbox. */
  unsafe: boolean
}

/** The card of a version that waits for people. */
export function openCard(ask: Ask, votes: readonly Vote[], options: CardOptions): MessageBody {
  const { wording } = options
  if (ask.kind === 'question') {
    const hint = ask.question.options.length > 0 ? wording.cardAnswerHint : wording.cardAnswerHintWords
    return {
      kind: 'card',
      markdown: paragraphs(questionText(ask, wording), expiry(ask, wording), hint),
      buttons: options_(ask),
    }
  }
  const agreed = votes.map(({ by }) => plainInline(by.name)).join(', ')
  return {
    kind: 'card',
    markdown: paragraphs(
      callText(ask, options),
      lines(
        ask.rule.quorum > 1 && wording.cardVotes(votes.length, ask.rule.quorum, agreed),
        whoText(ask, wording),
        options.extent !== 'cut' && ask.always && wording.cardAlways(scopeText(ask.always, wording)),
        options.extent === 'cut' && wording.cardNotWhole,
        options.elsewhere && wording.cardEditElsewhere,
        expiry(ask, wording),
      ),
    ),
    buttons: callButtons(ask, options),
  }
}

/** The card of a version that was decided. */
export function settledCard(ask: Ask, decision: Decision, options: CardOptions): MessageBody {
  const { wording } = options
  const head = ask.kind === 'question' ? questionText(ask, wording) : callText(ask, options)
  return { kind: 'card', markdown: paragraphs(head, decisionText(ask, decision, wording)) }
}

/** How a version was decided, by whom and when: one line, or two with a reason. */
export function decisionText(ask: Ask, decision: Decision, wording: Wording): string {
  const by = decision.by ? plainInline(decision.by.name) : ''
  const when = timeText(decision.at)
  switch (decision.kind) {
    case 'approved': {
      const names = decision.voters.map(({ name }) => plainInline(name)).join(', ')
      return decision.always ? wording.settledAlways(names, when) : wording.settledApproved(names, when)
    }
    case 'always':
      return wording.settledByAlways(plainInline(decision.grantedBy.name))
    case 'denied': {
      const reason = decision.reason?.trim()
      return lines(wording.settledDenied(by, when), reason && wording.settledReason(plainInline(reason)))
    }
    case 'edited':
      return wording.settledEdited(by, when)
    case 'expired':
      return ask.kind === 'question'
        ? wording.settledUnanswered(timeText(ask.expiresAt))
        : wording.settledExpired(timeText(ask.expiresAt))
    case 'stopped':
      return wording.settledStopped(by, when)
    case 'answered':
      return `${wording.settledAnswered(by, when)} ${plainInline(decision.text)}`
  }
}

/** The card about an attempt whose end nobody saw. */
export function unknownCard(
  ask: Ask,
  attempt: Attempt,
  finding: string | null,
  canCheck: boolean,
  wording: Wording,
): MessageBody {
  const value = `${ask.callKey}/${attempt.number}`
  const button = (action: string, label: string, style: Button['style']): Button => ({ action, label, style, value })
  return {
    kind: 'card',
    markdown: paragraphs(
      wording.unknownOutcome(ask.kind === 'call' ? ask.tool : ''),
      finding !== null && wording.unknownChecked(plainInline(finding)),
    ),
    buttons: [
      ...(canCheck ? [button(CARD_ACTIONS.check, wording.buttonCheck, 'primary')] : []),
      button(CARD_ACTIONS.again, wording.buttonAgain, 'danger'),
      button(CARD_ACTIONS.skip, wording.buttonSkip, 'plain'),
    ],
  }
}

export function settledUnknownCard(ask: Ask, end: AttemptEnd, wording: Wording): MessageBody {
  const tool = ask.kind === 'call' ? ask.tool : ''
  return { kind: 'card', markdown: paragraphs(wording.unknownOutcome(tool), endText(end, wording)) }
}

export function endText(end: AttemptEnd, wording: Wording): string {
  if (end.kind === 'finished') return wording.settledFinished
  const name = plainInline(end.by.name)
  const when = timeText(end.at)
  return end.kind === 'again' ? wording.settledAgain(name, when) : wording.settledSkipped(name, when)
}

/** The whole of a call as a file has it. */
export function bodyFile(ask: Ask): { name: string; content: string } | null {
  return ask.kind === 'call' ? { name: ask.preview.fileName, content: ask.preview.body } : null
}

function callText(ask: Ask & { kind: 'call' }, { wording, extent, unsafe }: CardOptions): string {
  const { preview, tool } = ask
  const all = preview.body.split('\n')
  const shown =
    extent === 'whole' ? preview.body : all.slice(0, SHOWN_LINES).join('\n').slice(0, SHOWN_CHARACTERS).toWellFormed()
  const count = shown.split('\n').length
  return paragraphs(
    lines(
      wording.cardAsks(tool),
      preview.summary && inCode(preview.summary),
      wording.cardAskedBy(names(ask.requesters)),
      ask.editedBy && wording.cardEditedBy(plainInline(ask.editedBy.name)),
    ),
    fenced(shown, LANGUAGES[preview.format]),
    extent !== 'whole' && wording.cardInFile(count, all.length, plainInline(preview.fileName)),
    unsafe && wording.cardUnsafeRun,
  )
}

function questionText(ask: Ask & { kind: 'question' }, wording: Wording): string {
  // Buttons show the beginning of a long option only.
  const options = ask.question.options.map((option) => `- ${plainInline(option)}`).join('\n')
  return paragraphs(wording.cardQuestion, ask.question.text, options)
}

function callButtons(ask: Ask & { kind: 'call' }, { wording, extent, editable }: CardOptions): Button[] {
  const value = `${ask.callKey}/${ask.version}`
  const button = (action: string, label: string, style: Button['style']): Button => ({ action, label, style, value })
  const deny = button(CARD_ACTIONS.deny, wording.buttonDeny, 'danger')
  if (extent === 'cut') return [deny]
  return [
    button(CARD_ACTIONS.approve, wording.buttonApprove, 'primary'),
    ...(ask.always ? [button(CARD_ACTIONS.always, wording.buttonAlways, 'plain')] : []),
    ...(editable ? [button(CARD_ACTIONS.edit, wording.buttonEdit, 'plain')] : []),
    deny,
  ]
}

function options_(ask: Ask & { kind: 'question' }): Button[] {
  return ask.question.options.map((label, index) => ({
    action: `${CARD_ACTIONS.answer}.${index}`,
    label,
    style: 'plain',
    value: `${ask.callKey}/${ask.version}/${index}`,
  }))
}

function whoText({ rule }: Ask, wording: Wording): string {
  if (rule.who === 'anyone') return ''
  if (rule.who === 'requester') return wording.cardRequester
  return rule.who === 'not_requester' ? wording.cardNotRequester : wording.cardNamedPeople
}

function scopeText({ kind, detail }: AlwaysScope, wording: Wording): string {
  if (kind === 'fileEdits') return wording.scopeFileEdits
  return kind === 'command' ? wording.scopeCommand(inCode(detail)) : wording.scopeTool(detail)
}

/** A command within a line: code that nothing in it can end, on one line. */
function inCode(text: string): string {
  const line = text.replaceAll('\n', '⏎').slice(0, 200)
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length))
  const marks = '`'.repeat(longest + 1)
  return longest > 0 ? `${marks} ${line} ${marks}` : `${marks}${line}${marks}`
}

function expiry({ expiresAt }: Ask, wording: Wording): string {
  return wording.cardExpires(timeText(expiresAt))
}

function names(people: readonly PersonName[]): string {
  return people.map(({ name }) => plainInline(name)).join(', ') || '–'
}

/** For example `2 Dec, 10:00 UTC`: the same for all who read the card, wherever they are. */
function timeText(at: number): string {
  const iso = new Date(at).toISOString()
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`
}

function paragraphs(...parts: (string | false | undefined | null)[]): string {
  return parts.filter(Boolean).join('\n\n')
}

/** Lines that stay lines in Markdown. */
function lines(...parts: (string | false | undefined | null)[]): string {
  return parts.filter(Boolean).join('  \n')
}
