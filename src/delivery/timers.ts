/** Sets a timer and returns what cancels it. Handed in, so that tests run on a clock of their own. */
export type SetTimer = (callback: () => void, ms: number) => () => void

export const systemTimer: SetTimer = (callback, ms) => {
  const timer = setTimeout(callback, ms)
  return () => clearTimeout(timer)
}

/** The process's own clock, which never jumps. */
export const systemClock = (): number => performance.now()
