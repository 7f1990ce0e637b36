/** How a route misbehaves next. */
export interface Fault {
  /** `METHOD /path` with ids as `:id`, for example `POST /channels/:id/messages`. */
  route: string
  /** How many requests of the route it hits; 1 unless given. */
  times?: number
  /** Lets this many requests of the route through first. */
  skip?: number
  /** Answers this status (429 brings `Retry-After`) … */
  status?: number
  /** … with this code of Discord's in the body, 0 unless given. */
  code?: number
  message?: string
  /** Seconds of `Retry-After` for 429; 1 unless given. */
  retryAfter?: number
  /** Does the work first and then fails: the caller can't know. */
  after?: boolean
  /** Never answers (with `after`: once the work is done). */
  hang?: boolean
  /** Answers, but only after this many milliseconds. With `after` the work is done at once. */
  delayMs?: number
  /** A message created by the request is not shown by `GET` for this many milliseconds of the double's clock. */
  invisibleForMs?: number
}

export function createFaults() {
  const waiting: (Fault & { left: number; toSkip: number })[] = []
  return {
    add(fault: Fault) {
      waiting.push({ ...fault, left: fault.times ?? 1, toSkip: fault.skip ?? 0 })
    },
    clear() {
      waiting.length = 0
    },
    /** The fault that hits this request, if any. */
    take(route: string): Fault | undefined {
      const fault = waiting.find((candidate) => candidate.route === route && candidate.left > 0)
      if (!fault) return undefined
      if (fault.toSkip > 0) {
        fault.toSkip -= 1
        return undefined
      }
      fault.left -= 1
      return fault
    },
  }
}
