import { createHash, randomBytes } from 'node:crypto'

/**
 * Makes ids whose ascending order is newest first, so that a store that lists upwards finds the latest without reading the
 * rest. Strictly descending within a process, also within one millisecond and when the clock steps back.
 */
export function createIdSource(now: () => number): () => string {
  let last = 0
  return () => {
    // 1,024 ids a millisecond before ids run ahead of the clock; exact in a double until the year 2248.
    last = Math.max(last + 1, now() * 1024)
    const sortable = (Number.MAX_SAFE_INTEGER - last).toString(36).padStart(11, '0')
    return `${sortable}-${randomBytes(6).toString('hex')}`
  }
}

/** Shortens an idempotency key of any length and alphabet to something that can be part of a store key. */
export function keyHash(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 40)
}
