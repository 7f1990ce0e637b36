import { z } from 'zod'
import { BaseClient, type ChatResponse } from '../../src/client/baseClient.ts'
import { createApprover } from '../../src/conversation/approver.ts'
import { createCards } from '../../src/conversation/cards.ts'
import { COMMANDS, createCommandRegistry } from '../../src/conversation/commandRegistry.ts'
import { createConversation } from '../../src/conversation/conversation.ts'
import { createDecisions } from '../../src/conversation/decisions.ts'
import { openRun } from '../../src/conversation/openThread.ts'
import { platformsByName } from '../../src/conversation/platforms.ts'
import { createEditScheduler } from '../../src/delivery/editScheduler.ts'
import type { ChatPlatform, MessageBody } from '../../src/platform/platform.ts'
import { createActivityLevels } from '../../src/session/activityLevels.ts'
import { type Approvals, createApprovals } from '../../src/session/approvals.ts'
import { createInbox } from '../../src/session/inbox.ts'
import { createMirrors } from '../../src/session/mirrors.ts'
import { createOutbox } from '../../src/session/outboxStore.ts'
import type { Store } from '../../src/session/store.ts'
import { createThreadStore } from '../../src/session/threadStore.ts'
import { createToolSwitches } from '../../src/session/toolSwitches.ts'
import { createUsageLedger } from '../../src/session/usage.ts'
import { silentLog } from '../../src/shared/log.ts'
import type { Message } from '../../src/shared/message.ts'
import { createRedactor } from '../../src/shared/redact.ts'
import { type Person, type ThreadRef, threadKey } from '../../src/shared/thread.ts'
import { wordingFor } from '../../src/shared/wording/wording.ts'
import type { PermissionLevel } from '../../src/tool/permission.ts'
import { ToolManager } from '../../src/tool/toolManager.ts'
import { incoming } from '../doubles/store/events.ts'

/** What one call of the plan is, and what people will say of it. */
export interface PlannedCall {
  kind: 'read' | 'effect' | 'ask'
  /** `late`: nobody decides in time. */
  will: 'approve' | 'always' | 'deny' | 'edit' | 'late' | 'stop'
  /** What people say where nobody knows how an attempt ended. */
  unknown: 'again' | 'skip'
}

export type Plan = PlannedCall[][]

export const REF: ThreadRef = { platform: 'slack', account: 'T1', id: 'C1:1.0', channel: 'C1', thread: '1.0' }
export const KEY = threadKey(REF)
const ANN: Person = { id: 'U1', name: 'Ann', isBot: false, isGuest: false, isExternal: false, isAdmin: true, roles: [] }
export const EXPIRES_MS = 60_000

/** What tests may break on purpose, to show that they would notice. */
export interface Breakage {
  approvals?(approvals: Approvals, store: Store): Approvals
  /** The effect of a call before it is claimed. */
  effectFirst?: boolean
}

/** The model that follows the plan: what it asks for next depends on the messages alone. Every call has the same id. */
class PlannedClient extends BaseClient {
  readonly model = 'planned'
  readonly #plan: Plan

  constructor(plan: Plan) {
    super()
    this.#plan = plan
  }

  async chat(messages: readonly Message[]): Promise<ChatResponse> {
    const taken = messages.filter((one) => one.role === 'assistant' && one.tool_calls?.length).length
    const calls = this.#plan[taken] ?? []
    const toolCalls = calls.map(({ kind }, at) => ({
      id: 'call_0',
      name: kind,
      arguments: JSON.stringify({ id: `${taken}.${at}` }),
    }))
    const content = calls.length > 0 ? '' : 'the end'
    return { content, toolCalls, usage: {}, model: this.model, finish: calls.length > 0 ? 'toolCalls' : 'stop' }
  }

  async *streamChat(messages: readonly Message[]): AsyncGenerator<string, ChatResponse> {
    const response = await this.chat(messages)
    if (response.content) yield response.content
    return response
  }
}

/**
 * One process of the bot over a store that may die at any write. What it does to the world goes through the same store, so
 * that it can die right before and right after each effect and each post.
 */
