import type { ApprovalRules } from '../session/approvalRules.ts'
import { ruleFor } from '../session/approvalRules.ts'
import { dueDecision } from '../session/approvalState.ts'
import type { Approvals } from '../session/approvals.ts'
import type { Ask, CallState, PersonName } from '../session/approvalTypes.ts'
import { speaker } from '../session/view.ts'
import { isAbort, messageOf } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import type { Preview } from '../tool/approval.ts'
import { type Approver, type CallToApprove, PreviewError, type Verdict } from '../tool/approver.ts'
import type { Answer } from '../tool/question.ts'
import type { Tool, ToolContext } from '../tool/tool.ts'
import type { AccessRules } from './access.ts'
import type { Cards } from './cards.ts'
import { mayDecide } from './entitled.ts'
import { type OpenThread, requestersOf } from './openThread.ts'
import type { Platforms } from './platforms.ts'

export interface ApproverParts {
  platforms: Platforms
  approvals: Approvals
  cards: Cards
  rules: ApprovalRules
  access: AccessRules
  /** Masks known secrets. */
  mask(text: string): string
  /** Has the thread's handler run when a decision is due. */
  wake(threadKey: string, options: { afterMs: number }): Promise<void>
  log: Log
}

/**
 * Asks the people of a thread. Every verdict is read from the store, so a run that is begun again, here or elsewhere, finds
 * what was asked and decided. Asking is: the ask into the store, then its timer, then its card; each is made up for when a
 * crash came between.
 */
