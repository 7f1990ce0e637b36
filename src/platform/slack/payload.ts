import { renderSlack, SLACK_LIMITS, type SlackBlock, slackSize } from '../../render/slack.ts'
import type { SlackTaskBlock } from '../../render/slackTasks.ts'
import { PlatformError } from '../../shared/errors.ts'
import type { Button, MessageBody } from '../platform.ts'

export interface Payload {
  /** For notifications, screen readers and search; the blocks are what is shown. */
  text: string
  blocks: (SlackBlock | SlackTaskBlock)[]
}

/** Slack turns no name into a mention by itself. An edit without these would fall back to its own way of reading. */
export const NO_NAMES = { parse: 'none', link_names: false } as const

/** A message as it is sent. One that is longer than `limits.text` is refused here: the renderer would have to cut it. */
export function payloadOf(body: MessageBody): Payload {
  const size = slackSize(body.markdown)
  if (size > SLACK_LIMITS.text) {
    throw new PlatformError('tooLong', 'msg_too_long', `a message of ${size} is longer than ${SLACK_LIMITS.text}`)
  }
  return renderSlack(body)
}

/**
 * Words that one person alone is to see; too long a text is cut. Slack tells no thread with a click on such words, so the
 * blocks of their buttons carry `root`, the thread's `ts`.
 */
export function privately(markdown: string, root?: string, buttons: Button[] = []) {
  const { text, blocks } = renderSlack({ markdown, kind: 'notice', buttons })
  return {
    response_type: 'ephemeral',
    replace_original: false,
    text,
    blocks: blocks.map((block, index) =>
      root && block.type === 'actions' ? { ...block, block_id: `${THREAD_BLOCK}${root}#${index}` } : block,
    ),
    ...(root && { thread_ts: root }),
  } as const
}

/** The thread that the block of a button carries, if it does. */
export function rootInBlock(blockId: string | undefined): string | undefined {
  return blockId?.startsWith(THREAD_BLOCK) ? /^\d+\.\d+(?=#)/.exec(blockId.slice(THREAD_BLOCK.length))?.[0] : undefined
}

const THREAD_BLOCK = 'toycoder:in:'
