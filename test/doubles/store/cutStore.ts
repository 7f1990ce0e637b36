import type { Store } from '../../../src/session/store.ts'
import { StoreError } from '../../../src/shared/errors.ts'

/** A process that died, as far as its store is concerned: nothing it does from then on has any effect. */
export class Died extends StoreError {
  constructor(operation: string) {
    super(operation, new Error('the process died'))
  }
}

/**
 * The store as a process sees it that dies at its `n`th write (counted from 0): `before` or `after` that write takes
 * effect. From then on every call rejects. What lies underneath stays as it was at the moment of death.
 */
export function dyingStore(store: Store, dieAt: number, when: 'before' | 'after'): Store & { writes(): number } {
  let writes = 0
  let dead = false

  const read = async <T>(name: string, run: () => Promise<T>): Promise<T> => {
    if (dead) throw new Died(name)
    const answer = await run()
    if (dead) throw new Died(name)
    return answer
  }
  const write = async <T>(name: string, run: () => Promise<T>): Promise<T> => {
    if (dead) throw new Died(name)
    const dies = writes++ === dieAt
    if (dies && when === 'before') dead = true
    if (dead) throw new Died(name)
    const answer = await run()
    if (dies) dead = true
    if (dead) throw new Died(name)
    return answer
  }

  return {
    get: (key) => read('get', () => store.get(key)),
    getMany: (keys) => read('getMany', () => store.getMany(keys)),
    set: (key, value, ttlMs) => write('set', () => store.set(key, value, ttlMs)),
    putIfAbsent: (key, value, ttlMs) => write('putIfAbsent', () => store.putIfAbsent(key, value, ttlMs)),
    delete: (key) => write('delete', () => store.delete(key)),
    list: (prefix, options) => read('list', () => store.list(prefix, options)),
    close: async () => {},
    writes: () => writes,
  }
}

/** A store whose calls take turns in whatever order `next` picks: every interleaving of concurrent callers can come up. */
export function interleavingStore(store: Store, turn: () => Promise<void>): Store {
  const late = async <T>(run: () => Promise<T>): Promise<T> => {
    await turn()
    return run()
  }
  return {
    get: (key) => late(() => store.get(key)),
    getMany: (keys) => late(() => store.getMany(keys)),
    set: (key, value, ttlMs) => late(() => store.set(key, value, ttlMs)),
    putIfAbsent: (key, value, ttlMs) => late(() => store.putIfAbsent(key, value, ttlMs)),
    delete: (key) => late(() => store.delete(key)),
    list: (prefix, options) => late(() => store.list(prefix, options)),
    close: () => store.close(),
  }
}

/** Counts calls, to hold promises about cost. */
export function countingStore(store: Store): Store & { calls: Record<string, number>; reset(): void } {
  const calls: Record<string, number> = {}
  const count = <A extends unknown[], T>(name: string, run: (...args: A) => T) => {
    return (...args: A): T => {
      calls[name] = (calls[name] ?? 0) + (name === 'getMany' ? (args[0] as unknown[]).length : 1)
      return run(...args)
    }
  }
  return {
    get: count('get', store.get) as Store['get'],
    getMany: count('getMany', store.getMany) as Store['getMany'],
    set: count('set', store.set) as Store['set'],
    putIfAbsent: count('putIfAbsent', store.putIfAbsent) as Store['putIfAbsent'],
    delete: count('delete', store.delete),
    list: count('list', store.list),
    close: () => store.close(),
    calls,
    reset() {
      for (const name of Object.keys(calls)) delete calls[name]
    },
  }
}

/**
 * The store as a process sees it that stands still at its `n`th write (counted from 0), `before` or `after` that write takes
 * effect, until it is let go on: a machine that was suspended, or a pause of the garbage collector that outlasts a lease.
 */
export function freezingStore(store: Store, at: number, when: 'before' | 'after') {
  let writes = 0
  let thaw = () => {}
  const thawed = new Promise<void>((resolve) => {
    thaw = resolve
  })
  let frozen = () => {}
  const isFrozen = new Promise<void>((resolve) => {
    frozen = resolve
  })
  let frozenKey = ''
  const write = async <T>(key: string, run: () => Promise<T>): Promise<T> => {
    const freezes = writes++ === at
    const stand = async () => {
      frozenKey = key
      frozen()
      await thawed
    }
    if (freezes && when === 'before') await stand()
    const answer = await run()
    if (freezes && when === 'after') await stand()
    return answer
  }
  const slow: Store = {
    ...{ get: store.get, getMany: store.getMany, list: store.list },
    set: (key, value, ttlMs) => write(key, () => store.set(key, value, ttlMs)),
    putIfAbsent: (key, value, ttlMs) => write(key, () => store.putIfAbsent(key, value, ttlMs)),
    delete: (key) => write(key, () => store.delete(key)),
    close: async () => {},
  }
  return { store: slow, isFrozen, thaw, frozenKey: () => frozenKey }
}
