import { inspect } from 'node:util'
import { messageOf } from '../shared/errors.ts'

/** Every observation that tells of something gone wrong starts with this, once. */
export const ERROR_MARK = 'Error: '

/** What the model reads where a tool had nothing to say: an empty tool message is refused by some providers. */
export const NO_OUTPUT = '(no output)'

/** Largest observation the model is shown; the numbers are those of pi and opencode (facts/llm.md, section d). */
export const RESULT_LIMITS = { lines: 2_000, bytes: 50 * 1024 } as const

/** The text of an error observation, with exactly one mark in front. */
export function errorText(problem: string): string {
  const text = problem.trim()
  return text.startsWith(ERROR_MARK) ? text : `${ERROR_MARK}${text || 'no reason was given'}`
}

/**
 * The value a tool returned as text for the model: a string as it is, anything else as JSON (Unicode kept as it is), what
 * JSON can't hold in its string form. Lone surrogates are replaced, because they break JSON parsers of model servers.
 */
export function observationOf(value: unknown): string {
  const text = typeof value === 'string' ? value : value === undefined ? '' : asJson(value)
  return text.trim() === '' ? NO_OUTPUT : text.toWellFormed()
}

function asJson(value: unknown): string {
  if (typeof value === 'number') return String(value)
  try {
    return JSON.stringify(value, stringForm) ?? String(value)
  } catch {
    return inspect(value, { depth: 6, breakLength: Number.POSITIVE_INFINITY })
  }
}

function stringForm(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint' || typeof value === 'symbol' || typeof value === 'function') return String(value)
  if (value instanceof Error) return messageOf(value)
  if (value instanceof Map || value instanceof Set) return [...value]
  return value
}