export function bornProcess(store: Store, plan: Plan, clock: { now: number }, breakage: Breakage = {}) {
  const now = () => clock.now
  const threads = createThreadStore(store)
  const inbox = createInbox({ store, wake: async () => {} })
  const outbox = createOutbox(store)
  const sound = createApprovals(store, now)
  const mirrors = createMirrors(store)
  const approvals = breakage.approvals?.(sound, store) ?? sound
  const platforms = platformsByName([worldPlatform(store)])
  const edits = createEditScheduler({ limits: { calls: [], editIntervalMs: 0 } })
  const wordingOf = () => wordingFor('en')
  const common = { log: silentLog, now }
  const cards = createCards({
    ...{ platforms, outbox, approvals, mirrors, wordingOf },
    edits: () => edits,
    unsafeTools: [],
    log: silentLog,
  })
  const access = { channels: [], people: [], roles: [], guests: false, external: false, admins: [] }
  const rules = { who: 'anyone' as const, quorum: 1, expiresMs: EXPIRES_MS, always: true, tools: {} }
  const commands = createCommandRegistry(COMMANDS)
  let effects = 0

  function tools(approver?: ReturnType<typeof createApprover>): ToolManager {
    const manager = new ToolManager(approver ? { approver } : {})
    const base = { description: '', parameters: z.object({ id: z.string(), edited: z.boolean().optional() }) }
    const act = (id: string) => store.set(`effect/${id}/${now()}-${Math.random()}-${effects++}`, true)
    manager.tool({ ...base, name: 'read', permission: 'safe' }, ({ id }) => `read ${id}`)
    manager.tool(
      {
        ...base,
        name: 'effect',
        permission: async ({ id }): Promise<PermissionLevel> => {
          if (breakage.effectFirst) await act(id)
          return 'sensitive'
        },
      },
      async ({ id, edited }, { beforeEffect }) => {
        await beforeEffect?.()
        if (!breakage.effectFirst) await act(id)
        return `did ${id}${edited ? ' as edited' : ''}`
      },
    )
    manager.register({
      ...{ ...base, name: 'ask', permission: 'safe' as const },
      question: ({ id }: { id: string }) => ({ text: `which ${id}?`, options: ['this', 'that'] }),
      invoke: async () => 'never',
    })
    return manager
  }

  const run = createConversation({
    ...{ platforms, threads, inbox, outbox, approvals, cards, access, commands, wordingOf, ...common },
    wake: async () => {},
    edits: () => edits,
    client: new PlannedClient(plan),
    specialists: { plan: { model: '', stream: neverAsked }, review: { model: '', stream: neverAsked } },
    toolsOf: async (open) =>
      tools(
        createApprover(open, {
          ...{ platforms, approvals, cards, rules, access, mask: (text: string) => text },
          wake: async () => {},
          log: silentLog,
        }),
      ),
    switches: createToolSwitches(store),
    audit: async () => [],
    compact: async () => 'none',
    usage: createUsageLedger(store),
    auditors: { input: null, output: null },
    systemPrompt: () => 'You follow the plan.',
    maxSteps: 100,
    workspace: '/',
    activityLevels: createActivityLevels(store),
    activity: 'compact',
    notifyAfterMs: 120_000,
    redactor: createRedactor([]),
  })
  const decisions = createDecisions({
    ...{ approvals, cards, mirrors, inbox, platforms, access, ...common },
    toolOf: async (_, name) => tools().find(name),
    workspace: '/',
    wake: async () => {},
  })

  return {
    approvals,
    threads,
    inbox,
    run: () => run(KEY, { signal: new AbortController().signal }),
    say: (id: string, text: string) =>
      inbox.deliver(
        KEY,
        incoming(id, [], {
          thread: REF,
          text,
          at: now(),
          author: { id: ANN.id, name: ANN.name, isBot: false, isExternal: false },
        }),
      ),
    begin: () => threads.ensureHead({ v: 1, ref: REF, title: 'it', createdAt: 0 }),
    click: (action: string, value: string) =>
      decisions.click({ ...act(action, value), ref: { channel: 'C1', id: '1' } }, ANN, wordingFor('en')),
    submit: (action: string, value: string, fields: Record<string, string>) =>
      decisions.submit({ ...act(action, value), fields }, ANN, wordingFor('en')),
    /** Cards that are brought up to date beside a click. */
    rest: () => cards.rest(),
    async isOver(): Promise<boolean> {
      const thread = await threads.open(KEY)
      return thread.nextSeq > 0 && !openRun(thread) && (await inbox.read(KEY, thread.nextSlot)).length === 0
    },
  }

  function act(action: string, value: string) {
    const author = { id: ANN.id, name: ANN.name, isBot: false, isExternal: false }
    return { id: `click-${action}-${value}`, thread: REF, author, action, value, at: now() }
  }
}

export type Process = ReturnType<typeof bornProcess>

// biome-ignore lint/correctness/useYield: it is never asked
async function* neverAsked(): AsyncGenerator<string, string> {
  throw new Error('no specialist is in the plan')
}

/** A platform whose messages lie in the store of the world, so that a post by the same key is one message. */
function worldPlatform(store: Store): ChatPlatform {
  const at = (id: string) => `world/${id}`
  const post: ChatPlatform['post'] = async (_thread, body, { key }) => {
    await store.putIfAbsent<MessageBody>(at(key), body)
    return { channel: 'C1', id: key }
  }
  return {
    name: 'slack',
    streaming: null,
    limits: {
      ...{ text: 4_000, unit: 'utf16', calls: [], editIntervalMs: 0 },
      ...{ fileBytes: 1e6, dialog: { fields: 9, characters: 3_000 } },
    },
    start: async () => {},
    stop: async () => {},
    size: (markdown) => markdown.length,
    open: async () => ({ thread: REF, ref: { channel: 'C1', id: '1.0' } }),
    post,
    edit: async (_thread, ref, body) => store.set(at(ref.id), body),
    remove: async (_thread, ref) => store.delete(at(ref.id)),
    upload: async (_thread, _file, { key }) => ({ channel: 'C1', id: key }),
    react: async () => {},
    status: async () => {},
    whisper: async () => true,
    history: async () => ({ messages: [], cut: false }),
    permalink: async () => null,
    person: async () => ANN,
  }
}
