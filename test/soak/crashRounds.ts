import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startLlmDouble } from '../doubles/llm/server.ts'
import { consoleWorld } from '../scenario/consoleWorld.ts'
import { makeHome, type Program, until } from '../scenario/program.ts'

/** What became of the rounds. All but `rounds` and the counts of what was met have to be 0. */
export interface CrashOutcome {
  rounds: number
  /** A call that was approved and is said to have run had no effect. */
  lost: number
  /** A command ran more often than people said. */
  doubled: number
  /** A thread did not come to its answer. */
  stuck: number
  /** How often the outcome of a call was unknown, and people were asked. */
  unknown: number
}

/**
 * The started program, killed with SIGKILL: while a call waits for its yes, right after the click, while the command runs,
 * and between its effect and the record of it. After each death it is started again, and somebody goes on clicking.
 */
export async function crashRounds({ rounds, seed }: { rounds: number; seed: number }): Promise<CrashOutcome> {
  const random = randomFrom(seed)
  const llm = await startLlmDouble({
    respond: ({ body }) => {
      const asked = body.messages.findLast(({ role }) => role === 'user')!
      const round = /round (\d+)/.exec(String(asked.content))![1]!
      if (body.messages.at(-1)!.role === 'tool') return { text: `Went on with ${round}.` }
      // The effect comes first, so that there is time to die after it.
      const command = `echo x >> proof-${round}.txt; sleep 0.15`
      return { toolCalls: [{ name: 'run_command', arguments: { command }, id: 'call_0' }] }
    },
  })
  const world = await consoleWorld()
  const home = makeHome(llm.env)
  writeFileSync(
    join(home.folder, 'toycoder.yml'),
    JSON.stringify({ sandbox: 'none', tools: { enabled: ['run_command'] } }),
  )
  const outcome: CrashOutcome = { rounds, lost: 0, doubled: 0, stuck: 0, unknown: 0 }
  let program = await start()
  try {
    for (let round = 0; round < rounds; round++) await oneRound(round)
  } finally {
    await home.remove()
    await llm.close()
  }
  return outcome

  async function start(): Promise<Program> {
    const started = await home.start()
    await world.started(started.url)
    return started
  }

  async function dieAndReturn(): Promise<void> {
    await program.kill()
    program = await start()
  }

  async function oneRound(round: number): Promise<void> {
    const thread = await world.begin(`round ${round}`)
    const offers = async (label: string) => (await world.buttons(thread)).includes(label)
    const texts = async () => (await world.seen(thread)).map(({ text }) => text).join('\n')
    let deaths = 1 + Math.floor(random() * 2)
    let repeats = 0
    const isOver = async () => (await texts()).includes(`Went on with ${round}.`)
    const hasNews = async () => (await offers('Approve')) || (await offers('Skip')) || (await isOver())
    try {
      while (true) {
        await until('a card or the answer', hasNews, { ms: 20_000 })
        if (await isOver()) break
        if (deaths > 0 && random() < 0.3) {
          deaths--
          await dieAndReturn()
          continue
        }
        const label = (await offers('Approve')) ? 'Approve' : random() < 0.5 ? 'Skip' : 'Run again'
        if (label !== 'Approve') outcome.unknown++
        if (label === 'Run again') repeats++
        // A click whose answer is cut off may or may not have been taken; the card that is there afterwards tells.
        const pressed = world.press(thread, label).catch(() => {})
        if (deaths > 0) {
          deaths--
          await sleep(random() * 400)
          await dieAndReturn()
        }
        await pressed
        await until('the card is settled or stands again', async () => (await isOver()) || !(await offers(label)), {
          ms: 3_000,
        }).catch(() => {})
      }
    } catch {
      outcome.stuck++
      return
    }
    const proof = join(home.folder, 'workspace', `proof-${round}.txt`)
    const times = existsSync(proof) ? readFileSync(proof, 'utf8').split('\n').length - 1 : 0
    if (times > 1 + repeats) outcome.doubled++
    const ranToItsEnd = (await texts()).includes('exit code 0')
    if (ranToItsEnd && times === 0) outcome.lost++
  }
}

/** Mulberry32: small, and the same numbers for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
