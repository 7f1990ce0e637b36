import { randomUUID } from 'node:crypto'
import { isJsonObject } from '../shared/toolArguments.ts'
import type { ToolCallInfo } from './baseClient.ts'

/**
 * Puts streamed tool calls together. Servers disagree about `index` and `id`: no index, always 0, first index 1, one id at
 * two indexes, a new id in every piece, ids that come late or empty. So a piece is routed by everything it carries, and by
 * whether the call it would continue is already complete.
 */
export interface CallAssembly {
  /** One entry of `delta.tool_calls`. `choice` is the index of its choice. */
  push(entry: unknown, choice: number): void
  /** The calls in order of first appearance, each with a unique id; blank arguments are `{}`. */
  calls(): ToolCallInfo[]
}

interface Draft {
  id: string
  ids: Set<string>
  name: string
  args: string
  /** Whether `args` ends as an object does: most pieces don't, and parsing all of it for each would take for ever. */
  closes: boolean
  extraContent: unknown
}

interface Piece {
  id: string
  name: string
  args: string
  extraContent: unknown
}

export function createCallAssembly(toolNames: ReadonlySet<string>): CallAssembly {
  const drafts: Draft[] = []
  const bySlot = new Map<string, Draft>()
  let current: Draft | undefined

  function push(entry: unknown, choice: number): void {
    if (!isObject(entry)) return
    const piece = readPiece(entry)
    const slot = typeof entry.index === 'number' ? `${choice}:${entry.index}` : null
    const draft = route(piece, slot)
    if (slot !== null) bySlot.set(slot, draft)
    current = draft
    extend(draft, piece)
  }

  /** The call that a piece belongs to; a new one when it opens one. */
  function route(piece: Piece, slot: string | null): Draft {
    const atSlot = slot === null ? undefined : bySlot.get(slot)
    const withId = piece.id ? drafts.findLast((draft) => draft.ids.has(piece.id)) : undefined
    const candidate = withId ?? atSlot ?? (slot === null || (!piece.id && !piece.name) ? current : undefined)
    if (!candidate) return open(piece)
    return opensAnother(candidate, piece, withId !== undefined) ? open(piece) : candidate
  }

  function opensAnother(draft: Draft, piece: Piece, sameId: boolean): boolean {
    const otherId = piece.id !== '' && !sameId && draft.id !== ''
    if (!piece.name) {
      // Without a name it continues, unless a new id shows up once the call before it is whole.
      return otherId && isWhole(draft)
    }
    if (!draft.name) return otherId && draft.args !== ''
    if (isWhole(draft)) {
      if (otherId || piece.name !== draft.name) return true
      return isJsonObject(piece.args) && piece.args !== draft.args
    }
    return piece.name !== draft.name && !continuesName(draft, piece.name) && (otherId || draft.args === '')
  }

  /** Some gateways stream a name in fragments: then it is no tool yet, and can still become one. */
  function continuesName(draft: Draft, fragment: string): boolean {
    if (draft.args !== '' || toolNames.has(draft.name)) return false
    const joined = draft.name + fragment
    for (const name of toolNames) if (name.startsWith(joined)) return true
    return false
  }

  function open(piece: Piece): Draft {
    const taken = piece.id === '' || drafts.some((draft) => draft.ids.has(piece.id))
    const draft: Draft = {
      id: taken ? '' : piece.id,
      ids: new Set(),
      name: '',
      args: '',
      closes: false,
      extraContent: undefined,
    }
    drafts.push(draft)
    return draft
  }

  function extend(draft: Draft, piece: Piece): void {
    if (piece.id) {
      if (!draft.id && !drafts.some(({ id }) => id === piece.id)) draft.id = piece.id
      draft.ids.add(piece.id)
    }
    if (piece.name) {
      if (!draft.name) draft.name = piece.name
      else if (piece.name !== draft.name && continuesName(draft, piece.name)) draft.name += piece.name
    }
    // The same whole call sent twice is one call.
    if (piece.args !== draft.args || !isWhole(draft)) draft.args += piece.args
    if (piece.args.trim() !== '') draft.closes = piece.args.trimEnd().endsWith('}')
    if (piece.extraContent !== undefined) draft.extraContent = merged(draft.extraContent, piece.extraContent)
  }

  function calls(): ToolCallInfo[] {
    return drafts
      .filter((draft) => draft.name !== '')
      .flatMap((draft) =>
        splitObjects(draft.args).map((args, part) => ({
          id: part === 0 && draft.id ? draft.id : `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`,
          name: draft.name,
          arguments: args.trim() === '' ? '{}' : args,
          ...(draft.extraContent === undefined ? {} : { extraContent: draft.extraContent }),
        })),
      )
  }

  return { push, calls }
}

function isWhole(draft: Draft): boolean {
  return draft.closes && isJsonObject(draft.args)
}

function readPiece(entry: Record<string, unknown>): Piece {
  const called = isObject(entry.function) ? entry.function : {}
  const args = called.arguments
  return {
    // Empty is absent: several servers send "" on continuations.
    id: entry.id === null || entry.id === undefined ? '' : String(entry.id),
    name: typeof called.name === 'string' ? called.name : '',
    args: typeof args === 'string' ? args : args === null || args === undefined ? '' : JSON.stringify(args),
    extraContent: entry.extra_content ?? undefined,
  }
}

/**
 * Two objects in the arguments of one call are two calls (seen with GPT-5.x); the same object twice is one. Text that does
 * not come apart into whole objects stays as it is.
 */
function splitObjects(args: string): string[] {
  if (args.trim() === '' || isJsonObject(args)) return [args]
  const parts: string[] = []
  let depth = 0
  let start = 0
  let inString = false
  for (let at = 0; at < args.length; at++) {
    const character = args[at]
    if (inString) {
      if (character === '\\') at++
      else if (character === '"') inString = false
    } else if (character === '"') inString = true
    else if (character === '{' || character === '[') depth++
    else if ((character === '}' || character === ']') && --depth === 0) {
      parts.push(args.slice(start, at + 1).trim())
      start = at + 1
    }
  }
  const whole = parts.length > 1 && args.slice(start).trim() === '' && parts.every(isJsonObject)
  return whole ? [...new Set(parts)] : [args]
}

function merged(before: unknown, after: unknown): unknown {
  return isObject(before) && isObject(after) ? { ...before, ...after } : after
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
