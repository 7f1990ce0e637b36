import { randomUUID } from 'node:crypto'
import type { Fields } from './world.ts'

export type EnvelopeType = 'events_api' | 'slash_commands' | 'interactive'

/** One way for Slack to reach the app: a socket, or an address. Resolves with what came back, or null for silence. */
export interface Envelope {
  id: string
  type: EnvelopeType
  payload: Fields
  retryAttempt: number
  retryReason: string
}

/** What became of something Slack sent. `response` is the payload of the acknowledgement. */
export interface Delivery {
  acknowledged: boolean
  attempts: number
  response: unknown
}

export interface Transport {
  /** False when the app can't be reached now; `answered` is called if and when it acknowledges. */
  send(envelope: Envelope, answered: (response: unknown) => void, failed: (reason: string) => void): boolean
}

export interface Deliveries {
  transport: Transport
  /** How long the app has before an event is sent again, in milliseconds; Slack's 3 s unless a test is in a hurry. */
  redeliverAfterMs: number
  /** Sends an event until it is acknowledged, at most 4 times. Resolves with how it went. */
  event(payload: Fields): Promise<Delivery>
  /** A command or a click: sent once. Resolves when it is acknowledged, or after 3 seconds without. */
  interaction(type: 'slash_commands' | 'interactive', payload: Fields): Promise<Delivery>
  /** To be called when the app has become reachable. */
  reachable(): void
  /** Events that are neither acknowledged nor given up. */
  pending(): number
  close(): void
}

/** Slack tries an event four times in all. */
const ATTEMPTS = 4

export function createDeliveries(transport: Transport): Deliveries {
  const waiting = new Set<() => void>()
  const timers = new Set<NodeJS.Timeout>()
  let open = 0

  function later(ms: number, action: () => void): NodeJS.Timeout {
    const timer = setTimeout(() => {
      timers.delete(timer)
      action()
    }, ms)
    timers.add(timer)
    return timer
  }

  const deliveries: Deliveries = {
    transport,
    redeliverAfterMs: 3_000,

    event(payload) {
      open++
      return new Promise((resolve) => {
        const delivery: Delivery = { acknowledged: false, attempts: 0, response: undefined }
        let reason = ''
        const finish = () => {
          open--
          resolve(delivery)
        }
        const attempt = () => {
          if (delivery.acknowledged) return
          if (delivery.attempts >= ATTEMPTS) return finish()
          let over = false
          const again = (why: string) => {
            if (over || delivery.acknowledged) return
            over = true
            reason = why
            attempt()
          }
          const answered = (response: unknown) => {
            if (delivery.acknowledged) return
            Object.assign(delivery, { acknowledged: true, response })
            finish()
          }
          const sent = deliveries.transport.send(
            {
              id: randomUUID(),
              type: 'events_api',
              payload,
              retryAttempt: delivery.attempts,
              retryReason: delivery.attempts ? reason || 'timeout' : '',
            },
            answered,
            (why) => later(deliveries.redeliverAfterMs, () => again(why)),
          )
          if (!sent) {
            // Nobody is connected: it goes out as soon as somebody is.
            waiting.add(attempt)
            return
          }
          delivery.attempts++
          later(deliveries.redeliverAfterMs, () => again('timeout'))
        }
        attempt()
      })
    },

    interaction(type, payload) {
      return new Promise((resolve) => {
        const delivery: Delivery = { acknowledged: false, attempts: 1, response: undefined }
        const envelope = { id: randomUUID(), type, payload, retryAttempt: 0, retryReason: '' }
        const timer = later(3_000, () => resolve(delivery))
        const finish = (acknowledged: boolean, response: unknown) => {
          clearTimeout(timer)
          resolve(Object.assign(delivery, { acknowledged, response }))
        }
        const sent = deliveries.transport.send(
          envelope,
          (response) => finish(true, response),
          () => finish(false, undefined),
        )
        if (!sent) finish(false, undefined)
      })
    },

    reachable() {
      const again = [...waiting]
      waiting.clear()
      for (const attempt of again) attempt()
    },

    pending: () => open,
    close() {
      for (const timer of timers) clearTimeout(timer)
      timers.clear()
      waiting.clear()
    },
  }
  return deliveries
}
