import { createEditScheduler } from '../../src/delivery/editScheduler.ts'
import { openThreadView } from '../../src/delivery/threadView.ts'
import type { ChatPlatform, LimitedCall } from '../../src/platform/platform.ts'
import { PlatformError } from '../../src/shared/errors.ts'
import { silentLog } from '../../src/shared/log.ts'
import type { ThreadRef } from '../../src/shared/thread.ts'
import { en } from '../../src/shared/wording/en.ts'
import { type Call, createClock, createMemoryOutbox, createSimulatedPlatform } from './deliverySimulation.ts'

/** Many answers at once on a simulated platform that counts as the real one does, on a clock of its own. */
export interface Load {
  answers: number
  /** A real platform's limits and measure. */
  of: Pick<ChatPlatform, 'limits' | 'size'>
  /** What the platform allows: the first rule that is broken refuses the call. */
  rules: readonly Rule[]
  text(n: number): string
}

export interface Rule {
  calls: readonly LimitedCall[]
  most: number
  perMs: number
  scope: 'bot' | 'channel' | 'thread'
}

export interface LoadResult {
  refused: number
  /** Milliseconds by answer. */
  firstMs: number[]
  finalMs: number[]
  /** The longest time between two changes of an answer that grows. */
  stillMs: number[]
  calls: Call[]
  /** What people see in the end, by answer. */
  seen: string[][]
  live: number
  violations: string[]
}

const CHANNELS = 10
const PIECES = 250
const ANSWER_MS = 20_000

export async function runLoad({ answers, of, rules, text }: Load): Promise<LoadResult> {
  const clock = createClock()
  const made = new Map<string, number[]>()
  let turn = 0
  let refused = 0
  const threads = Array.from({ length: answers }, (_, n): ThreadRef => {
    const channel = `C${n % CHANNELS}`
    return { platform: 'slack', account: 'T1', id: `${channel}:${n}`, channel, thread: `${n}` }
  })
  const threadOf = (key: string) => threads[Number(/:(\d+)\//.exec(key)![1])]!

  const simulated = createSimulatedPlatform(clock, {
    limits: of.limits,
    size: of.size,
    fate({ method, key }) {
      // Delays differ, but are the same each time.
      const delayMs = 20 + ((turn++ * 7919) % 90)
      const { channel, thread } = threadOf(key)
      for (const [index, { calls, most, perMs, scope }] of rules.entries()) {
        if (!calls.includes(method)) continue
        const at = `${index}:${{ bot: '', channel, thread }[scope]}`
        // The platform sees it half the delay later.
        const seenAt = clock.now() + delayMs / 2
        const recent = (made.get(at) ?? []).filter((one) => Math.abs(seenAt - one) < perMs)
        if (recent.length >= most) {
          refused++
          return { delayMs, error: new PlatformError('rateLimited', 'ratelimited', 'no', { retryAfterMs: 1_000 }) }
        }
        made.set(at, [...recent, seenAt])
      }
      return { delayMs }
    },
  })
  const { outbox } = createMemoryOutbox()
  const edits = createEditScheduler({ limits: of.limits, now: clock.now, setTimer: clock.setTimer })
  const seen = (n: number) =>
    simulated
      .visible()
      .filter(({ key }) => threadOf(key) === threads[n])
      .map(({ body }) => body.markdown)

  const result: LoadResult = {
    ...{ refused: 0, firstMs: [], finalMs: [], stillMs: [], calls: simulated.calls, seen: [], live: 0 },
    violations: simulated.violations,
  }

  /** When people saw the answer of a thread change. */
  const changes = threads.map((): number[] => [])
  const noted = async <T>({ thread }: ThreadRef, call: Promise<T>): Promise<T> => {
    const answered = await call
    changes[Number(thread)]!.push(clock.now())
    return answered
  }
  const platform: ChatPlatform = {
    ...simulated.platform,
    post: (thread, body, options) => noted(thread, simulated.platform.post(thread, body, options)),
    edit: (thread, ref, body) => noted(thread, simulated.platform.edit(thread, ref, body)),
  }

  async function answer(thread: ThreadRef, n: number): Promise<void> {
    const options = { platform, thread, outbox, edits, wording: en, log: silentLog, setTimer: clock.setTimer }
    const view = openThreadView(options)
    const source = text(n)
    const size = Math.ceil(source.length / PIECES)
    const startedAt = clock.now()
    for (let at = 0; at < source.length; at += size) {
      view.text('s1', source.slice(at, at + size))
      await clock.sleep(ANSWER_MS / PIECES)
    }
    const toldAt = clock.now()
    await view.settle('s1', source, { footer: 'end' })
    result.finalMs[n] = clock.now() - toldAt
    result.firstMs[n] = changes[n]![0]! - startedAt
    const moments = [...changes[n]!.filter((at) => at < toldAt), toldAt]
    result.stillMs[n] = Math.max(...moments.slice(1).map((at, index) => at - moments[index]!))
  }

  await clock.until(Promise.all(threads.map(answer)))
  // Until everything is tidied up.
  await clock.advance(1_200_000)
  result.refused = refused
  result.seen = threads.map((_, n) => seen(n))
  result.live = simulated.visible().filter(({ body }) => body.live).length
  return result
}
