import { expect, it } from 'vitest'
import { crashRounds } from '../soak/crashRounds.ts'

it('kill -9 while a call waits, while it runs and after its effect: nothing is lost, doubled or stuck', async () => {
  const outcome = await crashRounds({ rounds: 20, seed: 20_261_201 })
  expect(outcome).toMatchObject({ rounds: 20, lost: 0, doubled: 0, stuck: 0 })
}, 240_000)
