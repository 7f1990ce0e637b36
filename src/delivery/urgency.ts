import type { MessageBody } from '../platform/platform.ts'

/**
 * What comes first when the budget is short, the most urgent first: people wait for a `card` to decide on it; a `final` text
 * is what they asked for; `activity` is what was done meanwhile; `live` text is a preview; `later` is tidying up.
 */
export type Urgency = 'card' | 'final' | 'activity' | 'live' | 'later'

const RANKS: Record<Urgency, number> = { card: 0, final: 1, activity: 2, live: 3, later: 3 }
/** Tidying up lets frames pass that came up until so long after it, in milliseconds: it is never put off for good. */
const LATER_MS = 20_000

interface Waiting {
  urgency: Urgency
  since: number
}

export function rank({ urgency }: { urgency: Urgency }): number {
  return RANKS[urgency]
}

export function before(a: Waiting, b: Waiting): boolean {
  return rank(a) - rank(b) < 0 || (rank(a) === rank(b) && dueSince(a) < dueSince(b))
}

/** Frames and tidying up leave the reserve to all others. */
export function isUrgent(urgency: Urgency): boolean {
  return RANKS[urgency] < RANKS.live
}

export function urgencyOf({ kind, live }: MessageBody): Urgency {
  if (live) return 'live'
  return kind === 'card' || kind === 'activity' ? kind : 'final'
}

function dueSince({ urgency, since }: Waiting): number {
  return urgency === 'later' ? since + LATER_MS : since
}
