import type {
  ConsoleClick,
  ConsoleClickAnswer,
  ConsoleDialogAnswer,
  ConsoleDialogSubmission,
  ConsoleSubmission,
  SubmissionOutcome,
} from '../../shared/consoleView.ts'
import { PlatformError } from '../../shared/errors.ts'
import type { PlatformInbox, Receipt, Sender, SubmitAnswer } from '../platform.ts'
import type { Board } from './consoleBoard.ts'
import { blankMessage, CHANNEL, PLACE, threadRefOf } from './consoleNames.ts'
import type { Shelf, StoredSubmission } from './consoleShelf.ts'

/** So many answers to dialogs are kept for pages that missed theirs. */
const ANSWERS_KEPT = 100

/** What people type and press, on its way to the inbox. */
export function createIntake(parts: {
  shelf: Shelf
  board: Board
  sender: Sender
  newId: () => string
  now: () => number
}) {
  const { shelf, board, sender, newId, now } = parts
  let inbox: PlatformInbox | null = null
  const answers = new Map<string, Promise<SubmitAnswer>>()

  function openInbox(): PlatformInbox {
    if (!inbox)
      throw new PlatformError(
        'unavailable',
        'not_started',
        'the console takes nothing before its start or after its end',
      )
    return inbox
  }

  /**
   * Carries something typed through to the inbox. Every step is idempotent, so that it can be run again from the start after
   * a crash, a failure of the store or an answer that the browser never saw.
   */
  async function carry(id: string, submission: StoredSubmission): Promise<Receipt> {
    const to = openInbox()
    const { threadId, messageId, text, at } = submission
    const said = { kind: 'person' as const, author: sender.name, markdown: text, submission: id }
    await board.place(threadId, { ...blankMessage(messageId, at), ...said })
    const receipt = await hand(to, id, submission)
    await shelf.delivered(id)
    return receipt
  }

  function hand(to: PlatformInbox, id: string, { threadId, messageId, text, at }: StoredSubmission): Promise<Receipt> {
    const event = { id: `${CHANNEL}:${id}`, thread: threadRefOf(threadId), author: sender, at }
    const command = /^\/(plan|toycoder)(?:\s+|$)([\s\S]*)/i.exec(text)
    if (command) {
      const [, name = '', rest = ''] = command
      return to.command({ ...event, place: PLACE, name: name.toLowerCase(), text: rest.trim(), token: '' })
    }
    return to.message({
      ...event,
      aliases: [],
      ref: { channel: CHANNEL, id: messageId },
      text,
      addressed: 'direct',
      hasEarlier: false,
      edited: false,
      attachments: [],
    })
  }

  async function carryUndelivered(): Promise<void> {
    const ids = await shelf.undelivered()
    const found = await Promise.all(ids.map(async (id) => ({ id, submission: await shelf.submission(id) })))
    for (const { id, submission } of found.toSorted((a, b) => (a.submission?.at ?? 0) - (b.submission?.at ?? 0))) {
      if (submission) await carry(id, submission)
      else await shelf.delivered(id)
    }
  }

  return {
    /** Opens the door, and first hands on what was typed before a crash and never reached the inbox. */
    async start(to: PlatformInbox): Promise<void> {
      inbox = to
      await carryUndelivered()
    },

    stop(): void {
      inbox = null
    },

    async submit({ id, threadId, text }: ConsoleSubmission): Promise<SubmissionOutcome> {
      openInbox()
      if (threadId !== null && !(await shelf.thread(threadId))) return { outcome: 'noThread' }
      const fresh = { threadId: threadId ?? newId(), messageId: newId(), text, at: now() }
      const submission = await shelf.begin(id, fresh)
      const receipt = await carry(id, submission)
      return { ...receipt, threadId: submission.threadId, messageId: submission.messageId }
    },

    /**
     * The message may be gone by now, or be words that were said to one person and are kept nowhere: what a press is good
     * for, the inbox finds out by itself.
     */
    async click(click: ConsoleClick): Promise<ConsoleClickAnswer | undefined> {
      const { id, threadId, messageId, action, value } = click
      const to = openInbox()
      if (!(await shelf.thread(threadId))) return undefined
      const ref = { channel: CHANNEL, id: messageId }
      const thread = threadRefOf(threadId)
      return to.click({ id: `${CHANNEL}:${id}`, thread, ref, author: sender, action, value, at: now() })
    },

    /** A page that never saw its answer asks again, and must not hear that somebody was faster: it was itself. */
    async submitDialog(submission: ConsoleDialogSubmission): Promise<ConsoleDialogAnswer | undefined> {
      const { id, threadId, action, value, fields } = submission
      const to = openInbox()
      if (!(await shelf.thread(threadId))) return undefined
      const known = answers.get(id)
      if (known) return known
      const thread = threadRefOf(threadId)
      const event = { id: `${CHANNEL}:${id}`, thread, author: sender, action, value, fields, at: now() }
      const answer = to.submit(event)
      answers.set(id, answer)
      answer.catch(() => answers.delete(id))
      for (const old of answers.keys()) {
        if (answers.size <= ANSWERS_KEPT) break
        answers.delete(old)
      }
      return answer
    },
  }
}
