import type { ResponseLike } from 'discord.js'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createRequestGate } from '../../src/platform/discord/requestGate.ts'

const POST = 'https://discord.com/api/v10/channels/1/messages'
const INTERACTION = 'https://discord.com/api/v10/interactions/1/token/callback'
const TYPING = 'https://discord.com/api/v10/channels/1/typing'

describe('the gate before Discord', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  /** Requests that reach the server somewhere between being sent and being answered. */
  function world(latencyMs: () => [number, number]) {
    const arrived: { url: string; at: number }[] = []
    const gate = createRequestGate({
      now: () => Date.now(),
      async makeRequest(url) {
        const [there, back] = latencyMs()
        await new Promise((resolve) => setTimeout(resolve, there))
        arrived.push({ url, at: Date.now() })
        await new Promise((resolve) => setTimeout(resolve, back))
        return {} as ResponseLike
      },
    })
    return { arrived, send: (url: string) => gate(url, {}) }
  }

  it('lets no second see more than 50 requests, however long they are under way', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(2_000), { minLength: 60, maxLength: 200 }),
        fc.array(fc.tuple(fc.nat(400), fc.nat(400)), { minLength: 1, maxLength: 20 }),
        async (starts, latencies) => {
          let sent = 0
          const { arrived, send } = world(() => latencies[sent++ % latencies.length]!)
          const all = starts.map(async (ms) => {
            await new Promise((resolve) => setTimeout(resolve, ms))
            await send(POST)
          })
          await vi.runAllTimersAsync()
          await Promise.all(all)
          const times = arrived.map(({ at }) => at).sort((a, b) => a - b)
          expect(times).toHaveLength(starts.length)
          for (const [index, at] of times.entries())
            expect((times[index + 50] ?? Infinity) - at).toBeGreaterThanOrEqual(1_000)
        },
      ),
      { numRuns: 30 },
    )
  })

  it('lets messages pass before signs of life that wait', async () => {
    const { arrived, send } = world(() => [5, 5])
    const all = [...Array<string>(60).fill(TYPING), ...Array<string>(20).fill(POST)].map(send)
    await vi.runAllTimersAsync()
    await Promise.all(all)
    const kinds = arrived.map(({ url }) => (url === POST ? 'post' : 'typing'))
    expect(kinds.lastIndexOf('post')).toBe(49 + 20 - 1)
  })

  it('holds up no answer to an interaction', async () => {
    const { arrived, send } = world(() => [5, 5])
    const all = [...Array<string>(60).fill(POST), INTERACTION].map(send)
    await vi.runAllTimersAsync()
    await Promise.all(all)
    expect(arrived.find(({ url }) => url === INTERACTION)!.at).toBe(arrived[0]!.at)
  })

  it('goes on after requests that fail', async () => {
    const gate = createRequestGate({ now: () => Date.now(), makeRequest: () => Promise.reject(new Error('cut')) })
    const all = Promise.allSettled(Array.from({ length: 120 }, () => gate(POST, {})))
    await vi.runAllTimersAsync()
    expect((await all).every(({ status }) => status === 'rejected')).toBe(true)
  })
})
