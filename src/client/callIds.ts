import { createHash } from 'node:crypto'
import type { ToolCallIdPolicy } from './compat.ts'

const ALPHANUMERIC = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const MISTRAL_LENGTH = 9
const OPENAI_LENGTH = 40

/**
 * Mints the ids of one request: each fits the provider and is unique. The same history always gets the same ids, and what
 * stands later never changes an earlier one, so prompt caches keep working while a thread grows.
 */
export function createCallIds(policy: ToolCallIdPolicy): (id: string, name: string) => string {
  const used = new Set<string>()
  let calls = 0
  return (id, name) => {
    const position = calls++
    for (let attempt = 0; ; attempt++) {
      const candidate = shaped(policy, id, name, position, attempt)
      if (used.has(candidate)) continue
      used.add(candidate)
      return candidate
    }
  }
}

/** `attempt` 0 is the id as the provider knows it; further ones are the way out of duplicates. */
function shaped(policy: ToolCallIdPolicy, id: string, name: string, position: number, attempt: number): string {
  switch (policy) {
    case 'mistral9':
      if (attempt === 0 && /^[A-Za-z0-9]{9}$/.test(id)) return id
      return digest(`${id}#${attempt}`, MISTRAL_LENGTH)
    case 'kimi':
      // A rewritten id makes Kimi answer nothing, so a replacement follows its own pattern.
      if (attempt === 0 && /^functions\..+:\d+$/.test(id)) return id
      return `functions.${name}:${position + Math.max(0, attempt - 1)}`
    case 'openai40': {
      const clean = id.replace(/[^a-zA-Z0-9_-]/g, '_') || 'call'
      const base = clean.length <= OPENAI_LENGTH ? clean : `${clean.slice(0, OPENAI_LENGTH - 13)}_${digest(id, 12)}`
      return attempt === 0 ? base : suffixed(base, attempt, OPENAI_LENGTH)
    }
    case 'native':
      return attempt === 0 ? id || 'call' : suffixed(id || 'call', attempt, Math.max(OPENAI_LENGTH, id.length))
  }
}

function suffixed(base: string, attempt: number, longest: number): string {
  const suffix = `_${attempt + 1}`
  return base.slice(0, longest - suffix.length) + suffix
}

function digest(text: string, length: number): string {
  const bytes = createHash('sha256').update(text).digest()
  return Array.from(bytes.subarray(0, length), (byte) => ALPHANUMERIC[byte % ALPHANUMERIC.length]).join('')
}
