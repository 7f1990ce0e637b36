import { parseArgs } from 'node:util'
import { crashRounds } from './crashRounds.ts'

/** `npm run soak:crash -- --rounds 200 [--seed 1]`: kills the started program again and again; exit code 1 if anything is wrong. */
const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '200' }, seed: { type: 'string', default: String(Date.now() % 1e9) } },
})
const seed = Number(values.seed)
const outcome = await crashRounds({ rounds: Number(values.rounds), seed })
console.log(`seed ${seed}: ${JSON.stringify(outcome)}`)
const { lost, doubled, stuck } = outcome
console.log(`lost ${lost}, doubled ${doubled}, stuck ${stuck}`)
process.exitCode = lost + doubled + stuck > 0 ? 1 : 0
