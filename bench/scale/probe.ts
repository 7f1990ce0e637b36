/** Loaded before the bot under test: measures its process from within, and answers the benchmark's questions. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Figures, Question } from './bot.ts'

/** Finer steps cost more than they tell: the aim is 100 ms. */
const loop = monitorEventLoopDelay({ resolution: 5 })
loop.enable()
let peakRss = 0
const watching = setInterval(() => {
  peakRss = Math.max(peakRss, process.memoryUsage.rss())
}, 100)
watching.unref()

process.on('message', (question: Question) => {
  if (question === 'begin') {
    loop.reset()
    peakRss = process.memoryUsage.rss()
  }
  // Twice: what the first round finalises, the second one frees.
  if (question === 'rest') for (let round = 0; round < 2; round++) globalThis.gc?.()
  process.send?.(figures())
})
// The benchmark ends this process; the channel alone must not keep it.
process.channel?.unref()
process.on('disconnect', () => process.exit())

function figures(): Figures {
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed, external } = process.memoryUsage()
  return {
    cpuMs: (user + system) / 1_000,
    heapMb: (heapUsed + external) / 2 ** 20,
    rssMb: rss / 2 ** 20,
    peakRssMb: Math.max(peakRss, rss) / 2 ** 20,
    loopP99Ms: loop.percentile(99) / 1e6,
    loopMaxMs: loop.max / 1e6,
  }
}
