import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createDeliveries } from '../../src/platform/discord/deliveries.ts'
import { silentLog } from '../../src/shared/log.ts'

describe('deliveries to the inbox', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  function setup() {
    const done: string[] = []
    const recovered = vi.fn()
    const deliveries = createDeliveries({ log: silentLog, now: Date.now, onRecovered: recovered })
    const down = { store: false }
    const add = (lane: string, order: string) =>
      deliveries.add({
        lane,
        order,
        run: async () => {
          if (down.store) throw new Error('the store is not there')
          done.push(`${lane}${order}`)
        },
      })
    return { done, recovered, deliveries, down, add }
  }

  test('that gathered while held go out by time', async () => {
    const { done, deliveries, add } = setup()
    deliveries.hold()
    add('a', '1000000000000000000')
    add('a', '999999999999999999')
    add('a', '1000000000000000001')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(done).toEqual([])
    deliveries.release()
    await vi.advanceTimersByTimeAsync(0)
    expect(done).toEqual(['a999999999999999999', 'a1000000000000000000', 'a1000000000000000001'])
  })

  test('are tried again with longer and longer pauses until the store is back', async () => {
    const { done, down, add } = setup()
    down.store = true
    add('a', '1')
    add('a', '2')
    await vi.advanceTimersByTimeAsync(5 * 60_000)
    expect(done).toEqual([])
    down.store = false
    await vi.advanceTimersByTimeAsync(30_000)
    expect(done).toEqual(['a1', 'a2'])
  })

  test('are given up after ten minutes, and the gap is read again once something is stored', async () => {
    const { done, recovered, down, add } = setup()
    down.store = true
    add('a', '1')
    await vi.advanceTimersByTimeAsync(11 * 60_000)
    down.store = false
    expect(recovered).not.toHaveBeenCalled()
    add('b', '2')
    await vi.advanceTimersByTimeAsync(0)
    expect(done).toEqual(['b2'])
    expect(recovered).toHaveBeenCalledTimes(1)
  })

  test('stop at once, also in the middle of a pause', async () => {
    const { done, deliveries, down, add } = setup()
    down.store = true
    add('a', '1')
    await vi.advanceTimersByTimeAsync(10_000)
    await deliveries.stop()
    down.store = false
    add('a', '2')
    await vi.advanceTimersByTimeAsync(60_000)
    expect(done).toEqual([])
  })
})
