import { StaleThread } from '../shared/errors.ts'
import type { ThreadRecord } from '../shared/record.ts'
import { threadKey } from '../shared/thread.ts'
import { createTurns } from '../shared/turns.ts'
import { numberOf, threadKeys } from './keys.ts'
import { createRecency } from './recency.ts'
import type { Store } from './store.ts'
import type { NumberedRecord, ThreadHead, ThreadStore } from './thread.ts'

/** Records per request. Results of tools can be long, so a page is kept small enough for memory and the time-out. */
const PAGE = 64
const DEFAULT_HEADS = 50

/** Where the model's view begins, and the first inbox slot that no record before it has taken. A hint: never too far ahead. */
interface ViewStart {
  from: number
  slot: number
}

/**
 * Threads over a store, one key per record. An append is one write however long the thread is; opening reads from where the
 * view begins. That place is remembered by `open` itself when it comes across a newer boundary or summary, so the pages
 * before the mark are read once more by the first `open` after it, and a crash anywhere leaves nothing to repair.
 */
export function createThreadStore(store: Store): ThreadStore {
  const recency = createRecency(store, 'threads')
  const inTurn = createTurns()

  /** Records from `from` on, in pages. */
  async function* records(key: string, from: number): AsyncGenerator<NumberedRecord> {
    let after = from === 0 ? threadKeys.records(key) : threadKeys.record(key, from - 1)
    for (;;) {
      const keys = await store.list(threadKeys.records(key), { after, limit: PAGE })
      const page = await store.getMany<ThreadRecord>(keys)
      for (const [i, record] of page.entries()) {
        if (record !== undefined) yield { seq: numberOf(keys[i]!), record }
      }
      if (keys.length < PAGE) return
      after = keys[keys.length - 1]!
    }
  }

  return {
    async open(key) {
      const [head, view, shown] = (await store.getMany([
        threadKeys.head(key),
        threadKeys.view(key),
        threadKeys.shown(key),
      ])) as [ThreadHead | undefined, ViewStart | undefined, number | undefined]
      const known = view ?? { from: 0, slot: 0 }

      const loaded: NumberedRecord[] = []
      for await (const numbered of records(key, known.from)) loaded.push(numbered)

      const from = Math.max(known.from, viewStart(loaded))
      const passed = loaded.filter(({ seq }) => seq < from)
      if (from > known.from) await store.set(threadKeys.view(key), { from, slot: nextSlot(passed, known.slot) })
      return {
        key,
        head,
        records: loaded.slice(passed.length),
        nextSeq: (loaded.at(-1)?.seq ?? known.from - 1) + 1,
        nextSlot: nextSlot(loaded, known.slot),
        shownBelow: shown ?? 0,
      }
    },

    async exists(key) {
      return (await store.get(threadKeys.head(key))) !== undefined
    },

    async ensureHead(head) {
      const key = threadKey(head.ref)
      if ((await store.get(threadKeys.head(key))) !== undefined) return
      // The entry in the list first: one without a head is passed over, a head without an entry would be missing there.
      await recency.touch(key, head.createdAt)
      await store.putIfAbsent(threadKeys.head(key), head)
    },

    async append(key, seq, record) {
      if (record.source) await recency.touch(key, record.at)
      if (!(await store.putIfAbsent(threadKeys.record(key, seq), record))) throw new StaleThread(key, seq)
    },

    all: (key) => records(key, 0),

    markShown: (key, below) =>
      inTurn(key, async () => {
        const before = (await store.get<number>(threadKeys.shown(key))) ?? 0
        if (below > before) await store.set(threadKeys.shown(key), below)
      }),

    async heads({ limit = DEFAULT_HEADS } = {}) {
      const heads: ThreadHead[] = []
      if (limit < 1) return heads
      for await (const key of recency.newest()) {
        const head = await store.get<ThreadHead>(threadKeys.head(key))
        if (head !== undefined) heads.push(head)
        if (heads.length >= limit) break
      }
      return heads
    },
  }
}

/** The first record the model may still see: a boundary itself, or the first one that the latest summary leaves out. */
function viewStart(records: readonly NumberedRecord[]): number {
  let start = 0
  for (const { seq, record } of records) {
    if (record.kind !== 'mark') continue
    if (record.mark === 'boundary') start = seq
    if (record.mark === 'compacted') start = Math.max(start, Math.min(record.upTo, seq))
  }
  return start
}

function nextSlot(records: readonly NumberedRecord[], atLeast: number): number {
  return records.reduce((next, { record }) => Math.max(next, (record.source?.slot ?? -1) + 1), atLeast)
}
