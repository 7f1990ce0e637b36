import type { BaseClient } from '../client/baseClient.ts'
import type { EditScheduler } from '../delivery/editScheduler.ts'
import type { Outbox } from '../delivery/outbox.ts'
import type { ActivityLevels } from '../session/activityLevels.ts'
import type { AuditEntry } from '../session/approvalAudit.ts'
import type { Approvals } from '../session/approvals.ts'
import type { Inbox } from '../session/inbox.ts'
import type { Thread, ThreadStore } from '../session/thread.ts'
import type { ToolSwitches } from '../session/toolSwitches.ts'
import type { Place, UsageLedger } from '../session/usage.ts'
import type { ActivityLevel } from '../shared/activityLevel.ts'
import type { Log } from '../shared/log.ts'
import type { Redactor } from '../shared/redact.ts'
import type { PlatformName } from '../shared/thread.ts'
import type { Wording } from '../shared/wording/wording.ts'
import type { ToolManager } from '../tool/toolManager.ts'
import type { AccessRules } from './access.ts'
import type { Cards } from './cards.ts'
import type { CommandRegistry } from './commandRegistry.ts'
import type { OpenThread } from './openThread.ts'
import type { Platforms } from './platforms.ts'
import type { Audit, CountCall, Specialists, TurnParts } from './turnParts.ts'

/** What a conversation is put together from; `app` hands it in. */
export interface ConversationParts {
  platforms: Platforms
  threads: ThreadStore
  inbox: Inbox
  /** Has the thread's handler run again soon. */
  wake(threadKey: string): Promise<void>
  outbox: Outbox
  /** The pace of edits, one per platform. */
  edits(platform: PlatformName): EditScheduler
  client: BaseClient
  specialists: Specialists
  /** The tools of a thread, made anew for each run; `count` hears the model calls that tools make. */
  toolsOf(open: OpenThread, count: CountCall): Promise<ToolManager>
  approvals: Approvals
  cards: Cards
  switches: ToolSwitches
  /** What people have said about the calls of a thread. */
  activityLevels: ActivityLevels
  /** Everything that was asked and decided in a thread, in order. */
  audit(thread: string, channel: Place): Promise<AuditEntry[]>
  compact: TurnParts['compact']
  usage: UsageLedger
  /** Off where `null`. */
  auditors: { input: Audit | null; output: Audit | null }
  systemPrompt(thread: Thread): string
  maxSteps: number
  workspace: string
  /** What is shown of calls where nobody has said anything else. */
  activity: ActivityLevel
  /** An answer that was written for so long ends with a message of its own, in milliseconds. */
  notifyAfterMs: number
  access: AccessRules
  commands: CommandRegistry
  redactor: Redactor
  wordingOf(locale: string | undefined): Wording
  log: Log
  now?: () => number
}
