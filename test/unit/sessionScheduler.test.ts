import { beforeEach, describe, expect, it, vi } from 'vitest'
import { openStore } from '../../src/session/openStore.ts'
import { createEmbeddedScheduler, type EmbeddedSchedulerOptions } from '../../src/session/scheduler/embedded.ts'
import type { RunHandler } from '../../src/session/scheduler/scheduler.ts'
import type { Store } from '../../src/session/store.ts'
import { StoreError } from '../../src/shared/errors.ts'
import { silentLog } from '../../src/shared/log.ts'

/** A clock that only moves when told to, and rings what is due on the way. */
function handClock() {
  let time = 1_000_000
  const timers = new Set<{ at: number; run: () => void }>()
  return {
    now: () => time,
    setTimer(run: () => void, ms: number) {
      const timer = { at: time + ms, run }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    async pass(ms: number) {
      const end = time + ms
      for (;;) {
        await settle()
        const next = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
        if (!next) break
        timers.delete(next)
        time = next.at
        next.run()
      }
      time = end
      await settle()
    },
    armed: () => timers.size,
  }
}

/** Lets everything that is only waiting for promises of this process come to rest. */
async function settle(): Promise<void> {
  for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve))
}

let store: Store
let clock: ReturnType<typeof handClock>
beforeEach(async () => {
  store = await openStore('memory:')
  clock = handClock()
})

async function started(handler: RunHandler, options: Partial<EmbeddedSchedulerOptions> = {}) {
  const { now, setTimer } = clock
  const scheduler = createEmbeddedScheduler({
    store,
    openThreads: async () => [],
    log: silentLog,
    now,
    setTimer,
    ...options,
  })
  await scheduler.start(handler, { concurrency: 5 })
  await settle()
  return scheduler
}

const fails: RunHandler = async () => {
  throw new Error('poison')
}