export function createApprover(open: OpenThread, parts: ApproverParts): Approver {
  const { approvals, cards, rules, access, log } = parts
  const { key, ref } = open

  return {
    async verdict(call, tool, context) {
      let state = await approvals.state(key, call.callKey)
      if (!state.ask) {
        await askFirst(call, tool, context)
        state = await approvals.state(key, call.callKey)
      }
      while (state.decision?.kind === 'edited') {
        await askAgain(state, tool, context)
        state = await approvals.state(key, call.callKey)
      }
      return verdictOf(state, tool)
    },

    begin: (callKey, attempt) => approvals.begin(key, callKey, attempt),
    confirm: (callKey, attempt) => approvals.confirm(key, callKey, attempt),
    async finish(callKey, attempt, { text, failed }) {
      const { won } = await approvals.end(key, callKey, attempt, { kind: 'finished', at: open.now(), text, failed })
      return won ? 'won' : 'lost'
    },

    async answer(callKey, question): Promise<Answer> {
      let state = await approvals.state(key, callKey)
      if (!state.ask) {
        const at = open.now()
        const rule = ruleFor(rules, 'ask_user', [])
        const ask: Ask = {
          ...common(callKey, 1, at, rule.expiresMs),
          kind: 'question',
          tool: 'ask_user',
          question,
          rule,
        }
        await approvals.ask(key, ask)
        state = await approvals.state(key, callKey)
      }
      const { decision } = await settledOrWaiting(state)
      if (!decision) return { kind: 'pending' }
      if (decision.kind === 'answered') return { kind: 'answered', by: speaker(decision.by!), text: decision.text }
      return { kind: 'expired' }
    },
  }

  function common(callKey: string, version: number, at: number, expiresMs: number) {
    const requesters = requestersOf(open.thread)
    return {
      v: 1 as const,
      callKey,
      version,
      at,
      expiresAt: at + expiresMs,
      requesters,
      ...(open.locale !== undefined && { locale: open.locale }),
    }
  }

  /** The first version of a call, as the model made it; an earlier "always" decides it at once. */
  async function askFirst({ callKey, name, args }: CallToApprove, tool: Tool, context: ToolContext): Promise<void> {
    const preview = await previewOf(tool, args, context)
    const rule = ruleFor(rules, name, (await tool.approval?.subjects(args, context)) ?? [])
    const generation = await approvals.generation(key)
    const always = rule.always ? alwaysOf(tool, args) : null
    const ask: Ask = {
      ...common(callKey, 1, open.now(), rule.expiresMs),
      ...{ kind: 'call', tool: name, args, preview, rule, always, generation },
    }
    await approvals.ask(key, ask)
    const grantedBy = always && (await approvals.alwaysFor(key, generation, always.key))
    if (grantedBy)
      await approvals.decide(key, callKey, 1, { v: 1, at: open.now(), by: null, kind: 'always', grantedBy })
  }

  /** The version that an edit made: asked about anew, with the editor's own yes if that counts. */
  async function askAgain(state: CallState, tool: Tool, context: ToolContext): Promise<void> {
    const { ask, decision } = state
    if (ask?.kind !== 'call' || decision?.kind !== 'edited') return
    const { args } = decision
    const editor = decision.by!
    const preview = await previewOf(tool, args, context)
    const rule = ruleFor(rules, tool.name, (await tool.approval?.subjects(args, context)) ?? [])
    const version = ask.version + 1
    const next: Ask = {
      ...common(ask.callKey, version, open.now(), rule.expiresMs),
      ...{ kind: 'call', tool: ask.tool, args, preview, rule, generation: ask.generation, editedBy: editor },
      requesters: ask.requesters,
      always: rule.always ? alwaysOf(tool, args) : null,
    }
    await approvals.ask(key, next)
    if (await counts(editor, next)) await approvals.vote(key, ask.callKey, version, editor, { always: false })
  }

  async function counts(editor: PersonName, { rule, requesters }: Ask): Promise<boolean> {
    // Nobody needs an account to be asked for at the console: it has one.
    const place = editor.platform ? { platform: editor.platform, account: 'local' } : ref
    const person = await parts.platforms.of(place).person(place.account, editor.id)
    return mayDecide(rule.who, requesters, person, access)
  }

  async function verdictOf(state: CallState, tool: Tool): Promise<Verdict> {
    const { ask, decision, attempts } = await settledOrWaiting(state)
    if (ask?.kind !== 'call' || !decision) return { kind: 'pending' }
    switch (decision.kind) {
      case 'denied':
        return { kind: 'denied', by: speaker(decision.by!), ...(decision.reason && { reason: decision.reason }) }
      case 'stopped':
        return { kind: 'denied', by: speaker(decision.by ?? { id: '', name: '' }) }
      case 'approved':
      case 'always':
        break
      default:
        return { kind: 'expired' }
    }
    if (decision.kind === 'approved' && decision.always && ask.always) {
      await approvals.grantAlways(key, ask.generation, ask.always, decision.by!)
    }
    const last = attempts.at(-1)
    const attempt = (last?.number ?? 0) + 1
    const basis = ask.preview.basis
    const note = noteOf(ask)
    const approved: Verdict = {
      kind: 'approved',
      args: ask.args,
      attempt,
      ...(note && { note }),
      ...(basis !== undefined && { basis }),
    }
    // Nobody looked at this file as it was: an "always" is of the effect, not of one state of a file.
    if (decision.kind === 'always') delete approved.basis
    if (!last) return approved
    if (last.end?.kind === 'finished') return { kind: 'finished', text: last.end.text, failed: last.end.failed }
    if (last.end?.kind === 'again') return approved
    if (last.end?.kind === 'skip') return { kind: 'skipped', by: speaker(last.end.by) }
    await cards.showUnknown(ref, ask.callKey, { canCheck: Boolean(tool.approval?.check) })
    return { kind: 'pending' }
  }

  /** The state with an expiry that is due taken, and its cards shown. Without a decision, somebody will look when it is due. */
  async function settledOrWaiting(state: CallState): Promise<CallState> {
    const ask = state.ask!
    const { callKey, version, expiresAt } = ask
    const due = dueDecision(state, open.now())
    if (due) {
      await approvals.decide(key, callKey, version, due)
      state = await approvals.state(key, callKey)
    }
    if (!state.decision) await parts.wake(key, { afterMs: Math.max(0, expiresAt - open.now()) })
    await cards.show(ref, callKey)
    return state
  }

  async function previewOf(tool: Tool, args: unknown, context: ToolContext): Promise<Preview> {
    const asJson = {
      summary: '',
      body: JSON.stringify(args, null, 2),
      format: 'json' as const,
      fileName: `${tool.name}.json`,
    }
    let preview: Preview
    try {
      preview = tool.approval ? await tool.approval.preview(args, context) : asJson
    } catch (error) {
      if (isAbort(error)) throw error
      log.debug({ thread: key, tool: tool.name, error }, 'a call has no preview; nobody is asked about it')
      throw new PreviewError(messageOf(error), { cause: error })
    }
    // A card with a masked part shows less than what would be approved.
    if (parts.mask(preview.body) !== preview.body || parts.mask(preview.summary) !== preview.summary)
      throw new PreviewError(SECRET_SHOWN)
    return preview
  }
}

const SECRET_SHOWN =
  'people would have to see a secret to check this call, so they are not asked. Leave that place alone, or ask a person to do it.'

function alwaysOf(tool: Tool, args: unknown) {
  return tool.approval?.always(args) ?? { key: `tool:${tool.name}`, kind: 'tool' as const, detail: tool.name }
}

/** What the model has to know where something else ran than it asked for. */
function noteOf(ask: Ask & { kind: 'call' }): string {
  if (!ask.editedBy) return ''
  return `${speaker(ask.editedBy)} changed the arguments before this ran. What ran: ${JSON.stringify(ask.args)}`
}
