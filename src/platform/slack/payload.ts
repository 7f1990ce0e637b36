import { renderSlack, SLACK_LIMITS, type SlackBlock, slackSize } from '../../render/slack.ts'
import { PlatformError } from '../../shared/errors.ts'
import type { MessageBody } from '../platform.ts'

export interface Payload {
  /** For notifications, screen readers and search; the blocks are what is shown. */
  text: string
  blocks: SlackBlock[]
}

/** A message as it is sent. One that is longer than `limits.text` is refused here: the renderer would have to cut it. */
export function payloadOf(body: MessageBody): Payload {
  const size = slackSize(body.markdown)
  if (size > SLACK_LIMITS.text) {
    throw new PlatformError('tooLong', 'msg_too_long', `a message of ${size} is longer than ${SLACK_LIMITS.text}`)
  }
  return renderSlack(body)
}

/** Words that one person alone is to see; too long a text is cut. */
export function privately(markdown: string) {
  return {
    response_type: 'ephemeral',
    replace_original: false,
    ...renderSlack({ markdown, kind: 'notice' }),
  } as const
}
