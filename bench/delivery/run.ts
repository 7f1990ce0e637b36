/**
 * `npm run bench:delivery [-- --json] [--platform slack|discord] [--load 1,20,100] [--system toycoder|chat-sdk]`: answers that
 * are streamed at the same time, from the mention to the final text, under the documented limits of the platforms. Systems
 * run one after another, each in a process of its own, against fresh doubles; what is visible is measured there. The
 * peers are in `bench/peers`, installed by `npm ci --prefix bench/peers`.
 */
import { parseArgs } from 'node:util'
import { machineNow } from '../machine.ts'
import { type Result, runLoad } from './load.ts'
import { ANSWER_MS, PIECES } from './model.ts'
import type { PlatformName } from './rooms.ts'
import { LENGTH } from './source.ts'
import { peersInstalled, SYSTEMS, type SystemName } from './systems.ts'
import { table } from './table.ts'

const PLATFORMS: readonly PlatformName[] = ['slack', 'discord']
const HINT = 'bench/peers is not installed (npm ci --prefix bench/peers): the peers are left out'

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    platform: { type: 'string', default: PLATFORMS.join() },
    load: { type: 'string', default: '1,20,100' },
    system: { type: 'string', default: 'toycoder,chat-sdk' },
  },
})

const platforms = chosen('platform', values.platform, PLATFORMS)
const loads = values.load.split(',').map(Number)
if (!loads.every((load) => Number.isInteger(load) && load > 0)) throw new Error(`--load ${values.load}: numbers from 1`)
const wanted = chosen('system', values.system, SYSTEMS)
const systems = wanted.filter((system) => system === 'toycoder' || peersInstalled())
if (systems.length === 0) {
  console.error(HINT)
  process.exit(1)
}

const BUSY = 'other programs were busy when this began: the figures say little about times and nothing about the aims'
const machine = machineNow()
const notes = [
  ...(systems.length < wanted.length ? [HINT] : []),
  ...(machine.loadAverage > machine.cores / 2 ? [BUSY] : []),
]
for (const note of notes) console.error(note)

const results: Result[] = []
for (const platform of platforms) {
  for (const load of loads) {
    for (const system of systems) {
      console.error(`${system} on ${platform}, ${load} at once`)
      results.push(await runLoad(system, platform, load))
    }
  }
}
const report = {
  date: new Date().toISOString(),
  machine,
  answer: { characters: LENGTH, ms: ANSWER_MS, pieces: PIECES },
  notes,
  results,
}
console.log(values.json ? JSON.stringify(report) : table(report.results))

function chosen<T extends SystemName | PlatformName>(option: string, value: string, known: readonly T[]): T[] {
  return value.split(',').map((name) => {
    const found = known.find((one) => one === name)
    if (!found) throw new Error(`--${option} ${name}: one of ${known.join(', ')}`)
    return found
  })
}
