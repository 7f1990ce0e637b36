import type { AssistantMessage } from '../shared/message.ts'

type Json = Record<string, unknown>
type Reasoning = NonNullable<AssistantMessage['reasoning']>

/** Gathers the reasoning of one answer: people never see it, but some providers want it back with the history. */
export interface ReasoningAssembly {
  /** Takes what a delta holds of it, beside the text. */
  push(delta: Json): void
  /** Takes reasoning that was found in the text itself; `field` says where. */
  note(text: string, field: string): void
  /** What came so far, if anything. */
  soFar(): Pick<Reasoning, 'field' | 'text' | 'details'> | undefined
}

/** Fields under which it comes; the first that is not empty is taken, because some servers fill two with the same. */
const FIELDS = ['reasoning_content', 'reasoning', 'reasoning_text']
/** OpenRouter's list of parts, which holds the signatures and encrypted parts that models behind it insist on. */
const DETAILS = 'reasoning_details'

export function createReasoningAssembly(): ReasoningAssembly {
  const details: Json[] = []
  let text = ''
  let field = ''

  function note(piece: string, from: string): void {
    if (piece === '') return
    text += piece
    field ||= from
  }

  /** Text comes in many entries of one part; everything else is a part of its own. */
  function noteDetail(entry: Json): void {
    const last = details.at(-1)
    const key = ['text', 'summary'].find((name) => typeof entry[name] === 'string')
    const continues = key && last && typeof last[key] === 'string'
    if (!continues || last.type !== entry.type || last.index !== entry.index) details.push({ ...entry })
    else Object.assign(last, withoutNulls(entry), { [key]: `${last[key]}${entry[key]}` })
  }

  return {
    push(delta) {
      const from = FIELDS.find((name) => typeof delta[name] === 'string' && delta[name] !== '')
      if (from) note(delta[from] as string, from)
      const entries = delta[DETAILS]
      for (const entry of Array.isArray(entries) ? entries : []) if (isObject(entry)) noteDetail(entry)
    },
    note,
    soFar() {
      if (text === '' && details.length === 0) return undefined
      return { field: field || DETAILS, text, ...(details.length > 0 ? { details } : {}) }
    },
  }
}

function withoutNulls(entry: Json): Json {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null))
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
