import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { messageOf } from '../shared/errors.ts'
import type { SystemMessage, UserMessage } from '../shared/message.ts'

export interface Prompt {
  /** What the role is for; a sub-agent's tool description. */
  description: string
  system: string
  user?: string
}

/** A prompt file, role or variable that is not there, or a file that can't be read as prompts. Names it. */
export class PromptError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PromptError'
  }
}

export type Variables = Readonly<Record<string, string | number>>

const roleShape = z.strictObject({
  description: z.string().optional(),
  system: z.string().optional(),
  user: z.string().optional(),
})
const fileShape = z.record(z.string(), roleShape)
type PromptFile = z.infer<typeof fileShape>

/** `{name}` is a placeholder; `{{` and `}}` stand for single braces; any other brace stands for itself. */
const PLACEHOLDER = /\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}/g

/**
 * The prompts of all roles. `NAME.yml` in `folder` maps a role (key) to `description`, `system` and, where useful, `user`;
 * what a file of the same name in `overrides` gives for a role takes the place of the original, field by field. Files are
 * read once, when they are first asked for.
 */
export class PromptManager {
  readonly #folder: string
  readonly #overrides: string | undefined
  readonly #files = new Map<string, Record<string, Prompt>>()

  constructor(options: { folder: string; overrides?: string }) {
    this.#folder = options.folder
    this.#overrides = options.overrides
  }

  /** All roles of a file. Throws a `PromptError` when it is missing or not as it must be. */
  loadPrompt(name: string): Readonly<Record<string, Prompt>> {
    const known = this.#files.get(name)
    if (known) return known
    const own = this.#overrides === undefined ? undefined : readPromptFile(this.#overrides, name)
    const original = readPromptFile(this.#folder, name)
    if (!own && !original) throw new PromptError(`there is no prompt file ${join(this.#folder, `${name}.yml`)}`)
    const roles: Record<string, Prompt> = {}
    for (const key of new Set([...Object.keys(original ?? {}), ...Object.keys(own ?? {})])) {
      const { description = '', system, user } = { ...original?.[key], ...own?.[key] }
      if (!system?.trim()) throw new PromptError(`the role "${key}" of the prompts "${name}" has no \`system\` text`)
      roles[key] = { description: description.trim(), system, ...(user === undefined ? {} : { user }) }
    }
    this.#files.set(name, roles)
    return roles
  }

  /** One role as it stands in the file, with its placeholders. */
  getPrompt(name: string, key: string): Prompt {
    const roles = this.loadPrompt(name)
    if (!Object.hasOwn(roles, key)) {
      throw new PromptError(`the prompts "${name}" have no role "${key}"; there are ${Object.keys(roles).join(', ')}`)
    }
    return roles[key]!
  }

  /** The system message of a role and, where it has one, its user message, filled in. */
  render(name: string, key: string, variables: Variables = {}): [SystemMessage] | [SystemMessage, UserMessage] {
    const { user } = this.getPrompt(name, key)
    const system: SystemMessage = { role: 'system', content: this.getSystemPrompt(name, key, variables) }
    if (user === undefined) return [system]
    return [system, { role: 'user', content: fillIn(user, variables, `${name}.${key}.user`) }]
  }

  /** The system text of a role, filled in. Throws a `PromptError` that names a placeholder without a variable. */
  getSystemPrompt(name: string, key: string, variables: Variables = {}): string {
    return fillIn(this.getPrompt(name, key).system, variables, `${name}.${key}.system`)
  }
}

/** The text with its placeholders replaced, once: what a variable holds is never read as a placeholder itself. */
function fillIn(text: string, variables: Variables, where: string): string {
  return text.replace(PLACEHOLDER, (found, name?: string) => {
    if (name === undefined) return found.charAt(0)
    if (Object.hasOwn(variables, name)) return String(variables[name])
    const known = Object.keys(variables).join(', ') || 'none'
    throw new PromptError(`the prompt ${where} needs a variable "${name}", which it was not given (given: ${known})`)
  })
}

function readPromptFile(folder: string, name: string): PromptFile | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(name)) throw new PromptError(`"${name}" can't name a prompt file`)
  const path = join(folder, `${name}.yml`)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new PromptError(`the prompt file ${path} can't be read: ${messageOf(error)}`, { cause: error })
  }
  try {
    return fileShape.parse(parse(text) ?? {})
  } catch (error) {
    const problem = error instanceof z.ZodError ? z.prettifyError(error) : messageOf(error)
    throw new PromptError(`the prompt file ${path} is not as it must be: ${problem}`, { cause: error })
  }
}
