/**
 * Masks secrets in text on its way to the model, a thread, a log, the store or a transcript: the exact values that the
 * configuration knows, in the forms in which they travel, and shapes of tokens that are unmistakable (`tokenShapes.ts`).
 * What stands instead, such as `[redacted:github-token]`, is safe inside of JSON, URLs and Markdown.
 */
import { OPEN_KEY, TOKEN_SHAPES } from './tokenShapes.ts'

export interface Redactor {
  /** The same text with every secret masked. Applying it again changes nothing. */
  text(text: string): string
  /** A copy with every text in it masked; keys, ids and the structure stay. */
  value<T>(value: T): T
  /** True when `text` would change something: such a call must not be approved unseen. */
  finds(text: string): boolean
  /** True when the text holds a known secret in any of its forms: such a call is refused. */
  findsKnown(text: string): boolean
  /** Masks a text that comes in pieces, also where a secret is cut by a border between two. */
  stream(): RedactedStream
}

/** `push` gives back what is safe to show by now, `end` the rest. Together they are what `text` makes of the whole. */
export interface RedactedStream {
  push(piece: string): string
  end(): string
}

/** Known secrets shorter than this are left alone: masking them would tear holes into ordinary words. */
export const LEAST_SECRET_LENGTH = 8

/** A single word such as `postgres` or `Password`: as a password it is no secret, and masking it would spoil ordinary text. */
const PLAIN_WORD = /^(?:[A-Z]?[a-z]{1,14}|[A-Z]{1,15})$/

/**
 * Characters that are kept before the pending text (more up to a border), so that a shape which begins with
 * `Authorization: ` is still seen.
 */
const CONTEXT = 128
/** The longest run without a space that a stream holds back, in case it becomes a token. */
const LONGEST_RUN = 2_048
/** The longest private key that a stream waits for; RSA with 8,192 bits has 6,400 characters. */
const LONGEST_KEY = 16_384
/** Fields that are handed back to platforms and model servers as they are. */
const ID_FIELDS = new Set(['id', 'tool_call_id', 'eventId', 'callKey', 'threadKey'])

interface Range {
  /** Where the surroundings begin by which it was known. */
  from: number
  start: number
  end: number
  label: string
}

/**
 * @param knownSecrets exact values (see `knownSecrets` of the configuration). Those that could as well be an ordinary word
 *   are left alone: shorter than 8 characters, or one word of up to 15 letters.
 */
export function createRedactor(knownSecrets: Iterable<string> = []): Redactor {
  const secrets = [...new Set(knownSecrets)].filter(isWorthHiding)
  const forms = [...new Set(secrets.flatMap(formsOf))]
  // A stream may let go of text at a space or a letter that no token has, unless a known secret has such signs itself.
  const longestSpaced = Math.max(0, ...forms.filter((form) => /[^!-~]/.test(form)).map((form) => form.length))
  const longestForm = Math.max(0, ...forms.map((form) => form.length))

  // One token may hide the beginning of the next one that it is glued to, so what is left is searched again.
  const findAll = (text: string): Range[] => {
    const ranges = merged([...findKnown(text, forms), ...findShapes(text)])
    return ranges.length === 0 ? ranges : merged([...ranges, ...findAll(filled(text, ranges))])
  }

  const redactor: Redactor = {
    text: (text) => masked(text, findAll(text)),
    value: <T>(value: T) => maskedValue(value, redactor.text) as T,
    finds: (text) => findAll(text).length > 0,
    findsKnown: (text) => forms.some((form) => text.includes(form)),
    stream: () => createStream(findAll, longestSpaced, Math.max(LONGEST_RUN, longestForm)),
  }
  return redactor
}

const isWorthHiding = (secret: string) => secret.length >= LEAST_SECRET_LENGTH && !PLAIN_WORD.test(secret)

/** A secret as it is, and as it looks in JSON, in URLs and in base64. */
function formsOf(secret: string): string[] {
  const encoded = percentEncoded(secret)
  const lowerHex = encoded.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())
  const base64 = [0, 1, 2].map((offset) => base64Core(secret, offset))
  const base64url = base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'))
  const inJson = JSON.stringify(secret).slice(1, -1)
  return [secret, inJson, encoded, lowerHex, encoded.replaceAll('%20', '+'), ...base64, ...base64url]
}

function percentEncoded(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

/** The characters of base64 that depend on the secret alone when it stands `offset` bytes (modulo 3) into what is encoded. */
function base64Core(secret: string, offset: number): string {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)])
  return bytes.toString('base64').slice(Math.ceil((offset * 8) / 6), Math.floor((bytes.length * 8) / 6))
}

