import { randomBytes } from 'node:crypto'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type Bus, MAX_MESSAGE_BYTES } from '../../src/session/bus/bus.ts'
import { createLocalBus } from '../../src/session/bus/localBus.ts'
import { openBus } from '../../src/session/bus/openBus.ts'
import { StoreError } from '../../src/shared/errors.ts'
import { silentLog } from '../../src/shared/log.ts'
import { lineTo, missing, POSTGRES_URL, REDIS_URL } from './servers.ts'

const open = new Set<Bus>()
afterEach(async () => {
  for (const bus of open) await bus.close()
  open.clear()
})

const heard = (check: () => void) => vi.waitFor(check, { timeout: 10_000, interval: 5 })

const subjects = [
  { name: 'local', url: null, skip: undefined },
  { name: 'Redis', url: REDIS_URL, skip: await missing(REDIS_URL) },
  { name: 'PostgreSQL', url: POSTGRES_URL, skip: await missing(POSTGRES_URL) },
]

for (const { name, url, skip } of subjects) {
  /** Buses of as many instances; the local one has one for all. */
  const instances = async (count: number, address = url, namespace = `t${randomBytes(6).toString('hex')}`) => {
    const alone = createLocalBus()
    const options = { log: silentLog, timeoutMs: 2_000, namespace }
    const buses = await Promise.all(
      Array.from({ length: count }, () => (address === null ? alone : openBus(address, options))),
    )
    for (const bus of buses) open.add(bus)
    return buses
  }

  describe.skipIf(skip !== undefined)(`bus contract: ${name}${skip ? ` (skipped: ${skip})` : ''}`, () => {
    it('tells every subscriber of a topic on every instance, the speaker included, and nobody else', async () => {
      const [a, b] = await instances(2)
      const words: string[] = []
      a!.subscribe('stop', (message) => words.push(`a ${message}`))
      b!.subscribe('stop', (message) => words.push(`b ${message}`))
      b!.subscribe('other', (message) => words.push(`other ${message}`))
      await a!.publish('stop', 'one "quoted" 日本\n')
      await b!.publish('stop', 'two')
      await heard(() => expect(words).toHaveLength(4))
      const both = ['one "quoted" 日本\n', 'two']
      expect(words.toSorted()).toEqual([...both.map((word) => `a ${word}`), ...both.map((word) => `b ${word}`)])
    })

    it('keeps the order of one speaker', async () => {
      const [a, b] = await instances(2)
      const words: string[] = []
      b!.subscribe('count', (message) => words.push(message))
      for (let i = 0; i < 50; i++) await a!.publish('count', String(i))
      await heard(() => expect(words).toHaveLength(50))
      expect(words).toEqual(Array.from({ length: 50 }, (_, i) => String(i)))
    })

    it('ends a subscription, and only that one', async () => {
      const [bus] = await instances(1)
      const words: string[] = []
      const listen = (message: string) => void words.push(message)
      const end = bus!.subscribe('topic', listen)
      bus!.subscribe('topic', listen)
      end()
      end()
      await bus!.publish('topic', 'x')
      await heard(() => expect(words).toEqual(['x']))
    })

    it('refuses a message that a server would not take', async () => {
      const [bus] = await instances(1)
      await expect(bus!.publish('topic', 'é'.repeat(MAX_MESSAGE_BYTES))).rejects.toThrow(RangeError)
    })

    it.skipIf(url === null)('does not hear another namespace', async () => {
      const [[a], [b]] = await Promise.all([instances(1), instances(1)])
      const words: string[] = []
      b!.subscribe('topic', (message) => words.push(message))
      await a!.publish('topic', 'theirs')
      await b!.publish('topic', 'ours')
      await heard(() => expect(words).toEqual(['ours']))
    })

    it.skipIf(url === null)(
      'rejects while the server is away, and hears and speaks again when it is back',
      async () => {
        const line = await lineTo(url!)
        const [bus] = await instances(1, line.url)
        const words: string[] = []
        bus!.subscribe('topic', (message) => words.push(message))
        await line.cut()
        await expect(bus!.publish('topic', 'lost')).rejects.toThrow(StoreError)
        await line.mend()
        await vi.waitFor(
          async () => {
            await bus!.publish('topic', 'back')
            expect(words).toContain('back')
          },
          { timeout: 10_000, interval: 100 },
        )
        expect(words).not.toContain('lost')
        await line.close()
      },
    )

    it.skipIf(url === null)('is not opened where nobody answers', async () => {
      const line = await lineTo(url!)
      await line.cut()
      await expect(instances(1, line.url)).rejects.toThrow()
      await line.close()
    })
  })
}
