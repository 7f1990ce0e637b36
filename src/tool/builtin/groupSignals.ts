import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'

/** How often a group that is being ended is looked at. */
const LOOK_MS = 25

/** Ends what is left of a group whose first process is gone: TERM, and KILL where that has not helped after `graceMs`. */
export async function endGroup(group: number | undefined, graceMs: number): Promise<void> {
  const until = Date.now() + graceMs
  toGroup(group, 'SIGTERM')
  while (await lives(group)) {
    if (Date.now() >= until) return void toGroup(group, 'SIGKILL')
    await delay(LOOK_MS)
  }
}

/** False where the group is gone. A process that is dead but that its parent has taken no note of still counts. */
export function toGroup(group: number | undefined, signal: NodeJS.Signals | 0): boolean {
  if (group === undefined) return false
  try {
    return process.kill(-group, signal)
  } catch {
    return false
  }
}

/**
 * Whether a process of the group still runs. In a container without an init, orphans stay on as dead ones for good, and
 * waiting for them would slow every command down; Linux tells them apart.
 */
async function lives(group: number | undefined): Promise<boolean> {
  if (!toGroup(group, 0)) return false
  const names = await readdir('/proc').catch(() => [])
  const pids = names.filter((name) => /^\d+$/.test(name))
  if (pids.length === 0) return true
  const alive = await Promise.all(pids.map((pid) => runsIn(pid, String(group))))
  return alive.includes(true)
}

async function runsIn(pid: string, group: string): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // Behind the name, which can hold anything: state, parent, group.
  const [state, , itsGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return itsGroup === group && state !== 'Z' && state !== 'X'
}