function findKnown(text: string, forms: readonly string[]): Range[] {
  const ranges: Range[] = []
  for (const form of forms) {
    for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + form.length)) {
      ranges.push({ from: at, start: at, end: at + form.length, label: 'secret' })
    }
  }
  return ranges
}

/** Where a shape has a group, the group alone is the secret. */
function findShapes(text: string): Range[] {
  return TOKEN_SHAPES.flatMap(({ label, hint, pattern }) => {
    if (!hint.some((word) => text.includes(word))) return []
    return [...text.matchAll(pattern)].map((match) => {
      const [start, end] = match.indices![1] ?? match.indices![0]!
      return { from: match.index, start, end, label }
    })
  })
}

/** In order, with those that overlap made one, named after the one that begins first (the longer of two). */
function merged(ranges: Range[]): Range[] {
  ranges.sort((a, b) => a.start - b.start || b.end - a.end)
  const result: Range[] = []
  for (const range of ranges) {
    const last = result.at(-1)
    if (last !== undefined && range.start < last.end) last.end = Math.max(last.end, range.end)
    else result.push({ ...range })
  }
  return result
}

function masked(text: string, ranges: readonly Range[], from = 0): string {
  let result = ''
  let at = from
  for (const { start, end, label } of ranges) {
    result += `${text.slice(at, start)}[redacted:${label}]`
    at = end
  }
  return result + text.slice(at)
}

/** The text with its secrets made void, each at its old length. */
function filled(text: string, ranges: readonly Range[]): string {
  let result = ''
  let at = 0
  for (const { start, end } of ranges) {
    result += text.slice(at, start) + '['.padEnd(end - start, ']')
    at = end
  }
  return result + text.slice(at)
}

function maskedValue(value: unknown, mask: (text: string) => string): unknown {
  if (typeof value === 'string') return mask(value)
  if (Array.isArray(value)) return value.map((item) => maskedValue(item, mask))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [key, ID_FIELDS.has(key) ? field : maskedValue(field, mask)]),
  )
}

// Streams ---------------------------------------------------------------------------------------------------------------

function createStream(findAll: (text: string) => Range[], longestSpaced: number, longestRun: number): RedactedStream {
  /** Text that was handed out already (some `CONTEXT` characters), then text that is held back. */
  let raw = ''
  let given = 0

  const release = (upTo: number, ranges: readonly Range[]): string => {
    const due = ranges.filter(({ end }) => end > given && end <= upTo)
    const unseen = due.map((range) => ({ ...range, start: Math.max(range.start, given) }))
    const text = masked(raw.slice(0, upTo), unseen, given)
    const keepFrom = contextStart(borderBefore(raw.slice(0, Math.max(0, upTo - CONTEXT)), longestRun), ranges)
    raw = raw.slice(keepFrom)
    given = upTo - keepFrom
    return text
  }

  return {
    push(piece) {
      raw += piece
      const ranges = findAll(raw)
      const sure = Math.min(Math.max(0, raw.length - longestSpaced), openKey(raw))
      let cut = borderBefore(raw.slice(0, sure), longestRun)
      // A range that reaches the end may still grow; one across the cut stays whole.
      for (const { start, end } of ranges.toReversed())
        if ((end === raw.length && end > given) || (start < cut && cut < end)) cut = Math.min(cut, start)
      return cut > given ? release(cut, ranges) : ''
    },
    end: () =>
      release(
        raw.length,
        findAll(raw).filter(({ end }) => end > given),
      ),
  }
}

/** Secrets that the context would cut stay whole in it, with those that touch them: what follows is read in their light. */
function contextStart(wanted: number, ranges: readonly Range[]): number {
  let start = wanted
  for (const { from, end } of ranges.toReversed()) if (from < start && end >= start) start = from
  return start
}

/** The end of the text up to which no token can be under way: behind the last sign that tokens do not have. */
function borderBefore(text: string, longestRun: number): number {
  const least = Math.max(0, text.length - longestRun)
  let at = text.length
  while (at > least && /[!-~]/.test(text[at - 1]!)) at--
  // Half of a surrogate pair waits for the other half.
  return at === text.length && /[\uD800-\uDBFF]$/.test(text) ? at - 1 : at
}

/** Where a private key begins whose end has not come yet. */
function openKey(text: string): number {
  const at = text.lastIndexOf('-----BEGIN ')
  if (at < 0 || text.length - at > LONGEST_KEY) return Number.POSITIVE_INFINITY
  const rest = text.slice(at)
  const open = /^-----BEGIN [A-Z0-9 ]{0,40}-{0,5}$/.test(rest) || OPEN_KEY.test(rest)
  return open ? at : Number.POSITIVE_INFINITY
}