describe('the embedded scheduler', () => {
  it('pauses longer after each failure, then parks the thread, tells once, and leaves it alone', async () => {
    const at: number[] = []
    const onParked = vi.fn()
    const openThreads = async () => ['bad']
    const scheduler = await started(
      async () => {
        at.push(clock.now() - 1_000_000)
        throw new Error('poison')
      },
      { onParked, openThreads },
    )
    await clock.pass(15_000)
    expect(at).toEqual([0, 1_000, 3_000, 7_000, 15_000])
    expect(onParked).toHaveBeenCalledExactlyOnceWith('bad', expect.objectContaining({ message: 'poison' }))
    await clock.pass(3_600_000)
    expect(at).toHaveLength(5)
    expect(await scheduler.parked()).toEqual([{ threadKey: 'bad', at: 1_015_000, error: 'poison' }])
  })

  it('gives a parked thread one more try when something new comes, and a fresh start on retry', async () => {
    const handler = vi.fn(fails)
    const onParked = vi.fn()
    const scheduler = await started(handler, { maxFailures: 2, onParked })
    await scheduler.wake('bad')
    await clock.pass(60_000)
    expect(handler).toHaveBeenCalledTimes(2)
    await scheduler.wake('bad')
    await clock.pass(60_000)
    expect(handler).toHaveBeenCalledTimes(3)
    expect(onParked).toHaveBeenCalledTimes(2)
    handler.mockImplementation(async () => {})
    await scheduler.retry('bad')
    await clock.pass(0)
    expect(await scheduler.parked()).toEqual([])
    expect(handler).toHaveBeenCalledTimes(4)
  })

  it('remembers parked threads over a restart', async () => {
    const openThreads = async () => ['bad', 'good']
    const first = await started(async (thread) => (thread === 'bad' ? fails(thread, null as never) : undefined), {
      maxFailures: 1,
      openThreads,
    })
    await clock.pass(1_000)
    await first.stop({ graceMs: 0 })
    const runs: string[] = []
    const second = await started(async (thread) => void runs.push(thread), { openThreads })
    expect(runs).toEqual(['good'])
    expect(await second.parked()).toMatchObject([{ threadKey: 'bad' }])
  })

  it('counts failures over restarts, and a timer that is due wakes no parked thread', async () => {
    const onParked = vi.fn()
    const handler = vi.fn(fails)
    const first = await started(handler, { maxFailures: 3, onParked })
    await first.wake('bad', { afterMs: 10 })
    await clock.pass(1_500)
    expect(handler).toHaveBeenCalledTimes(2)
    await first.stop({ graceMs: 0 })
    const second = await started(handler, { maxFailures: 3, onParked })
    await clock.pass(60_000)
    expect(handler).toHaveBeenCalledTimes(3)
    expect(onParked).toHaveBeenCalledOnce()
    await second.stop({ graceMs: 0 })
    await started(handler, { maxFailures: 3, onParked })
    await clock.pass(3_600_000)
    expect(handler).toHaveBeenCalledTimes(3)
    expect(onParked).toHaveBeenCalledOnce()
  })

  it('forgets failures after a success', async () => {
    let runs = 0
    const onParked = vi.fn()
    const scheduler = await started(
      async () => {
        if (++runs % 4 !== 0) throw new Error('now and then')
      },
      { onParked },
    )
    for (let i = 0; i < 5; i++) {
      await scheduler.wake('a')
      await clock.pass(60_000)
    }
    expect(runs).toBe(20)
    expect(onParked).not.toHaveBeenCalled()
  })

  it('does not park threads because the store is down', async () => {
    let down = true
    const runs = vi.fn()
    const onParked = vi.fn()
    const scheduler = await started(
      async () => {
        if (down) throw new StoreError('get', 'gone')
        runs()
      },
      { onParked },
    )
    await scheduler.wake('a')
    await clock.pass(60_000)
    expect(onParked).not.toHaveBeenCalled()
    down = false
    await clock.pass(1_000)
    expect(runs).toHaveBeenCalledTimes(1)
  })

  it('looks for open work every minute, survives a failing look, and says so', async () => {
    let open: string[] | Error = []
    const runs: string[] = []
    const scheduler = await started(async (thread) => void runs.push(thread), {
      async openThreads() {
        if (open instanceof Error) throw open
        return open
      },
    })
    open = new Error('no store')
    await clock.pass(60_000)
    expect(await scheduler.health()).toEqual({ ok: false, detail: 'no store' })
    open = ['left']
    await clock.pass(59_999)
    expect(runs).toEqual([])
    await clock.pass(1)
    expect(runs).toEqual(['left'])
    expect(await scheduler.health()).toEqual({ ok: true })
  })

  it('does not start a thread twice because the sweep finds it running or pausing', async () => {
    const openThreads = async () => ['a', 'b']
    let runsOfA = 0
    let runsOfB = 0
    await started(
      async (thread) => {
        if (thread === 'b') {
          runsOfB++
          throw new Error('pause')
        }
        runsOfA++
        await new Promise(() => {})
      },
      { openThreads, retryMs: 50_000, sweepMs: 1_000 },
    )
    await clock.pass(30_000)
    expect([runsOfA, runsOfB]).toEqual([1, 1])
  })

  it('keeps a timer until a run that began after it was due has ended well', async () => {
    let fail = true
    const handler = vi.fn(async () => {
      if (fail) throw new Error('not yet')
    })
    const scheduler = await started(handler)
    await scheduler.wake('a', { afterMs: 5_000 })
    expect(await store.list('timer/')).toHaveLength(1)
    await clock.pass(4_999)
    expect(handler).not.toHaveBeenCalled()
    await clock.pass(1)
    expect(handler).toHaveBeenCalledTimes(1)
    expect(await store.list('timer/')).toHaveLength(1)
    fail = false
    await clock.pass(1_000)
    expect(handler).toHaveBeenCalledTimes(2)
    expect(await store.list('timer/')).toEqual([])
  })

  it('waits for months if need be', async () => {
    const handler = vi.fn(async () => {})
    const days = 24 * 3_600_000
    const scheduler = await started(handler, { sweepMs: 365 * days })
    await scheduler.wake('a', { afterMs: 90 * days })
    await clock.pass(90 * days - 1)
    expect(handler).not.toHaveBeenCalled()
    await clock.pass(1)
    expect(handler).toHaveBeenCalledTimes(1)
  })

  it('rejects a wish for later that could not be stored', async () => {
    const scheduler = await started(async () => {}, {
      store: { ...store, set: () => Promise.reject(new StoreError('set', 'full')) },
    })
    await expect(scheduler.wake('a', { afterMs: 10 })).rejects.toThrow(StoreError)
  })

  it('leaves no timer behind after it stopped', async () => {
    const scheduler = await started(fails)
    await scheduler.wake('a')
    await scheduler.wake('b', { afterMs: 1_000 })
    await settle()
    await scheduler.stop({ graceMs: 10 })
    expect(clock.armed()).toBe(0)
  })
})
