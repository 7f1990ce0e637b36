/**
 * The candidate that a person most likely meant by `word`, for "did you mean" sentences; `undefined` when none is close.
 * Close means: at most a third of the letters differ (one letter for short words). Case and `-`/`_` do not count.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = plain(word)
  let best: string | undefined
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1
  for (const candidate of candidates) {
    const distance = editDistance(wanted, plain(candidate))
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

const plain = (text: string) => text.toLowerCase().replaceAll(/[-_\s]/g, '')

/** Insertions, deletions, replacements and swaps of neighbours that lead from `a` to `b`. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1]
      let steps = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + (same ? 0 : 1))
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      if (swapped) steps = Math.min(steps, beforeLast[column - 2]! + 1)
      current.push(steps)
    }
    beforeLast = last
    last = current
  }
  return last[b.length]!
}
