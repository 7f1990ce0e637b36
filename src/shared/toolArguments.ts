/** The arguments of a tool call are JSON text that a model wrote: this is where it is read, with care. */

export type ToolArguments =
  | { ok: true; value: Record<string, unknown> }
  /** `problem` is a sentence for the model. */
  | { ok: false; problem: string }

/**
 * Reads the arguments of a call. Blank text means no arguments. Raw line breaks and tabs inside of strings, a common slip
 * of small models with one possible meaning, are taken as they were meant; anything else that is not the JSON of an object
 * is a problem to be told to the model, never guessed at.
 */
export function parseToolArguments(text: string): ToolArguments {
  if (text.trim() === '') return { ok: true, value: {} }
  const strict = parse(text)
  const read = strict.ok ? strict : parse(escapeControls(text))
  if (!read.ok)
    return { ok: false, problem: `The arguments are not valid JSON: ${(strict as { problem: string }).problem}` }
  if (!isObject(read.value)) return { ok: false, problem: 'The arguments must be one JSON object.' }
  return { ok: true, value: read.value }
}

/** True for text that is, to the letter, the JSON of an object. */
export function isJsonObject(text: string): boolean {
  const read = parse(text)
  return read.ok && isObject(read.value)
}

function parse(text: string): { ok: true; value: unknown } | { ok: false; problem: string } {
  try {
    return { ok: true, value: JSON.parse(text) }
  } catch (error) {
    return { ok: false, problem: (error as SyntaxError).message }
  }
}

/** Escapes control characters that stand raw inside of string literals. */
function escapeControls(text: string): string {
  return text.replace(/"[^"\\]*(?:\\[\s\S][^"\\]*)*"/g, (literal) =>
    literal.replace(/[\u0000-\u001f]/g, (character) => JSON.stringify(character).slice(1, -1)),
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
