import type { Outbox } from '../delivery/outbox.ts'
import type { ActivityLevels } from '../session/activityLevels.ts'
import type { Approvals } from '../session/approvals.ts'
import type { InboxSlot } from '../session/inbox.ts'
import type { ThreadStore } from '../session/thread.ts'
import type { ToolSwitches } from '../session/toolSwitches.ts'
import { dayOf, type UsageLedger } from '../session/usage.ts'
import { usageText } from '../session/usageTotals.ts'
import { speaker } from '../session/view.ts'
import { ACTIVITY_LEVELS, type ActivityLevel } from '../shared/activityLevel.ts'
import type { EventSource } from '../shared/record.ts'
import type { Redactor } from '../shared/redact.ts'
import type { Person } from '../shared/thread.ts'
import type { ToolManager } from '../tool/toolManager.ts'
import { transcriptFileName, transcriptMarkdown } from '../transcript/markdown.ts'
import { type AccessRules, isAdmin } from './access.ts'
import { auditLines } from './auditText.ts'
import type { CommandRegistry, ParsedCommand } from './commandRegistry.ts'
import { channelOf, mark, type OpenThread } from './openThread.ts'
import type { ConversationParts } from './parts.ts'

/** The command line has them all. */
const MOST_AUDIT_LINES = 100

export interface CommandParts {
  registry: CommandRegistry
  threads: ThreadStore
  toolManager: ToolManager
  /** Name of the model that answers here. */
  model: string
  /** Takes secrets out of what leaves the thread as a file. */
  redactor: Redactor
  outbox: Outbox
  usage: UsageLedger
  approvals: Approvals
  switches: ToolSwitches
  activityLevels: ActivityLevels
  /** What is shown of calls where nobody has said anything else. */
  activity: ActivityLevel
  /** Everything that was asked and decided in a thread, in order. */
  audit: ConversationParts['audit']
  access: AccessRules
}

/**
 * Carries out a command that is no turn of the agent (all but `plan`) and records that it was handled. What it says goes out
 * before the record: after a crash between the two it is said again under the same key, so people see it once.
 */
export async function runCommand(
  open: OpenThread,
  { command, args }: ParsedCommand,
  from: { slot: InboxSlot; person: Person; source: EventSource },
  parts: CommandParts,
): Promise<void> {
  const { wording, view } = open
  const key = `n${from.slot.slot}`
  const handled = () => open.append(mark(open.now(), { mark: 'handled', what: command.name, source: from.source }))

  switch (command.name) {
    case 'help':
      await view.notice(key, parts.registry.helpText(wording))
      break
    case 'new':
      await view.notice(key, wording.newContext)
      await parts.approvals.resetAlways(open.key, { id: from.person.id, name: from.person.name })
      await open.append(
        mark(open.now(), { mark: 'boundary', by: { id: from.person.id, name: from.person.name }, source: from.source }),
      )
      return
    case 'stop': {
      // The run itself was stopped at the door; its own message says so. Here only "there was none" is left to say.
      const last = open.thread.records.at(-1)?.record
      const wasStopped = last?.kind === 'mark' && last.mark === 'stopped'
      // A reaction says nothing, and is answered by nothing.
      if (!wasStopped && from.slot.event.kind !== 'stop') await view.notice(key, wording.nothingToStop)
      break
    }
    case 'tools':
      await view.notice(key, toolList(parts.toolManager))
      break
    case 'model':
      await view.notice(key, `\`${parts.model}\``)
      break
    case 'tool':
      await view.notice(key, await switchTool(open, args, from.person, parts))
      break
    case 'activity':
      await view.notice(key, await setActivity(open, args, from.person, parts))
      break
    case 'audit':
      await view.notice(key, await auditText(open, parts))
      break
    case 'usage':
      await view.notice(key, await usageOf(open, from.person, parts.usage))
      break
    case 'share':
      await share(open, key, parts)
      break
    default:
      await view.notice(key, wording.unknownCommand(args ? `${command.name} ${args}` : command.name))
  }
  await handled()
}

