export const ACTIVITY_LEVELS = ['full', 'compact', 'off'] as const

/** How much of a tool call a thread shows. `full`: a reply with its result; `compact`: a line; `off`: nothing. */
export type ActivityLevel = (typeof ACTIVITY_LEVELS)[number]
