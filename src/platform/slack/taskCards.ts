import { blocksBelow } from '../../render/slack.ts'
import { taskBlock } from '../../render/slackTasks.ts'
import { PlatformError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { createRecent } from '../../shared/recent.ts'
import type { MessageRef } from '../../shared/thread.ts'
import type { MessageBody } from '../platform.ts'
import { type Payload, payloadOf } from './payload.ts'

/**
 * Calls of tools as Slack's own cards where the app may use them, which only trying tells. Where Slack refuses the cards and
 * takes the text in their place, the text stands: for good if it is the kind of block that is refused, else in this message.
 */
export interface TaskCards {
  /** Makes a call with the payload of `body`; `ref` is the message where it is there already. */
  send(
    body: MessageBody,
    ref: MessageRef | undefined,
    call: (payload: Payload) => Promise<MessageRef>,
  ): Promise<MessageRef>
}

/** Slack says so of a kind of block that it does not know, or not from this app. */
const KIND_REFUSED = new Set(['invalid_blocks', 'invalid_blocks_format'])
/** Of blocks that can't stand in the place of those that are there. */
const MISMATCH = 'block_mismatch'

export function createTaskCards(log: Log): TaskCards {
  const plain = createRecent<true>(2_000)
  let isRefused = false

  function noteRefusal({ kind, code }: PlatformError, ref: MessageRef): void {
    plain.set(keyOf(ref), true)
    if (isRefused || kind === 'tooLong' || !KIND_REFUSED.has(code)) return
    isRefused = true
    log.info({ code }, 'Slack takes no task cards from this app; calls of tools are shown as text')
  }

  return {
    async send(body, ref, call) {
      const text = payloadOf(body)
      if (!body.task || isRefused || (ref && plain.has(keyOf(ref)))) return call(text)
      try {
        return await call({ text: text.text, blocks: [taskBlock(body.task), ...blocksBelow(body)] })
      } catch (error) {
        if (!isOfTheBlocks(error)) throw error
        // Not noted before the text is taken: then it was the cards that were refused.
        const sent = await call(text)
        noteRefusal(error, sent)
        return sent
      }
    },
  }
}

function isOfTheBlocks(error: unknown): error is PlatformError {
  if (!(error instanceof PlatformError)) return false
  return KIND_REFUSED.has(error.code) || error.code === MISMATCH || error.kind === 'tooLong'
}

function keyOf({ channel, id }: MessageRef): string {
  return `${channel}:${id}`
}
