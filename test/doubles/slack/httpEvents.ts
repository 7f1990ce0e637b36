import { createHmac } from 'node:crypto'
import { messageOf } from '../../../src/shared/errors.ts'
import type { Transport } from './deliveries.ts'

/** Slack's three seconds. */
const ANSWER_WITHIN_MS = 3_000

/** Signs a request as Slack does. `at` is in seconds since the epoch. */
export function signature(secret: string, body: string, at = Math.floor(Date.now() / 1000)): Record<string, string> {
  const hex = createHmac('sha256', secret).update(`v0:${at}:${body}`).digest('hex')
  return { 'x-slack-request-timestamp': String(at), 'x-slack-signature': `v0=${hex}` }
}

/** Slack reaching the app by HTTP: events as JSON, commands and clicks as forms, all signed. */
export function createHttpTransport(target: string, secret: string): Transport {
  return {
    send({ type, payload, retryAttempt, retryReason }, answered, failed) {
      const form = type !== 'events_api'
      const fields =
        type === 'slash_commands' ? (payload as Record<string, string>) : { payload: JSON.stringify(payload) }
      const body = form ? new URLSearchParams(fields).toString() : JSON.stringify(payload)
      const headers = {
        'content-type': form ? 'application/x-www-form-urlencoded' : 'application/json',
        ...signature(secret, body),
        ...(retryAttempt > 0 && { 'x-slack-retry-num': String(retryAttempt), 'x-slack-retry-reason': retryReason }),
      }
      const signal = AbortSignal.timeout(ANSWER_WITHIN_MS)
      fetch(target, { method: 'POST', body, headers, signal }).then(
        async (response) => {
          const text = await response.text()
          if (!response.ok) return failed('http_error')
          answered(text.startsWith('{') ? JSON.parse(text) : text)
        },
        (error) => failed(messageOf(error).includes('timeout') ? 'http_timeout' : 'connection_failed'),
      )
      return true
    },
  }
}
