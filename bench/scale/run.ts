/**
 * `npm run bench:scale [-- --json] [--threads 1000] [--waiting 10000]`: one process with so many threads that answer at once
 * (two tool calls and 200 pieces each), and with so many that wait for a person; 0 leaves a part out. The platform is the
 * Slack double with the rates of 50 workspaces, the store a SQLite file.
 */
import { parseArgs } from 'node:util'
import { machineNow } from '../machine.ts'
import { measureAtOnce } from './atOnce.ts'
import { measureWaiting } from './waiting.ts'

const AIMS = { loopP99Ms: 100, peakRssMb: 600, aboveMb: 20 }

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    threads: { type: 'string', default: '1000' },
    waiting: { type: 'string', default: '10000' },
  },
})
const [threads, waiting] = [count('threads', values.threads), count('waiting', values.waiting)]
const machine = machineNow()
const atOnce = threads > 0 ? await measureAtOnce(threads) : null
const resting = waiting > 0 ? await measureWaiting(waiting) : null
const report = { date: new Date().toISOString(), machine, aims: AIMS, atOnce, waiting: resting }
console.log(values.json ? JSON.stringify(report) : JSON.stringify(report, rounded, 2))

function count(option: string, value: string): number {
  if (!/^\d+$/.test(value)) throw new Error(`--${option} ${value}: a number from 0`)
  return Number(value)
}

function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toFixed(1)) : value
}
