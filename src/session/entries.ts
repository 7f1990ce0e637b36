import type { Store } from './store.ts'

const PAGE = 1_000

/** All keys that begin with a prefix, in ascending order, however many there are. */
export async function listAll(store: Store, prefix: string): Promise<string[]> {
  const all: string[] = []
  while (true) {
    const after = all.at(-1)
    const keys = await store.list(prefix, { ...(after !== undefined && { after }), limit: PAGE })
    all.push(...keys)
    if (keys.length < PAGE) return all
  }
}

/** What lies under a prefix, as pairs of a key without the prefix and its value, in ascending order of keys. */
export async function readAll<T>(store: Store, prefix: string): Promise<[name: string, value: T][]> {
  const found: [string, T][] = []
  const keys = await listAll(store, prefix)
  for (let from = 0; from < keys.length; from += PAGE) {
    const page = keys.slice(from, from + PAGE)
    for (const [index, value] of (await store.getMany<T>(page)).entries()) {
      if (value !== undefined) found.push([page[index]!.slice(prefix.length), value])
    }
  }
  return found
}

/** The parts that follow a prefix that ends in `/`, each once; one look into the store for each, however much lies under it. */
export async function* partsUnder(store: Store, prefix: string): AsyncGenerator<string> {
  let after: string | undefined
  while (true) {
    const [key] = await store.list(prefix, { ...(after !== undefined && { after }), limit: 1 })
    if (key === undefined) return
    const name = key.slice(prefix.length).split('/', 1)[0]!
    yield name
    // The character that comes right after `/`: behind all that lies under this part, before any other part.
    after = `${prefix}${name}0`
  }
}
