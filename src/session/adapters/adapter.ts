/**
 * What a database has to bring so that `createKeyvStore` can make a `Store` of it: the part of Keyv's storage contract that
 * we use, and the two things Keyv does not know (`putIfAbsent`, `list`). Values are text; expiry is an absolute time in
 * milliseconds since the epoch, and the adapter itself never answers what has expired.
 *
 * Adapters let every failure reject. `set` and `delete` answer `true` or reject: Keyv reports its own failures as `false`.
 */
export interface StoreAdapter {
  /** Tells Keyv 6 that expiry is absolute and enforced here, so that it does not put its bridge for older adapters between. */
  readonly capabilities: { readonly expires: true }
  get(key: string): Promise<string | undefined>
  getMany(keys: readonly string[]): Promise<(string | undefined)[]>
  set(key: string, value: string, expires?: number): Promise<true>
  putIfAbsent(key: string, value: string, expires?: number): Promise<boolean>
  delete(key: string): Promise<true>
  /** Keys from `range.from` (inclusive, or exclusive where `exclusive` is set) to below `range.below`, ascending. */
  list(range: KeyRange, limit: number): Promise<string[]>
  disconnect(): Promise<void>
}

export interface KeyRange {
  from: string
  /** True when `from` itself is not wanted. */
  exclusive: boolean
  /** Exclusive; `undefined` means to the end. */
  below: string | undefined
}

/** The stretch of keys that begin with `prefix` and come after `after`. */
export function keyRange(prefix: string, after?: string): KeyRange {
  const below = firstBeyond(prefix)
  return after !== undefined && compareKeys(after, prefix) >= 0
    ? { from: after, exclusive: true, below }
    : { from: prefix, exclusive: false, below }
}

/** The order of `Store.list`: by code point, which is what comparing UTF-8 bytes gives. */
export function compareKeys(a: string, b: string): number {
  const shared = Math.min(a.length, b.length)
  for (let i = 0; i < shared; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x === y) continue
    // Surrogates stand for code points above all others, although their own numbers lie below U+E000 to U+FFFF.
    if (isSurrogate(x) !== isSurrogate(y)) return isSurrogate(x) ? 1 : -1
    return x - y
  }
  return a.length - b.length
}

/** The smallest text that is above everything that begins with `prefix`. */
function firstBeyond(prefix: string): string | undefined {
  const points = Array.from(prefix, (char) => char.codePointAt(0)!)
  while (points.length > 0) {
    const last = points.pop()!
    if (last === 0x10ffff) continue
    points.push(last + 1 === 0xd800 ? 0xe000 : last + 1)
    return String.fromCodePoint(...points)
  }
  return undefined
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff
}