function toolList(toolManager: ToolManager): string {
  const rows = toolManager.listTools().map(({ name, description, permission, enabled }) => {
    const firstSentence = description.split(/(?<=\.)\s/, 1)[0]
    return `- \`${name}\` (${permission}${enabled ? '' : ', off'}): ${firstSentence}`
  })
  return rows.join('\n')
}

/** The newest entries of the thread's audit log, oldest first. */
async function auditText(open: OpenThread, { audit, redactor }: CommandParts): Promise<string> {
  const entries = await audit(open.key, channelOf(open.ref))
  if (entries.length === 0) return open.wording.auditEmpty
  return auditLines(entries.slice(-MOST_AUDIT_LINES), redactor)
}

/** `enable NAME` or `disable NAME`, with `in channel` behind it for the whole channel. Admins of the bot only. */
async function switchTool(open: OpenThread, args: string, person: Person, parts: CommandParts): Promise<string> {
  const { wording } = open
  const [, verb, name = '', inChannel] = /^(enable|disable)\s+`?([\w-]+)`?(\s+in\s+channel)?$/i.exec(args.trim()) ?? []
  if (!verb) return wording.toolUsage
  if (!isAdmin(parts.access, person)) return wording.adminsOnly
  if (!parts.toolManager.has(name)) return name === 'run_command' ? wording.toolNeedsSandbox : wording.toolUnknown(name)
  const on = verb.toLowerCase() === 'enable'
  const by = { id: person.id, name: person.name }
  await parts.switches.set(inChannel ? { channel: channelOf(open.ref) } : { thread: open.key }, name, on, by)
  const who = speaker(person)
  if (inChannel) return on ? wording.toolOnInChannel(name, who) : wording.toolOffInChannel(name, who)
  return on ? wording.toolOnInThread(name, who) : wording.toolOffInThread(name, who)
}

/** Whoever may talk in the thread may say what it shows; without a level it is only told. */
async function setActivity(open: OpenThread, args: string, person: Person, parts: CommandParts): Promise<string> {
  const { key, wording, view } = open
  const level = ACTIVITY_LEVELS.find((one) => one === args.toLowerCase())
  if (!level) return wording.activityIs((await parts.activityLevels.of(key)) ?? parts.activity)
  await parts.activityLevels.set(key, level, { id: person.id, name: person.name })
  view.showActivity(level)
  return wording.activitySet(level, speaker(person))
}

/** What this thread took so far, and what the person and everybody took today. */
async function usageOf({ key, ref, now, wording }: OpenThread, person: Person, usage: UsageLedger): Promise<string> {
  const today = { from: dayOf(now()), to: dayOf(now()) }
  const asking = { platform: ref.platform, account: ref.account, id: person.id }
  const [thread, ofPerson, ofAll] = await Promise.all([
    usage.usageOf({ thread: key }),
    usage.usageOf({ person: asking }, today),
    usage.usageOf('all', today),
  ])
  return usageText({ thread, person: ofPerson, today: ofAll }, person.name, wording)
}

/** The thread as a Markdown file in the thread; secrets that the program knows are masked. */
async function share(open: OpenThread, key: string, parts: CommandParts): Promise<void> {
  const { thread, platform, ref, wording } = open
  if (thread.nextSeq === 0) {
    await open.view.notice(key, wording.nothingToShare)
    return
  }
  const file = `${thread.key}/${key}`
  const entry = await parts.outbox.find(file)
  if (entry && entry.state !== 'intended') return
  const head = thread.head ?? { v: 1, ref, title: '', createdAt: open.now() }
  const pieces = transcriptMarkdown(head, parts.threads.all(thread.key), { wording, redactor: parts.redactor })
  let content = ''
  for await (const piece of pieces) content += piece
  await parts.outbox.intend(file)
  const upload = { name: transcriptFileName(head, open.now()), content, comment: wording.shared }
  const posted = await platform.upload(ref, upload, { key: file, inDoubt: entry !== undefined })
  await parts.outbox.posted(file, posted ?? { channel: ref.channel, id: '' })
}
