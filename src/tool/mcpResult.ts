import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'

/**
 * The result of `tools/call` as loosely as it can be read: the call has taken effect by now, so a result that is not as the
 * protocol says must still reach the model. `toolResult` is what servers of the protocol's first version send.
 */
export const McpResultSchema = z.looseObject({
  content: z.array(z.unknown()).optional().catch(undefined),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional().catch(undefined),
  toolResult: z.unknown().optional(),
})
export type McpResult = z.infer<typeof McpResultSchema>

/** Keeps what a text can't hold. Resolves to where it is, in words that complete "kept as …"; `undefined`: not kept. */
export type KeepBytes = (bytes: Buffer, mimeType: string) => Promise<string | undefined>

type Item = Record<string, unknown>

/**
 * A result as text for the model (cases MC-05 and MC-07): texts and text resources as they are, everything else by what it is.
 * Empty for a result that holds nothing. Throws an error with the same text if the server marked the result as one.
 */
export async function resultText(result: McpResult, keep: KeepBytes): Promise<string> {
  const items = (result.content ?? []).map(asItem)
  const parts = await Promise.all(items.map((item) => itemText(item, keep)))
  const texts = items.flatMap((item) => (item.type === 'text' ? (string(item.text) ?? []) : []))
  for (const data of [result.structuredContent, result.toolResult]) {
    if (data !== undefined && data !== null && !say(texts, data)) parts.push(JSON.stringify(data))
  }
  const text = parts.filter((part) => part !== '').join('\n')
  if (result.isError) throw new Error(text || 'the tool failed without a word about why')
  return text
}

function asItem(value: unknown): Item {
  return typeof value === 'object' && value !== null ? (value as Item) : { type: 'text', text: String(value) }
}

async function itemText(item: Item, keep: KeepBytes): Promise<string> {
  switch (item.type) {
    case 'text':
      return string(item.text) ?? ''
    case 'image':
    case 'audio':
      return bytesText(`1 ${string(item.mimeType) ?? item.type}`, string(item.data) ?? '', item, keep)
    case 'resource':
      return resourceText(asItem(item.resource), keep)
    case 'resource_link': {
      const about = [string(item.mimeType), typeof item.size === 'number' ? size(item.size) : undefined]
      const details = [string(item.uri), ...about].filter((one) => one !== undefined).join(', ')
      const description = string(item.description)
      const name = string(item.title) ?? string(item.name) ?? 'without a name'
      return `[link to a resource: ${name} (${details})${description ? `: ${description}` : ''}]`
    }
    default:
      return `[something of the kind ${JSON.stringify(item.type ?? null)}, which can't be shown as text]`
  }
}

async function resourceText(resource: Item, keep: KeepBytes): Promise<string> {
  const uri = string(resource.uri) ?? 'without an address'
  const text = string(resource.text)
  if (text !== undefined) return `[resource ${uri}]\n${text}`
  const blob = string(resource.blob) ?? ''
  const mimeType = string(resource.mimeType) ?? ''
  // Some servers send every file as a blob.
  if (/^text\/|[/+](json|xml|yaml)\b/.test(mimeType)) {
    return `[resource ${uri}]\n${Buffer.from(blob, 'base64').toString('utf8')}`
  }
  return bytesText(`resource ${uri}${mimeType && `, ${mimeType}`}`, blob, resource, keep)
}

async function bytesText(what: string, base64: string, { mimeType }: Item, keep: KeepBytes): Promise<string> {
  const bytes = Buffer.from(base64, 'base64')
  const where = await keep(bytes, string(mimeType) ?? 'application/octet-stream').catch(() => undefined)
  return `[${what}, ${size(bytes.length)}, ${where ? `kept as ${where}` : 'not kept'}; you can't see it]`
}

/**
 * True when the texts say the data already: the protocol asks servers to send structured content as JSON text too, and many
 * wrap a plain text or a list of them into an object with one field.
 */
function say(texts: readonly string[], data: unknown): boolean {
  if (texts.some((text) => text === data || isJsonOf(text, data))) return true
  if (typeof data !== 'object' || data === null) return false
  if (Array.isArray(data))
    return data.length > 0 && data.length === texts.length && data.every((one, at) => say([texts[at]!], one))
  const fields = Object.values(data)
  return fields.length === 1 && say(texts, fields[0])
}

function isJsonOf(text: string, data: unknown): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(text), data)
  } catch {
    return false
  }
}

function string(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function size(bytes: number): string {
  return bytes < 1_000 ? `${bytes} bytes` : `${Math.round(bytes / 1_000).toLocaleString('en')} kB`
}
