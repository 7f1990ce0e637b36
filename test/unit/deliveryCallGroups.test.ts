import { describe, expect, it } from 'vitest'
import { createEditScheduler } from '../../src/delivery/editScheduler.ts'
import { openThreadView } from '../../src/delivery/threadView.ts'
import { silentLog } from '../../src/shared/log.ts'
import type { TaskGroup } from '../../src/shared/task.ts'
import { en } from '../../src/shared/wording/en.ts'
import { createClock, createMemoryOutbox, createSimulatedPlatform, THREAD } from './deliverySimulation.ts'

/** A thread on a platform that takes two posts at once and then one in ten seconds. */
function setUp() {
  const clock = createClock()
  const simulated = createSimulatedPlatform(clock)
  const calls = [{ calls: ['post'], most: 2, perMs: 20_000, scope: 'channel' }] as const
  const limits = { ...simulated.platform.limits, calls }
  const platform = { ...simulated.platform, limits }
  const { outbox } = createMemoryOutbox()
  const open = () =>
    openThreadView({
      ...{ platform, thread: THREAD, outbox, wording: en, log: silentLog, setTimer: clock.setTimer },
      edits: createEditScheduler({ limits, now: clock.now, setTimer: clock.setTimer }),
    })
  const texts = () => simulated.visible().map(({ body }) => body.markdown)
  return { clock, ...simulated, open, view: open(), texts }
}

const KEYS = Array.from({ length: 8 }, (_, index) => `c1.${index}`)

describe('many calls in a row', () => {
  async function callAll({ view, clock }: ReturnType<typeof setUp>, keys = KEYS) {
    for (const key of keys) {
      void view.toolCall(key, 'read_file', { path: key })
      await clock.advance(100)
      void view.toolResult(key, 'read_file', { path: key }, `content of ${key}`, key === 'c1.7')
      await clock.advance(100)
    }
  }

  it('have a reply each while the budget allows, and share one when it is short; none is left out', async () => {
    const world = setUp()
    await callAll(world)
    await world.clock.until(world.view.settle('s2', 'All read.'))
    await world.clock.until(world.view.callsShown())
    const texts = world.texts()
    expect(texts.length).toBeLessThan(KEYS.length)
    for (const key of KEYS) expect(texts.filter((text) => text.includes(key))).toHaveLength(1)
    expect(texts[0]).toContain('content of c1.0')
    const group = texts.find((text) => text.includes('c1.7'))!
    expect(group.split('\n').length).toBeGreaterThan(3)
    expect(group).toContain('failed')
    const parts = world.visible().find(({ body }) => body.markdown === group)!.body.task as TaskGroup
    expect(parts.title).toBe(en.toolsFailed(parts.tasks.length, 1))
    expect(parts.tasks.at(-1)).toMatchObject({ id: 'c1.7', state: 'failed', output: 'content of c1.7' })
    expect(parts.tasks.slice(0, -1).every(({ state }) => state === 'done')).toBe(true)
    expect(texts.indexOf('All read.')).toBe(texts.length - 1)
    expect(world.violations).toEqual([])
  })

  it('are not shown once more after a restart', async () => {
    const world = setUp()
    await callAll(world)
    await world.clock.until(world.view.callsShown())
    await world.clock.until(world.view.abandon())
    const before = world.texts()
    const next = world.open()
    for (const key of KEYS) {
      await world.clock.until(next.toolResult(key, 'read_file', { path: key }, `content of ${key}`, false))
    }
    expect(world.texts()).toEqual(before)
  })

  it('are each shown once where the process is killed before their group stands', async () => {
    const world = setUp()
    await callAll(world)
    await world.clock.advance(30_000)
    expect(world.texts().some((text) => text.includes('c1.4') && text.includes('c1.5'))).toBe(true)
    await world.clock.until(world.view.abandon())
    const next = world.open()
    for (const key of KEYS) {
      await world.clock.until(next.toolResult(key, 'read_file', { path: key }, `content of ${key}`, false))
    }
    for (const key of KEYS) expect(world.texts().filter((text) => text.includes(key))).toHaveLength(1)
    expect(world.violations).toEqual([])
  })

  it('say their result whole where a group has one call only', async () => {
    const world = setUp()
    await callAll(world, KEYS.slice(0, 3))
    await world.clock.until(world.view.callsShown())
    expect(world.texts()).toHaveLength(3)
    expect(world.texts()[2]).toContain('content of c1.2')
  })

  it('are told as they end, also where text comes before the last of them has ended', async () => {
    const world = setUp()
    const { view, clock } = world
    await callAll(world, KEYS.slice(0, 3))
    void view.toolCall('c1.3', 'read_file', { path: 'c1.3' })
    await clock.advance(100)
    view.text('s2', 'Meanwhile')
    await clock.advance(60_000)
    void view.toolResult('c1.3', 'read_file', { path: 'c1.3' }, 'late', false)
    await clock.until(view.callsShown())
    await clock.advance(60_000)
    expect(world.texts().filter((text) => text.includes('c1.3'))).toHaveLength(1)
    expect(world.texts().join('\n')).not.toContain('…')
  })

  it('that are made all at once make groups of at most ten', async () => {
    const world = setUp()
    const keys = Array.from({ length: 26 }, (_, index) => `c2.${String(index).padStart(2, '0')}`)
    for (const key of keys) void world.view.toolCall(key, 'read_file', { path: key })
    for (const key of keys) void world.view.toolResult(key, 'read_file', { path: key }, 'x', false)
    await world.clock.advance(1_000)
    await world.clock.until(world.view.callsShown())
    await world.clock.advance(120_000)
    const texts = world.texts()
    for (const key of keys) expect(texts.filter((text) => text.includes(key))).toHaveLength(1)
    expect(texts.length).toBeLessThan(10)
    expect(Math.max(...texts.map((text) => text.split('\n').length))).toBeLessThanOrEqual(10)
  })
})
