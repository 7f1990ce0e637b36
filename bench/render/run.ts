/**
 * `npm run bench:render [-- --json] [--hostile]`: what a frame of an answer of 60,000 characters costs that grows by 12 at a
 * time, from the piece to the payload, as through a live answer; and with `--hostile`, what 100 kB of each construct of
 * Markdown cost each renderer. Times are of the computing thread; those of the wall are given, too.
 */
import { parseArgs } from 'node:util'
import { machineNow } from '../machine.ts'
import { answerOf, type Growth, grow, PIECE, type Side } from './growing.ts'
import { hostile, LENGTH } from './hostile.ts'

const CHARACTERS = 60_000
const AIM_MS = 20

const { values } = parseArgs({
  options: { json: { type: 'boolean', default: false }, hostile: { type: 'boolean', default: false } },
})

// Before the work, which loads it.
const machine = machineNow()
const answer = answerOf(CHARACTERS)
const frames = []
for (const side of ['slack', 'discord'] as const) {
  // What is compiled while the program runs is compiled before it is measured.
  await grow(side, answer.slice(0, 12_000))
  const half = await grow(side, answer.slice(0, CHARACTERS / 2))
  frames.push(reportOf(side, half, await grow(side, answer)))
}
const report = {
  date: new Date().toISOString(),
  machine,
  answer: { characters: CHARACTERS, piece: PIECE, aimMs: AIM_MS },
  frames,
  ...(values.hostile && { hostile: { characters: LENGTH, texts: hostile() } }),
}
console.log(values.json ? JSON.stringify(report) : linesOf(report).join('\n'))

function reportOf(side: Side, half: Growth, whole: Growth) {
  return {
    platform: side,
    frames: whole.cpu.length,
    sent: whole.sent,
    messages: whole.messages,
    cpuMs: spread(whole.cpu),
    wallMs: spread(whole.wall),
    framesOverAim: whole.cpu.filter((ms) => ms > AIM_MS).length,
    settleCpuMs: round(whole.settleCpuMs),
    totalCpuMs: { half: round(total(half.cpu)), whole: round(total(whole.cpu)) },
    /** 2 where the cost grows with the length alone. */
    growth: round(total(whole.cpu) / total(half.cpu)),
  }
}

function spread(times: readonly number[]) {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0)
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) }
}

function total(times: readonly number[]): number {
  return times.reduce((sum, ms) => sum + ms, 0)
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

function linesOf({ frames, hostile }: typeof report): string[] {
  const lines = frames.map(({ platform, cpuMs, wallMs, framesOverAim, growth, messages, settleCpuMs }) => {
    const times = ({ p50, p95, p99, max }: ReturnType<typeof spread>) =>
      `p50 ${p50}, p95 ${p95}, p99 ${p99}, max ${max}`
    return [
      `${platform}: ms a frame ${times(cpuMs)} (on the wall ${times(wallMs)}); over ${AIM_MS} ms: ${framesOverAim};`,
      `twice the length costs ${growth} times as much; ${messages} messages; the final text ${settleCpuMs} ms`,
    ].join(' ')
  })
  for (const { unit, cpuMs } of hostile?.texts ?? []) {
    const times = Object.entries(cpuMs).map(([name, ms]) => `${name} ${ms}`)
    lines.push(`${JSON.stringify(unit).padEnd(14)} ms: ${times.join(', ')}`)
  }
  return lines
}
