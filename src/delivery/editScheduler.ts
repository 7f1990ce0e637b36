import type { PlatformLimits } from '../platform/platform.ts'
import { PlatformError } from '../shared/errors.ts'
import { createBucket, type EditBucket } from './editBucket.ts'
import { type SetTimer, systemTimer } from './timers.ts'

/**
 * Decides when which message is edited. Edits are counted per account or per channel, so all live texts of one platform
 * share this scheduler: final texts first, then the message whose frame has waited longest. Of a live text only the newest
 * frame exists, and of a message only one edit is ever in flight.
 */
export interface EditScheduler {
  lane(options: LaneOptions): EditLane
  /** Sends nothing any more; final texts that wait are rejected as `unavailable`. */
  stop(): void
}

export interface LaneOptions {
  account: string
  channel: string
  /**
   * Asked right before a frame is sent, for the edit with the newest text; `null` when nothing has changed. The edit may
   * reject with `rateLimited` (it is asked for again after the pause); it deals with everything else itself.
   */
  frame(): (() => Promise<void>) | null
}

/** The edits of one message. */
export interface EditLane {
  /** There is something new to show. */
  touch(): void
  /**
   * Sends an edit before all frames, after the one in flight, and again after each `rateLimited`; other rejections are
   * passed on. A frame that waits is dropped.
   */
  final<T>(send: () => Promise<T>): Promise<T>
  /** Drops what waits (a final is rejected as `unavailable`); resolves when nothing is in flight. */
  rest(): Promise<void>
}

interface Final {
  send: () => Promise<void>
  reject: (error: unknown) => void
  since: number
}

interface Lane {
  frame: LaneOptions['frame']
  finals: Final[]
  /** Since when a frame waits. */
  dirtySince: number | null
  inFlight: Promise<void> | null
  /** When it was last asked for a frame or sent a final. Making a frame is work, so asking in vain counts too. */
  lastTurnAt: number
}

/** Pause after a `rateLimited` that does not say how long, in milliseconds. */
const UNSTATED_PAUSE_MS = 5_000

export function createEditScheduler(options: {
  limits: Pick<PlatformLimits, 'edits' | 'editIntervalMs'>
  /** Milliseconds; default the system's clock. */
  now?: () => number
  setTimer?: SetTimer
}): EditScheduler {
  const { limits, now = Date.now, setTimer = systemTimer } = options
  const groups = new Map<string, Group>()
  let stopped = false

  interface Group {
    bucket: EditBucket
    lanes: Set<Lane>
    cancelTimer: (() => void) | null
  }

  function groupOf(account: string, channel: string): Group {
    const key = limits.edits.scope === 'account' ? account : `${account}/${channel}`
    const known = groups.get(key)
    if (known) return known
    const group: Group = { bucket: createBucket(limits.edits, now), lanes: new Set(), cancelTimer: null }
    groups.set(key, group)
    return group
  }

  /** Sends what may be sent now and sets the timer for what may be sent next. */
  function pump(group: Group): void {
    group.cancelTimer?.()
    group.cancelTimer = null
    if (stopped) return
    for (;;) {
      const next = nextOf(group)
      if (next === null) return
      if (next.inMs > 0) {
        group.cancelTimer = setTimer(() => pump(group), next.inMs)
        return
      }
      start(group, next.lane)
    }
  }

  /** The lane whose turn it is and when; lanes with nothing to send leave the group. */
  function nextOf(group: Group): { lane: Lane; inMs: number } | null {
    let best: { lane: Lane; inMs: number; since: number; final: boolean } | null = null
    for (const lane of group.lanes) {
      if (lane.inFlight) continue
      const final = lane.finals[0]
      if (!final && lane.dirtySince === null) {
        group.lanes.delete(lane)
        continue
      }
      const pause = final ? 0 : Math.max(0, lane.lastTurnAt + limits.editIntervalMs - now())
      const inMs = Math.max(pause, group.bucket.waitMs(final ? 'final' : 'frame'))
      const since = final ? final.since : lane.dirtySince!
      const before =
        best === null ||
        (final !== undefined && !best.final) ||
        (best.final === (final !== undefined) && (inMs < best.inMs || (inMs === best.inMs && since < best.since)))
      if (before && !(best?.final && !final)) best = { lane, inMs, since, final: final !== undefined }
    }
    return best
  }

  function start(group: Group, lane: Lane): void {
    const final = lane.finals.shift()
    const send = final ? final.send : lane.frame()
    lane.dirtySince = null
    lane.lastTurnAt = now()
    if (!send) return
    group.bucket.take()
    lane.inFlight = send()
      .catch((error: unknown) => {
        if (!(error instanceof PlatformError) || error.kind !== 'rateLimited') return final?.reject(error)
        group.bucket.pause(error.retryAfterMs ?? UNSTATED_PAUSE_MS)
        if (final && !stopped) lane.finals.unshift(final)
        else if (final) final.reject(error)
        else lane.dirtySince ??= now()
        group.lanes.add(lane)
      })
      .finally(() => {
        lane.inFlight = null
        pump(group)
      })
  }

  return {
    lane({ account, channel, frame }) {
      const lane: Lane = { frame, finals: [], dirtySince: null, inFlight: null, lastTurnAt: -Infinity }
      const group = groupOf(account, channel)
      return {
        touch() {
          if (stopped || lane.finals.length > 0) return
          lane.dirtySince ??= now()
          group.lanes.add(lane)
          pump(group)
        },
        final<T>(send: () => Promise<T>): Promise<T> {
          return new Promise<T>((resolve, reject) => {
            if (stopped) return reject(stoppedError())
            lane.dirtySince = null
            lane.finals.push({ send: async () => resolve(await send()), reject, since: now() })
            group.lanes.add(lane)
            pump(group)
          })
        },
        async rest() {
          lane.dirtySince = null
          for (const { reject } of lane.finals.splice(0)) reject(stoppedError())
          while (lane.inFlight) await lane.inFlight
        },
      }
    },
    stop() {
      stopped = true
      for (const group of groups.values()) {
        group.cancelTimer?.()
        for (const lane of group.lanes) for (const { reject } of lane.finals.splice(0)) reject(stoppedError())
      }
    },
  }
}

function stoppedError(): PlatformError {
  return new PlatformError('unavailable', 'stopped', 'the program is stopping')
}
