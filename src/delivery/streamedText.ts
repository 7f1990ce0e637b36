import type { MessageBody } from '../platform/platform.ts'
import { messageOf } from '../shared/errors.ts'
import type { MessageRef } from '../shared/thread.ts'
import type { Cut } from './cutSeams.ts'
import { stoppedError } from './editScheduler.ts'
import { piecesWithCuts } from './forcedCuts.ts'
import { createLiveText, type LiveText } from './liveText.ts'
import type { ForcedCut } from './outbox.ts'
import { type Cursor, type Piece, START } from './splitMarkdown.ts'
import { steadyText } from './steadyText.ts'
import { createStream, type Stream, type StreamParts } from './stream.ts'
import { roomFor } from './streamRoom.ts'

/**
 * The text of one step by streams: each of its messages grows by additions. As soon as that can't go on (an error, a stream
 * that is too old or too full, a model that began anew and says something else), the stream is ended and the text goes on by
 * edits of the same message (`liveText.ts`). What stands in a message at the end is compared with what has to stand there,
 * and where it differs it is edited.
 *
 * Messages end where it is best with what people see already; such cuts are in the outbox with the text.
 *
 * A process that finds messages of this text from an earlier one does not stream: it edits them, which ends their streams.
 */
export function createStreamedText(
  key: string,
  parts: StreamParts & { liveButtons: MessageBody['buttons'] },
): LiveText {
  const { platform, outbox, streaming, thread, log } = parts
  const options = { limit: platform.limits.text, size: (markdown: string) => platform.size(markdown) }
  const print = (markdown: string) => streaming.print(markdown.trim())
  const streams: Stream[] = []
  /** The Markdown of the messages whose streams have been ended with it, by their number. */
  const whole: string[] = []
  let text = ''
  let cursor: Cursor = START
  let current = 0
  /** How much of the message that grows may be shown, from what is put before its text on. */
  let seen = 0
  let cuts: ForcedCut[] = []
  /** The end of a message whose text is decided; the next one begins after it. */
  let finishing: Promise<void> | null = null
  /** How often the model began. */
  let round = 0
  let settling = false
  let isResting = false
  let edited: LiveText | null = null
  let falling: Promise<LiveText> | null = null
  let isReady = false
  const keyOf = (index: number) => `${key}/${index}`
  const ready = adopt()
  ready.then(
    () => {
      isReady = true
      advance()
    },
    (error: unknown) => log.warn({ error, key }, `live text failed: ${messageOf(error)}`),
  )

  /** Looks for what an earlier process has left of this text; a start that it was in the middle of may have made a message. */
  async function adopt(): Promise<void> {
    const known: MessageRef[] = []
    for (let index = 0; ; index++) {
      const entry = await outbox.find(keyOf(index))
      if (!entry) break
      void fallBack()
      if (entry.state !== 'intended') known.push(entry.ref)
      else {
        const lost = await parts.patience.persist(() => streaming.findLost(thread, known))
        if (lost) await outbox.posted(keyOf(index), lost)
      }
    }
  }

  /** From here on by edits. */
  function fallBack(): Promise<LiveText> {
    falling ??= (async () => {
      await finishing
      await Promise.all(streams.map((one) => one.close()))
      await ready.catch(() => {})
      edited = createLiveText(key, parts, { text, cursor, current, forced: cuts })
      if (text !== '' && !settling) edited.add('')
      return edited
    })()
    return falling
  }

  function stream(index: number): Stream {
    streams[index] ??= createStream(keyOf(index), parts, () => void fallBack())
    return streams[index]
  }

  function advance(): void {
    if (isReady && !falling && !settling && !finishing) stream(current).grow(steadyTail)
  }

  /** What of the message that grows is decided. Asked right before an addition; where the message is full, it is ended. */
  function steadyTail(): string {
    const tail = cursor.reopened + text.slice(cursor.from)
    const room = roomFor(tail, cursor.reopened.length, seen, options)
    seen = room.seen
    if (room.cut) finishing ??= finish(room.cut)
    return steadyText(tail.slice(0, seen), print)
  }

  /** Ends the message that grows, and goes on in the next one. */
  async function finish({ at, closed, next }: Cut): Promise<void> {
    const { from, reopened } = cursor
    const begun = round
    const cut: ForcedCut = { from, at: from + at - reopened.length, closed, next }
    const markdown = reopened + text.slice(from, cut.at) + closed
    // Not within the addition that is about to be made.
    await null
    const isWhole = await stream(current).end(print(markdown), {})
    finishing = null
    if (round !== begun) return
    if (!isWhole) return void fallBack()
    whole[current] = markdown
    cuts.push(cut)
    current++
    cursor = { from: cut.at, reopened: next }
    seen = 0
    advance()
  }

  /** Ends the streams with the text that has to stand in their messages. */
  async function endStreams(pieces: readonly Piece[], last: Partial<MessageBody>): Promise<void> {
    const { footer, buttons, mentions = [] } = last
    for (const [index, one] of streams.entries()) {
      const piece = pieces[index]
      const isLast = index === pieces.length - 1
      const isPlain = !isLast || mentions.length === 0
      const below = { ...(footer && { footer }), ...(buttons && { buttons }) }
      if (!piece || !isPlain || whole[index] !== undefined) await one.close()
      else if (await one.end(print(piece.markdown), isLast ? below : {})) await outbox.settled(keyOf(index))
      else await one.close()
    }
  }

  /** Messages that were ended with what has to stand in them are not touched again. */
  async function settleWhole(pieces: readonly Piece[], last: Partial<MessageBody>): Promise<void> {
    const isDecorated = last.footer !== undefined || (last.buttons?.length ?? 0) > 0
    for (const [index, markdown] of whole.entries()) {
      const stands = pieces[index]?.markdown === markdown && !(isDecorated && index === pieces.length - 1)
      if (stands) await outbox.settled(keyOf(index))
    }
  }

  return {
    add(piece) {
      if (settling) return
      text += piece
      if (edited) edited.add(piece)
      else advance()
    },
    restart() {
      if (settling) return
      const isLater = current > 0 || finishing !== null
      round++
      text = ''
      cursor = START
      current = 0
      seen = 0
      cuts = []
      if (edited) edited.restart()
      // Text that comes anew may begin like the old one; messages that are ended can't wait for that.
      else if (isLater) void fallBack()
    },
    async settle(markdown, last) {
      settling = true
      await ready.catch(() => {})
      await finishing
      if (!markdown.startsWith(text.slice(0, cuts.at(-1)?.at ?? 0))) cuts = []
      const pieces = piecesWithCuts(markdown, options, cuts)
      if (!falling) {
        if (cuts.length > 0) await outbox.cut(key, { length: markdown.length, cuts })
        await endStreams(pieces, last)
      }
      await settleWhole(pieces, last)
      const live = await fallBack()
      if (isResting) throw stoppedError()
      return live.settle(markdown, last)
    },
    async end(footer) {
      if (settling) return
      settling = true
      await ready.catch(() => {})
      await finishing
      const growing = falling ? null : streams[current]
      const body = growing?.isShown() ? steadyText(cursor.reopened + text.slice(cursor.from), print) : ''
      if (growing && body !== '' && (await growing.end(body, { footer }))) return
      settling = false
      await (await fallBack()).end(footer)
      settling = true
    },
    isShown: () => !settling && (edited?.isShown() ?? streams.some((one) => one.isShown())),
    async rest() {
      settling = true
      isResting = true
      await Promise.all(streams.map((one) => one.rest()))
      await (await falling)?.rest()
    },
  }
}
