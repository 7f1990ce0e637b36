import type { ChatPlatform, MessageBody } from '../platform/platform.ts'
import { messageOf, PlatformError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import type { MessageRef } from '../shared/thread.ts'
import { cutBehindShown, frameEnd, isVisible, piecesWithCuts } from './forcedCuts.ts'
import { liveFrame } from './liveFrame.ts'
import { createLiveMessage, type LiveMessage, type LiveMessageParts } from './liveMessage.ts'
import type { ForcedCut } from './outbox.ts'
import { type Cursor, cursorAfter, nextPiece, type Piece, START, splitMarkdown } from './splitMarkdown.ts'

/**
 * The text of one step of a run, over as many messages as it takes. While it grows, only its last message is live; what
 * stands in those before it is decided. The whole text is cut at the same places.
 *
 * Where many texts grow at once, edits run out, but posts have a budget of their own. When an edit would have to wait and a
 * post would not, then instead of being edited
 * - a message that shows a good part ends there, and the text goes on in a new message below it. Until there is time to
 *   edit the upper one, it goes on looking live, and its last words may stand in both;
 * - a message that shows next to nothing is posted anew, and goes when there is time;
 * - a message that shows its whole text stays as it is until there is time to take its live mark away.
 * Such cuts are in the outbox before anything that depends on them, and so is what is left for later: a process that ends
 * between any two steps leaves a thread that the next one brings to the same text, once.
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

/** An edit that comes within this time is waited for, in milliseconds. */
const EDIT_PATIENCE_MS = 1_500
/** When a final edit would have to wait so long, calls are worth being saved, in milliseconds. */
const BUSY_MS = 300
/** A text that is shorter than this, in UTF-16 units, is not worth a message of its own. */
const LINE = 100
/** How often a text that the platform finds too long is cut in half again. */
const HALVINGS = 3

interface Plan {
  pieces: Piece[]
  cuts: readonly ForcedCut[]
}

/** How a piece ends. */
interface End {
  closed: string
  isForced: boolean
}

/** A text that grew in another way so far. */
export interface TextSoFar {
  text: string
  /** Where its live message begins, and its number. */
  cursor: Cursor
  current: number
  /** How the messages before that were cut. */
  forced: readonly ForcedCut[]
}

const NOTHING: TextSoFar = { text: '', cursor: START, current: 0, forced: [] }

export function createLiveText(
  key: string,
  parts: LiveMessageParts & { platform: ChatPlatform; log: Log; liveButtons: MessageBody['buttons'] },
  soFar = NOTHING,
): LiveText {
  const { platform, log } = parts
  const options = { limit: platform.limits.text, size: (markdown: string) => platform.size(markdown) }
  const messages: LiveMessage[] = []
  let { text, cursor } = soFar
  /** The number of the live message. */
  let { current } = soFar
  /** The length of the text at which the next look for a decided piece is worth it. */
  let nextLook = cursor.from + options.limit
  let settling = false
  /** Cuts that the budget forced so far. */
  let forced = [...soFar.forced]

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
      if (goOnBelow()) continue
      if (piece.markdown.trim() !== '') {
        const body: MessageBody = { markdown: piece.markdown.trim(), kind: 'answer' }
        const way = messages[current]?.shownNow() && isEditSlow() ? 'anew' : 'edit'
        message(current++)
          .put(body, way)
          .catch((error: unknown) => log.warn({ error, key }, `a part was not shown: ${messageOf(error)}`))
      }
      cursor = next
      nextLook = cursor.from + options.limit
    }
  }

  /** True when posting would make a final text visible, and editing would not for some time. */
  function isEditSlow(): boolean {
    const { edits, thread } = parts
    const editMs = edits.waitMs({ method: 'edit', thread, urgency: 'final' })
    return editMs > EDIT_PATIENCE_MS && editMs > 2 * edits.waitMs({ method: 'post', thread, urgency: 'final' })
  }

  /** True when calls of all kinds have to wait. */
  function isBusy(): boolean {
    return parts.edits.waitMs({ method: 'edit', thread: parts.thread, urgency: 'final' }) > BUSY_MS
  }

  /** Less than a line is posted anew, if that takes no more posts and the old message can be taken away soon. */
  function cutOptions(isOnePost: boolean) {
    const removalMs = parts.edits.waitMs({ method: 'remove', thread: parts.thread, urgency: 'later' })
    return { ...options, least: isOnePost && removalMs < EDIT_PATIENCE_MS ? LINE : 1 }
  }

  /** Ends the live message with what it shows, if an edit would have to wait: the next one begins there. */
  function goOnBelow(): boolean {
    const shown = messages[current]?.shownNow()
    const cut = shown && isEditSlow() ? cutBehindShown(text, cursor, shown.markdown, cutOptions(true)) : null
    if (!cut) return false
    const { at, closed, next } = cut
    const markdown = (cursor.reopened + text.slice(cursor.from, at) + closed).trim()
    message(current++).show(() => ({ markdown, kind: 'answer' }))
    forced.push(cut)
    cursor = { from: at, reopened: next }
    nextLook = at + options.limit
    return true
  }

  /** The pieces of the whole text; cuts that the budget forces, now or earlier, are noted before anybody relies on them. */
  async function planFor(markdown: string): Promise<Plan> {
    const stored = await parts.outbox.cuts(key)
    const planWith = (cuts: readonly ForcedCut[]) => ({ pieces: piecesWithCuts(markdown, options, cuts), cuts })
    if (stored?.length === markdown.length) return planWith(stored.cuts)
    const shown = await messages[current]?.shown()
    const { at = 0 } = forced.at(-1) ?? {}
    const natural = planWith(markdown.startsWith(text.slice(0, at)) ? forced : [])
    const cut = shown && cutNow(markdown, natural, shown.markdown)
    const shorter = cut && planWith([...natural.cuts, cut])
    // Where posts would have to wait as long as edits, the cut has to save a call.
    const plan = shorter && (isEditSlow() || shorter.pieces.length <= natural.pieces.length) ? shorter : natural
    if (plan.cuts.length > 0) await parts.outbox.cut(key, { length: markdown.length, cuts: plan.cuts })
    return plan
  }

  /** A cut of the live message, which would have to be edited otherwise. */
  function cutNow(markdown: string, { pieces }: Plan, shown: string): ForcedCut | null {
    const live = pieces[current]
    if (live?.from !== cursor.from || !isBusy()) return null
    const cut = cutBehindShown(markdown, live, shown, cutOptions(pieces.length === current + 1))
    // Where it shows more than it would hold as a part of the whole, that stays where it is.
    return cut && (cut.at > live.to || !isVisible(live.markdown, live.closed, shown)) ? cut : null
  }

  /** The newest frame of the live message; `null` while there is nothing to show. */
  function newest(isLast = false): MessageBody | null {
    const tail = cursor.reopened + text.slice(cursor.from)
    const nextMs = parts.edits.waitMs({ method: 'edit', thread: parts.thread, urgency: 'live' })
    const end = isLast ? tail.length : frameEnd(tail, nextMs <= EDIT_PATIENCE_MS)
    let markdown = liveFrame(tail.slice(0, end)).trim()
    if (tail.length > options.limit / 3 && options.size(markdown) > options.limit) {
      // Not yet decided where this message will end: a preview of where it would end now.
      markdown = nextPiece(text, cursor, options, 'whole')?.markdown.trim() ?? ''
    }
    if (markdown === '') return null
    return { markdown, kind: 'answer', live: true, ...(parts.liveButtons && { buttons: parts.liveButtons }) }
  }

  /** Settles a message in the way that makes its text visible soonest. */
  function settleSoon(index: number, body: MessageBody, { closed, isForced }: End): Promise<MessageRef> {
    const one = message(index)
    const shown = one.shownNow()
    if (!shown) return one.settle(body)
    const isThere = !body.buttons && isVisible(body.markdown, closed, shown.markdown)
    if (isThere && (isForced || isBusy())) return one.settle(body, 'later')
    return one.settle(body, index === messages.length - 1 && !isThere && isEditSlow() ? 'anew' : 'edit')
  }

  /** One message of the whole text; a refusal as too long is answered by cutting it smaller. */
  async function settlePart(index: number, body: MessageBody, end: End): Promise<MessageRef[]> {
    try {
      return [await settleSoon(index, body, end)]
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
      message(current).show(() => newest())
    },
    restart() {
      if (settling) return
      text = ''
      cursor = START
      current = 0
      nextLook = options.limit
      forced = []
    },
    async settle(markdown, last) {
      settling = true
      const { pieces, cuts } = await planFor(markdown)
      const settles = pieces.map((piece, index) => {
        const body: MessageBody = { markdown: piece.markdown.trim(), kind: 'answer' }
        if (index === pieces.length - 1) Object.assign(body, last)
        const isForced = cuts.some(({ at }) => at === piece.to)
        return () => settlePart(index, body, { closed: piece.closed, isForced })
      })
      // What is there is edited while the rest is posted.
      const edited = Promise.all(settles.splice(0, messages.length).map((settle) => settle()))
      edited.catch(() => {})
      const posted: MessageRef[] = []
      for (const settle of settles) posted.push(...(await settle()))
      const refs = [...(await edited).flat(), ...posted]
      await removeFrom(pieces.length)
      return refs
    },
    async end(footer) {
      const body = settling ? null : newest(true)
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
