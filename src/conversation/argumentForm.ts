import type { DialogField } from '../platform/platform.ts'

/**
 * The arguments of a call as a form for people, and what they sent off as arguments again. A text stands in its field as it
 * is; anything else as JSON. What comes back is exactly what was typed.
 */

type Schema = { properties?: Record<string, { type?: string | string[] }>; required?: string[] }
type Arguments = Record<string, unknown>

/** The longest label that both Slack and Discord take, in characters. */
const LABEL_CHARACTERS = 45

/**
 * A field for each argument that the tool knows or the call has; `null` where a dialog of this platform can't hold them all,
 * or can't carry a text as it is (dialogs make one kind of line break of all).
 */
export function formOf(
  schema: Schema,
  args: Arguments,
  limits: { fields: number; characters: number },
): DialogField[] | null {
  const names = namesOf(schema, args)
  if (names.length === 0 || names.length > limits.fields) return null
  const fields: DialogField[] = []
  for (const name of names) {
    const value = shown(args[name])
    if (value.length > limits.characters || name.length > LABEL_CHARACTERS || !isCarried(value)) return null
    const isText = isTextField(schema, args, name)
    fields.push({
      name,
      label: name,
      value,
      multiline: isText || value.includes('\n'),
      // An empty text is a value; what is no text has to be something where the tool needs it.
      required: !isText && (schema.required ?? []).includes(name),
    })
  }
  return fields
}

/** What was sent off, as arguments; names of fields that are no JSON where they should be. */
export function argumentsOf(
  schema: Schema,
  original: Arguments,
  sent: Readonly<Record<string, string>>,
): { args: Arguments } | { notJson: string[] } {
  const args: Arguments = {}
  const notJson: string[] = []
  for (const name of namesOf(schema, original)) {
    const text = sent[name] ?? ''
    const before = original[name]
    if (text === shown(before)) {
      // Untouched: the value itself stays, and what was absent stays absent.
      if (before !== undefined) args[name] = before
      continue
    }
    if (isTextField(schema, original, name)) {
      args[name] = text
    } else if (text.trim() !== '') {
      try {
        args[name] = JSON.parse(text)
      } catch {
        notJson.push(name)
      }
    }
  }
  return notJson.length > 0 ? { notJson } : { args }
}

function namesOf(schema: Schema, args: Arguments): string[] {
  return [...new Set([...Object.keys(schema.properties ?? {}), ...Object.keys(args)])]
}

function shown(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}

function isTextField(schema: Schema, args: Arguments, name: string): boolean {
  const type = schema.properties?.[name]?.type
  return type === 'string' || (type === undefined && typeof args[name] === 'string')
}

/** Dialogs turn every line break into `\n` and drop what can't be typed; such a text would not come back as it went. */
function isCarried(text: string): boolean {
  return text.isWellFormed() && !/[\r\0\u2028\u2029]/.test(text)
}
