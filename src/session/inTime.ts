import { StoreError } from '../shared/errors.ts'

/** What `call` resolves with. Rejects with `StoreError` when it fails, or takes longer than `ms`: then its end is not waited for. */
export async function inTime<T>(operation: string, call: Promise<T>, ms: number): Promise<T> {
  try {
    return await withTimeout(call, ms)
  } catch (error) {
    throw new StoreError(operation, error)
  }
}

/** The same with the error as it is; a plain `Error` when the time is over. */
export async function withTimeout<T>(call: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([call, late])
  } finally {
    clearTimeout(timer)
  }
}
