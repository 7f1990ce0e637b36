import { PlatformError } from '../shared/errors.ts'
import type { SetTimer } from './timers.ts'

/** Retries of calls that are not edits of live text: what people must get to see waits as long as the platform says. */
export interface Patience {
  /**
   * Calls until it succeeds. `rateLimited` is waited out, `unavailable` tried again a few times; anything else, and the
   * last failure, is passed on. `inDoubt` tells the call that an earlier attempt may have taken effect. A `paced` call waits
   * for rate limits itself, as those of the edit scheduler do.
   */
  persist<T>(call: (inDoubt: boolean) => Promise<T>, options?: { paced: boolean }): Promise<T>
  /** Ends all waiting: what waits is rejected with its last failure. */
  end(): void
}

/** Pauses before trying again after `unavailable`, in milliseconds. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000, 8_000]
/** In total no longer than this is waited for a rate limit, in milliseconds. */
const LONGEST_WAIT_MS = 10 * 60_000
const UNSTATED_PAUSE_MS = 5_000
/** A refusal that asks for no wait at all is waited out this long, so that it can't be repeated without end, in milliseconds. */
const SHORTEST_PAUSE_MS = 250

export function createPatience(setTimer: SetTimer): Patience {
  const waiting = new Set<() => void>()
  let ended = false

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        cancel()
        waiting.delete(done)
        resolve()
      }
      const cancel = setTimer(done, ms)
      waiting.add(done)
    })
  }

  return {
    async persist(call, { paced } = { paced: false }) {
      let inDoubt = false
      let waited = 0
      for (let failures = 0; ; ) {
        try {
          return await call(inDoubt)
        } catch (error) {
          if (!(error instanceof PlatformError) || ended) throw error
          inDoubt ||= error.uncertain
          const ms =
            error.kind === 'rateLimited'
              ? Math.max(SHORTEST_PAUSE_MS, error.retryAfterMs ?? UNSTATED_PAUSE_MS)
              : error.kind === 'unavailable'
                ? PAUSES_MS[failures++]
                : undefined
          waited += ms ?? 0
          if (ms === undefined || (paced && error.kind === 'rateLimited') || waited > LONGEST_WAIT_MS) throw error
          await pause(ms)
          if (ended) throw error
        }
      }
    },
    end() {
      ended = true
      for (const done of [...waiting]) done()
    },
  }
}
