/**
 * `npm run bench:store [-- --json]`: what it takes to append to a thread and to open it when it has 10, 100, 1,000 and 10,000
 * records, on each engine that is here, as ratios to 10; beside it the same records as one array under one key.
 */
import { parseArgs } from 'node:util'
import { machineNow } from '../machine.ts'
import { engines } from './engines.ts'
import { type AtLength, growArray, growThread } from './growingThread.ts'

const LENGTHS = [10, 100, 1_000, 10_000]
/** What an append and an opening may take at most of what they take at 10 records. */
const AIM = 1.3

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false } } })
const machine = machineNow()
const results = []
for await (const { name, store, remove } of engines((missing) =>
  console.error(`${missing} does not answer: left out`),
)) {
  console.error(`${name} …`)
  // What is compiled and connected on first use is so before it is measured.
  for (const grow of [growThread, growArray]) await grow(store, 'first', [100])
  const thread = withRatios(await growThread(store, 'thread', LENGTHS))
  const array = withRatios(await growArray(store, 'array', LENGTHS))
  results.push({ engine: name, thread, array })
  await remove()
}
const report = { date: new Date().toISOString(), machine, aim: AIM, results }
console.log(values.json ? JSON.stringify(report) : linesOf(report).join('\n'))

function withRatios(found: readonly AtLength[]) {
  const [first] = found
  return found.map(({ records, appendMs, openMs }) => ({
    records,
    appendMs: round(appendMs, 3),
    openMs: round(openMs, 3),
    appendRatio: round(appendMs / first!.appendMs, 2),
    openRatio: round(openMs / first!.openMs, 2),
  }))
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}

function linesOf({ results }: typeof report): string[] {
  return results.flatMap(({ engine, ...ways }) =>
    Object.entries(ways).flatMap(([way, rows]) =>
      rows.map(
        ({ records, appendMs, openMs, appendRatio, openRatio }) =>
          `${engine}, ${way}, ${records} records: append ${appendMs} ms (×${appendRatio}), open ${openMs} ms (×${openRatio})`,
      ),
    ),
  )
}
