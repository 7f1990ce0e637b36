import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Interrupted, type RunHandler, type Scheduler, ShuttingDown } from '../../src/session/scheduler/scheduler.ts'

export interface SchedulerUnderTest {
  name: string
  /** Makes the place where schedulers of one test meet: what outlives a process. */
  world(): Promise<SchedulerWorld>
  skip?: string | undefined
}

export interface SchedulerWorld {
  /** A scheduler as a freshly started process makes it. `openThreads` answers what the inbox's index holds. */
  create(openThreads?: () => Promise<string[]>): Promise<Scheduler>
  /** Removes what the test has made. */
  close(): Promise<void>
}

/** What every scheduler promises. Times are bounds, not pauses: nothing here waits for luck. */
export function schedulerContract(subject: SchedulerUnderTest): void {
  const title = subject.skip ? `${subject.name} (skipped: ${subject.skip})` : subject.name
  describe.skipIf(subject.skip !== undefined)(`scheduler contract: ${title}`, () => {
    let world: SchedulerWorld
    let open: Scheduler[] = []

    beforeEach(async () => {
      world = await subject.world()
    })
    afterEach(async () => {
      await Promise.all(open.map((scheduler) => scheduler.stop({ graceMs: 0 })))
      open = []
      await world.close()
    })

    const create = async (openThreads?: () => Promise<string[]>) => {
      const scheduler = await world.create(openThreads)
      open.push(scheduler)
      return scheduler
    }
    const started = async (handler: RunHandler, concurrency = 10) => {
      const scheduler = await create()
      await scheduler.start(handler, { concurrency })
      return scheduler
    }
    const soon = (check: () => void) => vi.waitFor(check, { timeout: 10_000, interval: 5 })

    it('runs the handler for a thread that was woken', async () => {
      const runs: string[] = []
      const scheduler = await started(async (thread) => void runs.push(thread))
      await scheduler.wake('a:b:c')
      await scheduler.wake('a:b:日本')
      await soon(() => expect(runs.toSorted()).toEqual(['a:b:c', 'a:b:日本']))
    })

    it('runs what was woken before the start', async () => {
      const runs: string[] = []
      const scheduler = await create()
      await scheduler.wake('a')
      expect(runs).toEqual([])
      await scheduler.start(async (thread) => void runs.push(thread), { concurrency: 1 })
      await soon(() => expect(runs).toEqual(['a']))
    })

    it('starts the handler once more, later, for every wake that comes during a run, and never two at a time', async () => {
      let now = 0
      let most = 0
      let runs = 0
      const gates: (() => void)[] = []
      const scheduler = await started(async () => {
        runs++
        most = Math.max(most, ++now)
        await new Promise<void>((resolve) => gates.push(resolve))
        now--
      })
      await scheduler.wake('a')
      await soon(() => expect(gates).toHaveLength(1))
      await Promise.all([scheduler.wake('a'), scheduler.wake('a'), scheduler.wake('a')])
      gates[0]!()
      await soon(() => expect(gates).toHaveLength(2))
      gates[1]!()
      await scheduler.wake('a')
      await soon(() => expect(gates.length).toBeGreaterThan(2))
      for (const open of gates) open()
      expect(most).toBe(1)
      expect(runs).toBeLessThanOrEqual(4)
    })

    it('runs threads side by side, up to the limit and no further', async () => {
      let now = 0
      let most = 0
      let done = 0
      const gates: (() => void)[] = []
      const scheduler = await started(async () => {
        most = Math.max(most, ++now)
        await new Promise<void>((resolve) => gates.push(resolve))
        now--
        done++
      }, 3)
      await Promise.all(Array.from({ length: 8 }, (_, i) => scheduler.wake(`t${i}`)))
      await soon(() => expect(gates).toHaveLength(3))
      for (let i = 0; i < 8; i++) {
        await soon(() => expect(gates.length).toBeGreaterThan(i))
        gates[i]!()
      }
      await soon(() => expect(done).toBe(8))
      expect(most).toBe(3)
    })

    it('starts later what is wanted later, and not before', async () => {
      const wokenAt = Date.now()
      const runs: number[] = []
      const scheduler = await started(async () => void runs.push(Date.now() - wokenAt))
      await scheduler.wake('a', { afterMs: 300 })
      await soon(() => expect(runs).toHaveLength(1))
      expect(runs[0]).toBeGreaterThanOrEqual(299)
    })

    it('keeps a wish for later over a restart', async () => {
      const first = await started(async () => {})
      await first.wake('a', { afterMs: 50 })
      await first.wake('b', { afterMs: 600_000 })
      await first.stop({ graceMs: 0 })
      const runs: string[] = []
      await started(async (thread) => void runs.push(thread))
      await soon(() => expect(runs).toContain('a'))
      expect(runs).not.toContain('b')
    })

    it('finds open work at the start that a crash left behind', async () => {
      const runs: string[] = []
      const scheduler = await create(async () => ['left', 'behind'])
      await scheduler.start(async (thread) => void runs.push(thread), { concurrency: 1 })
      await soon(() => expect(runs.toSorted()).toEqual(['behind', 'left']))
    })

    it('tries again after a failure, and other threads do not wait for it', async () => {
      let failures = 0
      const runs: string[] = []
      const scheduler = await started(async (thread) => {
        if (thread === 'bad' && failures++ < 2) throw new Error('not yet')
        runs.push(thread)
      })
      await scheduler.wake('bad')
      await scheduler.wake('good')
      await soon(() => expect(runs).toEqual(['good', 'bad']))
    })

    it('interrupts the run of a thread with the reason, and no other run', async () => {
      const signals = new Map<string, AbortSignal>()
      const scheduler = await started(async (thread, { signal }) => {
        if (signals.has(thread)) return
        signals.set(thread, signal)
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
      })
      await scheduler.wake('a')
      await scheduler.wake('b')
      await soon(() => expect(signals.size).toBe(2))
      await scheduler.interrupt('a', 'Ann')
      await soon(() => expect(signals.get('a')!.aborted).toBe(true))
      expect(signals.get('a')!.reason).toBeInstanceOf(Interrupted)
      expect(signals.get('a')!.reason.message).toBe('Ann')
      expect(signals.get('b')!.aborted).toBe(false)
      await scheduler.interrupt('nobody', 'Ann')
    })

    it('runs a thread again that was woken after it was interrupted', async () => {
      let runs = 0
      const scheduler = await started(async (_, { signal }) => {
        if (++runs > 1) return
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      })
      await scheduler.wake('a')
      await soon(() => expect(runs).toBe(1))
      await scheduler.interrupt('a', 'Ann')
      await scheduler.wake('a')
      await soon(() => expect(runs).toBeGreaterThan(1))
    })

    it('stops: lets runs end within the grace, and starts nothing new', async () => {
      const ended: string[] = []
      const gates: (() => void)[] = []
      const scheduler = await started(async (thread) => {
        await new Promise<void>((resolve) => gates.push(resolve))
        ended.push(thread)
      }, 1)
      await scheduler.wake('a')
      await scheduler.wake('b')
      await soon(() => expect(gates).toHaveLength(1))
      const stopping = scheduler.stop({ graceMs: 10_000 })
      gates[0]!()
      expect(await stopping).toEqual({ interrupted: [] })
      expect(ended).toEqual(['a'])
      expect(gates).toHaveLength(1)
      expect((await scheduler.health()).ok).toBe(false)
    })

    it('stops: aborts what is still running after the grace, says which, and waits for it to let go', async () => {
      let reason: unknown
      let runs = 0
      let letGo = false
      const scheduler = await started(async (_, { signal }) => {
        runs++
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
        reason = signal.reason
        await new Promise((resolve) => setImmediate(resolve))
        letGo = true
      })
      await scheduler.wake('slow')
      await soon(() => expect(runs).toBe(1))
      expect(await scheduler.stop({ graceMs: 20 })).toEqual({ interrupted: ['slow'] })
      expect(reason).toBeInstanceOf(ShuttingDown)
      expect(letGo).toBe(true)
    })

    it('carries on after a restart with a run that the shut-down cut', async () => {
      let begun = false
      const first = await started(async (_, { signal }) => {
        begun = true
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      })
      await first.wake('cut')
      await soon(() => expect(begun).toBe(true))
      const { interrupted } = await first.stop({ graceMs: 20 })
      expect(interrupted).toEqual(['cut'])
      const runs: string[] = []
      // Its event is still in the index of open work: nobody has closed it.
      const second = await create(async () => ['cut'])
      await second.start(async (thread) => void runs.push(thread), { concurrency: 1 })
      await soon(() => expect(runs).toContain('cut'))
    })

    it('is healthy only while it runs', async () => {
      const scheduler = await create()
      expect((await scheduler.health()).ok).toBe(false)
      await scheduler.start(async () => {}, { concurrency: 1 })
      expect(await scheduler.health()).toEqual({ ok: true })
    })
  })
}
