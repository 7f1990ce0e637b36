/**
 * What a tool comes to, or an error when it goes on for longer than `graceMs` after the signal aborted: a run that was
 * stopped must not hang on a tool that does not heed its signal.
 */
export async function untilStopped<T>(running: Promise<T>, signal: AbortSignal, graceMs: number): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  let timer: NodeJS.Timeout | undefined
  const stopped = () => {
    const error = new Error(`stopped, but it did not end within ${graceMs / 1_000} s: it may still take effect`)
    timer = setTimeout(() => reject(error), graceMs)
  }
  signal.addEventListener('abort', stopped, { once: true })
  if (signal.aborted) stopped()
  try {
    return await Promise.race([running, promise])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stopped)
  }
}
