import { z } from 'zod'
import { messageOf } from '../shared/errors.ts'

/** How much of broken arguments is shown back to the model. */
const ECHO = 300

/**
 * What a tool takes, mostly as a zod schema. Tools from elsewhere (MCP) bring JSON Schema, which no zod schema says exactly:
 * it is offered to the model as it is and checked by what it brings along.
 */
export type ToolParameters<Args = unknown> = z.ZodType<Args> | JsonSchemaParameters

export interface JsonSchemaParameters {
  /** Of type `object`, in a form that model APIs take. */
  jsonSchema: Record<string, unknown>
  /** What is wrong with a value, one line each; empty when it fits. */
  problemsOf(value: unknown): string[]
}

export type ReadArguments<Args> = { args: Args } | { problem: string }

/**
 * The arguments of a call from their JSON text. Nothing at all means `{}`: servers leave the arguments of tools without
 * parameters out. Anything else that is not JSON is a problem, never `{}`: a tool must not run with nothing because the
 * text was broken.
 */
export async function readArguments<Args>(
  parameters: ToolParameters<Args>,
  text: string,
): Promise<ReadArguments<Args>> {
  let value: unknown = {}
  if (text.trim() !== '') {
    try {
      value = JSON.parse(text)
    } catch (error) {
      return { problem: `the arguments are not valid JSON (${messageOf(error)}). Received: ${echo(text)}` }
    }
  }
  return checkArguments(parameters, value)
}

/** Validates arguments; a problem names each place and what is wrong there, one a line. */
export async function checkArguments<Args>(
  parameters: ToolParameters<Args>,
  value: unknown,
): Promise<ReadArguments<Args>> {
  if ('jsonSchema' in parameters) {
    const problems = parameters.problemsOf(value)
    return problems.length > 0 ? { problem: problemText(problems) } : { args: value as Args }
  }
  const result = await parameters.safeParseAsync(value)
  if (result.success) return { args: result.data }
  return {
    problem: problemText(
      result.error.issues.map(({ path, message }) => `${path.map(String).join('.') || '(root)'}: ${message}`),
    ),
  }
}

function problemText(problems: readonly string[]): string {
  return `the arguments are not valid:\n${problems.map((problem) => `- ${problem}`).join('\n')}`
}

function echo(text: string): string {
  const shown = text.toWellFormed()
  return shown.length <= ECHO ? shown : `${shown.slice(0, ECHO).toWellFormed()}… (${shown.length} characters)`
}

/**
 * Parameters as the JSON Schema that model APIs take. A zod schema becomes draft 7 without `$schema`, as it looks from the sender's side (a
 * parameter with a default may be left out). No `strict`, which many servers do not know and which forbids optional parameters.
 */
export function toJsonSchema(parameters: ToolParameters<never>): Record<string, unknown> {
  if ('jsonSchema' in parameters) return parameters.jsonSchema
  const { $schema: _, ...json } = z.toJSONSchema(parameters, {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => dropSafeBounds(jsonSchema),
  })
  return json as Record<string, unknown>
}

/** The limits of safe integers, which zod adds to every integer: noise for a model, and too large for some servers. */
function dropSafeBounds(schema: { minimum?: number | undefined; maximum?: number | undefined }): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
}
