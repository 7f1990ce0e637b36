import type { SlackMessage, World } from './world.ts'

/** Streams close by themselves; reports say after about five minutes (facts/slack.md A.2). */
const LIFETIME_MS = 5 * 60_000

/** Open, neither too old nor stopped by somebody: then it can't be edited. */
export function isStreaming(world: World, { stream }: SlackMessage): boolean {
  return stream !== undefined && !stream.isStopped && world.now() - stream.since <= LIFETIME_MS
}

/** What somebody sees of a message's text: in a channel, a stream grows before its recipient only. */
export function textFor(world: World, message: SlackMessage, viewer: string | undefined): string {
  const { stream, text } = message
  const isHidden = viewer !== undefined && stream?.recipient !== undefined && stream.recipient !== viewer
  return isHidden && isStreaming(world, message) ? stream.first : text
}
