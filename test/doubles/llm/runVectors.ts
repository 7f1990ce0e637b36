/**
 * `npm run vectors -- FILE…`: runs every stream vector of the files through the real client against a real server, each
 * whole, in 1-byte and in 7-byte writes. The last line is `N passed, M failed`, counted in vectors; exit code 1 on failure.
 */
import { startLlmDouble } from './server.ts'
import { loadVectors, runVector } from './vectors.ts'

const SPLITS = [undefined, 1, 7]

async function main(files: readonly string[]): Promise<number> {
  if (files.length === 0) {
    console.error('Usage: npm run vectors -- FILE…')
    return 2
  }
  const llm = await startLlmDouble({ strict: false })
  let passed = 0
  let failed = 0
  for (const vector of files.flatMap(loadVectors)) {
    const runs = await Promise.all(SPLITS.map((split) => runVector(llm, vector, split)))
    if (runs.every((found) => found.length === 0)) {
      passed++
      continue
    }
    failed++
    runs.forEach((found, at) => {
      const writes = SPLITS[at] === undefined ? 'whole' : `${SPLITS[at]}-byte writes`
      for (const difference of found) console.log(`${vector.name} (${writes}): ${difference}`)
    })
  }
  await llm.close()
  console.log(`${passed} passed, ${failed} failed`)
  return failed > 0 ? 1 : 0
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2))
