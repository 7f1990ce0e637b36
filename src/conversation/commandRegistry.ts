import { ACTIVITY_LEVELS } from '../shared/activityLevel.ts'
import type { Wording } from '../shared/wording/wording.ts'

/**
 * The commands that people type, in one place: the help, Discord's registered commands and Slack's manifest come from here.
 */
export interface Command {
  name: string
  /** What it takes, as help shows it: `TASK`; empty for commands that stand alone. */
  usage: string
  /** One line for help and for the platforms' command lists. */
  help(wording: Wording): string
  aliases: readonly string[]
  /** What follows its name, where only that makes it a command: anything else is a task for the agent. */
  takes?: RegExp
  /** Not shown in help. */
  hidden: boolean
  /** Also a slash command of its own (`/plan`), not only `/toycoder NAME`. */
  slash: boolean
}

export interface ParsedCommand {
  command: Command
  args: string
}

/** Builds a registry; two commands of one name or alias are a mistake of the programmer and throw. */
export function createCommandRegistry(commands: readonly Command[]) {
  const byName = new Map<string, Command>()
  for (const command of commands) {
    for (const name of [command.name, ...command.aliases]) {
      if (byName.has(name)) throw new Error(`two commands are called ${name}`)
      byName.set(name, command)
    }
  }

  return {
    commands: () => [...commands],
    find: (name: string) => byName.get(name.toLowerCase()),

    /**
     * Reads a command from a message. A command that takes nothing counts only when it stands alone ("stop" is one, "stop
     * the server from crashing" is a task), one that takes something counts when its name comes first. A leading slash or
     * exclamation mark is tolerated and makes it a command also where the bot was not mentioned.
     */
    parse(text: string, addressed: 'mention' | 'direct' | 'thread'): ParsedCommand | null {
      const found = /^([/!]?)([\p{L}\d_-]+|\?)[.!。！]?(?:\s+([\s\S]*))?$/u.exec(text.trim())
      if (!found) return null
      const [, marker, name, rest] = found
      const command = byName.get(name!.toLowerCase())
      if (!command) return null
      const args = rest?.trim() ?? ''
      if (!command.usage && args) return null
      if (command.takes && !command.takes.test(args)) return null
      const bare = command.name === 'stop'
      if (!marker && addressed === 'thread' && !bare) return null
      return { command, args }
    },

    helpText(wording: Wording): string {
      const rows = commands
        .filter(({ hidden }) => !hidden)
        .map((command) => {
          const form = command.usage ? `${command.name} ${command.usage}` : command.name
          return `- \`${form}\`: ${command.help(wording)}`
        })
      return [wording.helpIntro, '', ...rows].join('\n')
    },
  }
}

export type CommandRegistry = ReturnType<typeof createCommandRegistry>

/** The commands of this version. */
export const COMMANDS: readonly Command[] = [
  { name: 'help', usage: '', help: (w) => w.helpHelp, aliases: ['?'], hidden: false, slash: false },
  { name: 'plan', usage: 'TASK', help: (w) => w.helpPlan, aliases: [], hidden: false, slash: true },
  { name: 'review', usage: 'WHAT', help: (w) => w.helpReview, aliases: [], hidden: false, slash: false },
  { name: 'stop', usage: '', help: (w) => w.helpStop, aliases: ['cancel'], hidden: false, slash: false },
  { name: 'new', usage: '', help: (w) => w.helpNew, aliases: [], hidden: false, slash: false },
  { name: 'share', usage: '', help: (w) => w.helpShare, aliases: [], hidden: false, slash: false },
  { name: 'tools', usage: '', help: (w) => w.helpTools, aliases: [], hidden: false, slash: false },
  { name: 'tool', usage: 'enable|disable NAME', help: (w) => w.helpTool, aliases: [], hidden: false, slash: false },
  {
    ...{ name: 'activity', usage: ACTIVITY_LEVELS.join('|'), help: (w) => w.helpActivity, aliases: [] },
    ...{ takes: new RegExp(`^(${ACTIVITY_LEVELS.join('|')})?$`, 'i'), hidden: false, slash: false },
  },
  { name: 'audit', usage: '', help: (w) => w.helpAudit, aliases: [], hidden: false, slash: false },
  { name: 'usage', usage: '', help: (w) => w.helpUsage, aliases: [], hidden: false, slash: false },
  { name: 'model', usage: '', help: (w) => w.helpModel, aliases: [], hidden: false, slash: false },
]
