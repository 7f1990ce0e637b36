import { messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { ThreadRef } from '../../shared/thread.ts'
import type { Place, WhisperOptions } from '../platform.ts'
import type { SlackCalls } from './calls.ts'
import { rootOf } from './inbound.ts'
import { NO_NAMES, privately } from './payload.ts'

/** Slack takes answers to a `response_url` for 30 minutes, five times. */
const ANSWER_TIMEOUT_MS = 10_000

/**
 * Shows something to one person only: by the `response_url` of what they did, if there is one, else as an ephemeral
 * message. Resolves to false when neither works; such words are lost when the person reloads, so nothing hangs on them.
 */
export async function whisper(
  calls: SlackCalls,
  log: Log,
  where: ThreadRef | Place,
  personId: string,
  markdown: string,
  { token, buttons }: WhisperOptions = {},
): Promise<boolean> {
  const words = privately(markdown, 'id' in where ? rootOf(where) : undefined, buttons)
  if (token && (await answer(token, words, log))) return true
  try {
    await calls.write('chat.postEphemeral', (client) =>
      client.chat.postEphemeral({
        channel: where.channel,
        user: personId,
        text: words.text,
        blocks: [...words.blocks],
        ...(words.thread_ts && { thread_ts: words.thread_ts }),
        ...NO_NAMES,
      }),
    )
    return true
  } catch (error) {
    log.info({ reason: messageOf(error), channel: where.channel }, 'something meant for one person was not shown')
    return false
  }
}

async function answer(url: string, body: object, log: Log): Promise<boolean> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    })
    await response.arrayBuffer()
    return response.ok
  } catch (error) {
    log.debug({ reason: messageOf(error) }, 'a response_url did not answer')
    return false
  }
}
