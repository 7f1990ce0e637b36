import { setTimeout as sleep } from 'node:timers/promises'
import { ANSWER_MS, PIECES, startModel, type Telling } from './model.ts'
import { type Counts, openRoom, type PlatformName, type Room } from './rooms.ts'
import { type RunningSystem, type SystemName, startSystem } from './systems.ts'
import { type Figures, figuresOf, isWhole, look, type Watched } from './watch.ts'

export interface Result extends Figures, Counts {
  system: SystemName
  platform: PlatformName
  load: number
  /** User and system time of the whole process from the questions to the last text, by answer; null if it has ended. */
  cpuMsPerAnswer: number | null
  /** What went wrong, as far as it can be told: at most four lines. */
  problems: string[]
}

/** After the last token, so long is waited for texts that are not whole, in milliseconds. */
const PATIENCE_MS = 95_000
/** Nothing more is expected after so long without a change, once all is whole. */
const QUIET_MS = 2_500
/** Nor after so long without any request and next to no work: no double asks for a longer wait. */
const IDLE_MS = 10_000
/** A process that does nothing takes far less than this in that time. */
const BUSY_CPU_MS = 500
/** How long the model may be asked late, beyond the time of an answer. */
const START_MS = 20_000
/** How long a first answer, which warms the process up, has got. */
const WARM_UP_MS = 15_000

/** Asks so many questions at once of a fresh system on a fresh platform, and watches the answers. */
export async function runLoad(system: SystemName, platform: PlatformName, load: number): Promise<Result> {
  const room = await openRoom(platform)
  const { llm, tellings } = await startModel(load)
  const model = llm.env
  try {
    const running = await startSystem(system, platform, { ...room.settings, ...model })
    try {
      await warmUp(room)
      room.begin()
      const cpuBefore = await running.cpuMs()
      const watched = await watchAnswers(room, running, tellings)
      const cpuMs = running.alive() ? (await running.cpuMs()) - cpuBefore : null
      return {
        ...{ system, platform, load },
        ...figuresOf(watched),
        ...room.counts(),
        cpuMsPerAnswer: cpuMs === null ? null : Math.round(cpuMs / load),
        problems: problemsOf(running, tellings),
      }
    } finally {
      await running.stop()
    }
  } finally {
    await Promise.all([room.close(), llm.close()])
  }
}

/** A bot that has been up for a while: it has answered before, and knows the people. */
async function warmUp(room: Room): Promise<void> {
  const thread = room.ask(5, 'warm up, please')
  await until(WARM_UP_MS, () => room.shown(thread).some((text) => text.includes('Ready when you are.')))
  room.chatter()
  await sleep(QUIET_MS)
}

/** Asks for all answers at once and takes down what can be seen of them until nothing more is to come. */
async function watchAnswers(room: Room, running: RunningSystem, tellings: readonly Telling[]): Promise<Watched[]> {
  const watched = tellings.map((telling): Watched => ({ telling, sights: [] }))
  const byThread = new Map<string, Watched>()
  let changedAt = performance.now()
  // What one request changes in several steps is seen when it is done.
  room.onShown = (thread) =>
    queueMicrotask(() => {
      const answer = byThread.get(thread)
      if (!answer) return
      changedAt = performance.now()
      look(answer, room.shown(thread))
    })
  for (const [number, answer] of watched.entries()) {
    byThread.set(room.ask(number, `answer ${number}, please`), answer)
  }
  const isTold = () => tellings.every(({ toldAt }) => toldAt.length === PIECES)
  const isWholeAndQuiet = () => watched.every(isWhole) && performance.now() - changedAt > QUIET_MS
  const told = () => tellings.reduce((sum, { toldAt }) => sum + toldAt.length, 0)
  // A busy process that gets little of the machine is late, not done.
  let cpuMs = 0
  const asking = setInterval(() => {
    if (running.alive()) void running.cpuMs().then((now) => (cpuMs = now))
  }, 1_000)
  const isIdle = idleFor(IDLE_MS, () => room.requests() + told() + Math.floor(cpuMs / BUSY_CPU_MS))
  const isOver = () => isIdle() || isWholeAndQuiet() || !running.alive()
  await until(ANSWER_MS + START_MS, () => isTold() || isOver())
  await until(PATIENCE_MS, isOver)
  clearInterval(asking)
  return watched
}

function problemsOf(running: RunningSystem, tellings: readonly Telling[]): string[] {
  const untold = tellings.filter(({ toldAt }) => toldAt.length < PIECES).length
  return [
    ...(running.alive() ? [] : ['the process ended']),
    ...(untold > 0 ? [`${untold} answers were not asked of the model, or not read to the end`] : []),
    ...new Set(running.problems),
  ].slice(0, 4)
}

/** Whether a count has not grown for so long. */
function idleFor(ms: number, count: () => number): () => boolean {
  let known = -1
  let since = 0
  return () => {
    if (count() !== known) {
      known = count()
      since = performance.now()
    }
    return performance.now() - since > ms
  }
}

async function until(limitMs: number, isSo: () => boolean): Promise<void> {
  const end = performance.now() + limitMs
  while (!isSo() && performance.now() < end) await sleep(50)
}
