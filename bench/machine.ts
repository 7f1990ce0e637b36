import { availableParallelism, cpus, loadavg } from 'node:os'

/** What figures have to stand beside: where they were measured, and how busy that machine was. */
export interface Machine {
  cpu: string
  cores: number
  node: string
  /** Programs that want to run, in the mean over the last minute. */
  loadAverage: number
}

export function machineNow(): Machine {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    node: process.version,
    loadAverage: loadavg()[0]!,
  }
}
