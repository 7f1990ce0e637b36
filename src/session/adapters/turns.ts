/** Runs pieces of synchronous work one after another, in the order in which they came. Rejects with what the work throws. */
export type Turns = <T>(work: () => T) => Promise<T>

export interface TurnsOptions {
  /** How long work may go on before the event loop gets a turn, in milliseconds. Default 10. */
  stretchMs?: number
  /** Default `performance.now`. */
  now?: () => number
  /** Calls `run` once everything else that waits for the event loop had its turn. Default `setImmediate`. */
  afterTurn?: (run: () => void) => void
}

/**
 * Synchronous calls behind promises never give the event loop away: each goes on in a microtask of the one before, so that a
 * thousand threads that read and write at once would hold up timers and sockets for seconds.
 */
export function createTurns(options: TurnsOptions = {}): Turns {
  const { stretchMs = 10, now = () => performance.now(), afterTurn = setImmediate } = options
  /** Since when there has been work without a turn of the loop between, and the promise of that turn. */
  let stretch: { since: number; over: Promise<void> } | null = null
  let last: Promise<unknown> = Promise.resolve()

  function begin(): void {
    const over = new Promise<void>((turned) => {
      afterTurn(() => {
        stretch = null
        turned()
      })
    })
    stretch = { since: now(), over }
  }

  return (work) => {
    const run = () => {
      if (!stretch) begin()
      return work()
    }
    const done = last.then(() => (stretch && now() - stretch.since >= stretchMs ? stretch.over.then(run) : run()))
    last = done.catch(() => {})
    return done
  }
}
