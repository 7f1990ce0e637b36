import type { ChatPlatform, MessageBody } from '../platform/platform.ts'
import { messageOf, PlatformError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import type { MessageRef } from '../shared/thread.ts'
import { liveFrame } from './liveFrame.ts'
import { createLiveMessage, type LiveMessage, type LiveMessageParts } from './liveMessage.ts'
import { type Cursor, cursorAfter, nextPiece, START, splitMarkdown } from './splitMarkdown.ts'

/**
 * The text of one step of a run, over as many messages as it takes. While it grows, only its last message is live; what
 * stands in those before it is decided. The whole text is cut at the same places.
 */
export interface LiveText {
  add(piece: string): void
  /** The text so far is void; its messages are used again. */
  restart(): void
  /** The whole text, in its messages, confirmed. `last` decorates the last one (small print, buttons). */
  settle(markdown: string, last: Partial<MessageBody>): Promise<MessageRef[]>
  /** One last frame with small print, then nothing. */
  end(footer: string): Promise<void>
  /** True while a message of it is live. */
  isShown(): boolean
  rest(): Promise<void>
}

/** How often a text that the platform finds too long is cut in half again. */
const HALVINGS = 3

export function createLiveText(
  key: string,
  parts: LiveMessageParts & { platform: ChatPlatform; log: Log; liveButtons: MessageBody['buttons'] },
): LiveText {
  const { platform, log } = parts
  const options = { limit: platform.limits.text, size: (markdown: string) => platform.size(markdown) }
  const messages: LiveMessage[] = []
  let text = ''
  let cursor: Cursor = START
  /** The number of the live message. */
  let current = 0
  /** The length of the text at which the next look for a decided piece is worth it. */
  let nextLook = options.limit
  let settling = false

  function message(index: number): LiveMessage {
    messages[index] ??= createLiveMessage(`${key}/${index}`, parts)
    return messages[index]
  }

  /** Gives pieces that are decided to their messages for good and goes on in the next one. */
  function rollOver(): void {
    while (text.length >= nextLook) {
      const piece = nextPiece(text, cursor, options, 'growing')
      const next = piece && cursorAfter(text, piece)
      if (!piece || !next) {
        nextLook = text.length + options.limit / 16
        return
      }
      if (piece.markdown.trim() !== '') {
        const body: MessageBody = { markdown: piece.markdown.trim(), kind: 'answer' }
        message(current++)
          .put(body)
          .catch((error: unknown) => log.warn({ error, key }, `a part was not shown: ${messageOf(error)}`))
      }
      cursor = next
      nextLook = cursor.from + options.limit
    }
  }

  /** The newest frame of the live message; `null` while there is nothing to show. */
  function newest(): MessageBody | null {
    const tail = cursor.reopened + text.slice(cursor.from)
    let markdown = liveFrame(tail).trim()
    if (tail.length > options.limit / 3 && options.size(markdown) > options.limit) {
      // Not yet decided where this message will end: a preview of where it would end now.
      markdown = nextPiece(text, cursor, options, 'whole')?.markdown.trim() ?? ''
    }
    if (markdown === '') return null
    return { markdown, kind: 'answer', live: true, ...(parts.liveButtons && { buttons: parts.liveButtons }) }
  }

  /** One message of the whole text; a refusal as too long is answered by cutting it smaller. */
  async function settlePart(index: number, body: MessageBody): Promise<MessageRef[]> {
    try {
      return [await message(index).settle(body)]
    } catch (error) {
      if (!(error instanceof PlatformError) || error.kind !== 'tooLong') throw error
      return settleSmaller(index, body)
    }
  }

  async function settleSmaller(index: number, body: MessageBody): Promise<MessageRef[]> {
    for (let limit = options.limit / 2, round = 0; ; limit /= 2, round++) {
      const [first = '', ...others] = splitMarkdown(body.markdown, { ...options, limit: Math.ceil(limit) })
      const { markdown: _, footer, buttons, ...plain } = body
      const decorate = (markdown: string, isLast: boolean): MessageBody =>
        isLast ? { ...body, markdown: markdown.trim() } : { ...plain, markdown: markdown.trim() }
      try {
        const refs = [await message(index).settle(decorate(first, others.length === 0))]
        for (const [at, markdown] of others.entries()) {
          const extra = createLiveMessage(`${key}/${index}.${round}.${at + 1}`, parts)
          refs.push(await extra.settle(decorate(markdown, at === others.length - 1)))
        }
        return refs
      } catch (error) {
        if (!(error instanceof PlatformError) || error.kind !== 'tooLong' || round >= HALVINGS) throw error
      }
    }
  }

  /** Removes messages behind the last one: of this process and, after a restart, of the one before. */
  async function removeFrom(index: number): Promise<void> {
    for (let at = index; ; at++) {
      const known = messages[at] !== undefined || (await parts.outbox.find(`${key}/${at}`)) !== undefined
      if (!known) return
      await message(at)
        .remove()
        .catch((error: unknown) => log.warn({ error, key }, `a surplus message stays: ${messageOf(error)}`))
    }
  }

  return {
    add(piece) {
      if (settling) return
      text += piece
      rollOver()
      message(current).show(newest)
    },
    restart() {
      if (settling) return
      text = ''
      cursor = START
      current = 0
      nextLook = options.limit
    },
    async settle(markdown, last) {
      settling = true
      const bodies = splitMarkdown(markdown, options).map(
        (piece): MessageBody => ({ markdown: piece.trim(), kind: 'answer' }),
      )
      if (bodies.length > 0) Object.assign(bodies.at(-1)!, last)
      const refs: MessageRef[] = []
      for (const [index, body] of bodies.entries()) refs.push(...(await settlePart(index, body)))
      await removeFrom(bodies.length)
      return refs
    },
    async end(footer) {
      const body = settling ? null : newest()
      settling = true
      if (!body) return
      const { live: _live, buttons: _buttons, ...plain } = body
      await message(current).put({ ...plain, footer })
    },
    isShown: () => !settling && messages.length > 0,
    async rest() {
      settling = true
      await Promise.all(messages.map((one) => one.rest()))
    },
  }
}
