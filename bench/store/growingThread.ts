import type { Store } from '../../src/session/store.ts'
import { createThreadStore } from '../../src/session/threadStore.ts'
import type { ThreadRecord } from '../../src/shared/record.ts'

/** What an append and an opening take, in milliseconds (medians), when there are so many records. */
export interface AtLength {
  records: number
  appendMs: number
  openMs: number
}

/** A record of a usual size, in characters. */
const RECORD_CHARACTERS = 900
/** The view is compacted this often, as long threads are; an opening reads what stands after the latest summary. */
const COMPACTED_EVERY = 50
const KEPT = 10
const SAMPLES = 41

const TEXT = 'word '.repeat(RECORD_CHARACTERS / 5)

/** A thread as the bot keeps it: one key for each record. */
export async function growThread(store: Store, name: string, lengths: readonly number[]): Promise<AtLength[]> {
  const threads = createThreadStore(store)
  const key = `console:local:${name}`
  let next = 0
  const append = () => threads.append(key, next, recordAt(next++))
  return atLengths(
    lengths,
    () => next,
    append,
    () => threads.open(key),
  )
}

/** The same records as one array under one key, as a Keyv holds a list of messages in many bots. */
export async function growArray(store: Store, key: string, lengths: readonly number[]): Promise<AtLength[]> {
  let length = 0
  const append = async () => {
    const all = (await store.get<ThreadRecord[]>(key)) ?? []
    all.push(said())
    await store.set(key, all)
    length = all.length
  }
  // Filled in one write: appending one by one to 10,000 takes many minutes, which is what this shows.
  const fill = async (to: number) => {
    await store.set(key, Array.from({ length: to }, said))
    length = to
  }
  return atLengths(
    lengths,
    () => length,
    append,
    () => store.get(key),
    fill,
  )
}

async function atLengths(
  lengths: readonly number[],
  lengthNow: () => number,
  append: () => Promise<unknown>,
  open: () => Promise<unknown>,
  fill: (to: number) => Promise<void> = async (to) => {
    while (lengthNow() < to) await append()
  },
): Promise<AtLength[]> {
  const found: AtLength[] = []
  for (const records of lengths) {
    await fill(records)
    // In turn, so that neither is measured on a store that is warmer; the first openings also move the mark of the view.
    await open()
    const times: { append: number[]; open: number[] } = { append: [], open: [] }
    for (let sample = 0; sample < SAMPLES; sample++) {
      times.open.push(await timed(open))
      times.append.push(await timed(append))
    }
    found.push({ records, appendMs: median(times.append), openMs: median(times.open) })
  }
  return found
}

function recordAt(seq: number): ThreadRecord {
  if (seq % COMPACTED_EVERY !== COMPACTED_EVERY - 1) return said()
  return { v: 1, kind: 'mark', at: 1, mark: 'compacted', upTo: seq - KEPT, summary: 'so far' }
}

function said(): ThreadRecord {
  return { v: 1, kind: 'message', at: 1, message: { role: 'user', content: TEXT } }
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const before = performance.now()
  await run()
  return performance.now() - before
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]!
}
