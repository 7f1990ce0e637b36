import type { Result } from './load.ts'
import type { Spread } from './watch.ts'

/** The results for people, one line each, and below them what was called and what went wrong. */
export function table(results: readonly Result[]): string {
  const head = ['', 'whole', 'first text s', 'behind s', 'final s', 'calls', '429s', 'lost', 'twice', 'CPU ms']
  const rows = results.map((one) => [
    `${one.system} ${one.platform} ${one.load}`,
    `${one.whole}/${one.load}`,
    seconds(one.firstTextMs),
    seconds(one.lagMs),
    seconds(one.finalMs),
    total(one.calls),
    total(one.rateLimited),
    String(one.lostCharacters),
    String(one.repeatedCharacters),
    String(one.cpuMsPerAnswer ?? '-'),
  ])
  const widths = head.map((_, n) => Math.max(...[head, ...rows].map((row) => row[n]!.length)))
  const line = (row: readonly string[]) => row.map((cell, n) => cell.padEnd(widths[n]!)).join('  ')
  return [line(head), ...rows.map(line), '', 'Pairs are p50 and p95.', ...results.flatMap(notes)].join('\n')
}

function total(counts: Record<string, number>): string {
  return String(Object.values(counts).reduce((sum, count) => sum + count, 0))
}

function seconds({ p50, p95 }: Spread): string {
  return [p50, p95].map((ms) => (ms === null ? 'never' : (ms / 1000).toFixed(2))).join(' ')
}

function notes({ system, platform, load, calls, rateLimited, refused, problems, misplacedWords }: Result): string[] {
  const counts = (all: Record<string, number>) =>
    Object.entries(all)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ')
  return [
    `${system} ${platform} ${load}: ${counts(calls)}`,
    ...(Object.keys(rateLimited).length > 0 ? [`  429: ${counts(rateLimited)}`] : []),
    ...(Object.keys(refused).length > 0 ? [`  refused: ${counts(refused)}`] : []),
    ...(misplacedWords > 0 ? [`  words out of order: ${misplacedWords}`] : []),
    ...problems.map((problem) => `  ${problem}`),
  ]
}
