import { z } from 'zod'
import { messageOf } from '../shared/errors.ts'

/** How much of broken arguments is shown back to the model. */
const ECHO = 300

export type ReadArguments<Args> = { args: Args } | { problem: string }

/**
 * The arguments of a call from their JSON text. Nothing at all means `{}`: servers leave the arguments of tools without
 * parameters out. Anything else that is not JSON is a problem, never `{}`: a tool must not run with nothing because the
 * text was broken.
 */
export async function readArguments<Args>(schema: z.ZodType<Args>, text: string): Promise<ReadArguments<Args>> {
  let value: unknown = {}
  if (text.trim() !== '') {
    try {
      value = JSON.parse(text)
    } catch (error) {
      return { problem: `the arguments are not valid JSON (${messageOf(error)}). Received: ${echo(text)}` }
    }
  }
  return checkArguments(schema, value)
}

/** Validates arguments; a problem names each place and what is wrong there, one a line. */
export async function checkArguments<Args>(schema: z.ZodType<Args>, value: unknown): Promise<ReadArguments<Args>> {
  const result = await schema.safeParseAsync(value)
  if (result.success) return { args: result.data }
  const lines = result.error.issues.map(
    ({ path, message }) => `- ${path.map(String).join('.') || '(root)'}: ${message}`,
  )
  return { problem: `the arguments are not valid:\n${lines.join('\n')}` }
}

function echo(text: string): string {
  const shown = text.toWellFormed()
  return shown.length <= ECHO ? shown : `${shown.slice(0, ECHO).toWellFormed()}… (${shown.length} characters)`
}

/**
 * A zod schema as the JSON Schema that model APIs take: draft 7 without `$schema`, as it looks from the sender's side (a
 * parameter with a default may be left out). No `strict`, which many servers do not know and which forbids optional parameters.
 */
export function toJsonSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
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
