/** How far something long has come. */
export interface Progress {
  /** So many are done. */
  at(done: number): void
  end(): void
}

export interface ProgressOptions {
  /** What is done, such as "exported". */
  label: string
  total: number
  /** Default: standard error, so that it is never mixed with what is asked for. */
  stream?: Pick<NodeJS.WriteStream, 'write' | 'isTTY'>
  /** Milliseconds on a clock that never jumps. */
  now?: () => number
}

const WIDTH = 30
/** How often a bar is drawn anew, in milliseconds. */
const EVERY_MS = 100
/** Where nobody looks on (a log, a pipe), a line for each of so many parts. */
const STEPS = 10

/** A bar in a terminal, a few lines elsewhere. */
export function createProgress(options: ProgressOptions): Progress {
  const { label, total, stream = process.stderr, now = () => performance.now() } = options
  let done = 0
  let drawnAt = Number.NEGATIVE_INFINITY
  let step = 0

  const share = () => (total === 0 ? 1 : Math.min(1, done / total))
  const figures = () => `${done} of ${Math.max(total, done)} ${label}`

  function draw(): void {
    const full = Math.round(share() * WIDTH)
    stream.write(`\r[${'#'.repeat(full)}${'.'.repeat(WIDTH - full)}] ${figures()}`)
  }

  return {
    at(count) {
      done = count
      if (stream.isTTY) {
        if (now() - drawnAt < EVERY_MS) return
        drawnAt = now()
        draw()
      } else if (Math.floor(share() * STEPS) > step) {
        step = Math.floor(share() * STEPS)
        stream.write(`${figures()}\n`)
      }
    },
    end() {
      if (stream.isTTY) {
        draw()
        stream.write('\n')
      }
    },
  }
}
