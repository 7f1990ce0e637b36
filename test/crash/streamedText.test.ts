import { describe, expect, it } from 'vitest'
import { createEditScheduler } from '../../src/delivery/editScheduler.ts'
import { openThreadView } from '../../src/delivery/threadView.ts'
import type { ChatPlatform } from '../../src/platform/platform.ts'
import { silentLog } from '../../src/shared/log.ts'
import { en } from '../../src/shared/wording/en.ts'
import { createClock, createMemoryOutbox, createSimulatedPlatform, THREAD } from '../unit/deliverySimulation.ts'
import { withStreams } from '../unit/streamSimulation.ts'

/** Where a process dies: before or after its n-th write to the outbox or call of the platform. */
interface Death {
  at: number
  when: 'before' | 'after'
}

/** Lets operations through until the process dies; then none of them is ever answered. */
function mortal(death: Death) {
  let count = 0
  let isDead = false
  const never = new Promise<never>(() => {})
  function wrap<T extends object>(whole: T, names: readonly (keyof T)[]): T {
    const wrapped = { ...whole }
    for (const name of names) {
      const run = whole[name] as (...args: unknown[]) => Promise<unknown>
      wrapped[name] = (async (...args: unknown[]) => {
        if (isDead) return never
        const isLast = count++ === death.at
        if (isLast) isDead = true
        if (isLast && death.when === 'before') return never
        const result = await run(...args)
        return isLast || isDead ? never : result
      }) as T[typeof name]
    }
    return wrapped
  }
  return { wrap, isDead: () => isDead, count: () => count }
}

function world() {
  const clock = createClock()
  const simulated = createSimulatedPlatform(clock, { limits: { text: 200, calls: [] } })
  const streams = withStreams(clock, simulated)
  const { outbox } = createMemoryOutbox()
  const { now, setTimer } = clock
  function processWith(death: Death) {
    const life = mortal(death)
    const { streaming } = streams.platform
    const platform: ChatPlatform = {
      ...life.wrap(streams.platform, ['post', 'edit', 'remove']),
      streaming: life.wrap(streaming!, ['start', 'add', 'end', 'findLost']),
    }
    const view = openThreadView({
      platform,
      thread: THREAD,
      outbox: life.wrap(outbox, ['intend', 'posted', 'settled', 'forget', 'cut', 'leave', 'tidied']),
      edits: createEditScheduler({ limits: simulated.platform.limits, now, setTimer }),
      ...{ wording: en, log: silentLog, setTimer, now },
    })
    return { view, life }
  }
  return { clock, simulated, streams, processWith }
}

const FIRST = 'The first process says this, **quite** at length, and then something more.'
const WHOLE =
  `The second one says it anew. ${'It goes on with sentences of about this length. '.repeat(7)}And ends.`.trim()
const NO_DEATH: Death = { at: Number.POSITIVE_INFINITY, when: 'before' }

/** A process says a text and dies on the way; the next one says its own, and settles it. */
async function cut(text: string, death: Death) {
  const { clock, simulated, streams, processWith } = world()
  const first = processWith(death)
  for (let at = 0; at < text.length && !first.life.isDead(); at += 10) {
    first.view.text('s1', text.slice(at, at + 10))
    await clock.advance(400)
  }
  if (!first.life.isDead()) first.view.settle('s1', text, { footer: 'small print' }).catch(() => {})
  await clock.advance(20_000)
  const second = processWith(NO_DEATH)
  if (first.life.isDead()) {
    for (let at = 0; at < WHOLE.length; at += 30) {
      second.view.text('s1', WHOLE.slice(at, at + 30))
      await clock.advance(300)
    }
    await clock.until(second.view.settle('s1', WHOLE, { footer: 'small print' }))
  }
  await clock.advance(60_000)
  return { simulated, streams, ...first.life }
}

describe('a process that dies while it streams', () => {
  it.each(['before', 'after'] as const)(
    '%s any write or call leaves what the next one brings to the same text',
    async (when) => {
      for (const text of [FIRST, WHOLE]) {
        for (let at = 0; ; at++) {
          const { simulated, streams, isDead } = await cut(text, { at, when })
          const where = `${when} operation ${at}`
          if (!isDead()) {
            expect(at, 'operations that were cut').toBeGreaterThan(8)
            break
          }
          const shown = simulated.visible()
          const said = shown.map(({ body }) => body.markdown).join(' ')
          expect(said.replace(/\s+/g, ' '), where).toBe(WHOLE)
          expect(
            shown.filter(({ body }) => body.live),
            where,
          ).toEqual([])
          expect(shown.at(-1)!.body.footer, where).toBe('small print')
          expect(
            shown.filter(({ ref }) => streams.isOpen(ref.id)),
            where,
          ).toEqual([])
          expect(simulated.violations, where).toEqual([])
        }
      }
    },
  )
})
